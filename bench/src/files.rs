//! What the measured tools work on: directories of small files, and text.

use std::fs;
use std::io;
use std::path::Path;

pub(crate) fn fill(directory: &Path, entries: usize) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    (0..entries).try_for_each(|number| fs::write(directory.join(format!("file-{number:06}.txt")), "x"))
}

/// Text as people write it: source code of this program, repeated.
pub(crate) fn source(bytes: usize) -> String {
    let endless = include_str!("read.rs").chars().filter(char::is_ascii).cycle();
    endless.take(bytes - 1).chain(Some('\n')).collect()
}
