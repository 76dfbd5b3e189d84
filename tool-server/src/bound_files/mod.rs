//! The files that a yes to a command line is bound to: those that it names, from wherever it could mean them,
//! and where that does not tell all that it runs or reads, the programs and scripts of the roots.
//!
//! Nothing here decides anything: it only tells whether what a person was shown is still what would run.

mod glob;
mod tree_state;

use std::collections::BTreeSet;
use std::path::Path;

use command_policy::{Mentioned, mentioned};
use files::roots::{Roots, names};
use rustix::fs::{Mode, OFlags, RawDir, openat};

pub(crate) use tree_state::tree_state;

/// How many directories a line may start paths from.
const MAX_DIRECTORIES: usize = 32;

/// How many paths a line may mean.
const MAX_PATHS: usize = 4096;

/// What a command line names.
#[derive(Debug)]
pub(crate) struct BoundFiles {
    /// Every path that the line could mean, as tools take it; most of them do not exist.
    pub(crate) paths: BTreeSet<String>,
    /// Whether the line runs and reads no other files.
    pub(crate) is_complete: bool,
    /// The patterns of names in the line, for files that it finds by itself.
    pub(crate) patterns: Vec<String>,
}

impl BoundFiles {
    /// What a line means that runs in `workdir`.
    pub(crate) fn of(line: &str, workdir: &str, roots: &Roots) -> Self {
        let Mentioned { texts, is_complete } = mentioned(line);
        let last = |text: &String| text.rsplit('/').find(|part| !part.is_empty()).map(str::to_owned);
        let patterns = texts.iter().filter(|text| glob::is_pattern(text)).filter_map(last).collect();
        let mut bound = Self { paths: BTreeSet::new(), is_complete, patterns };
        // Any directory that the line names could be the current one when it names something else.
        let mut directories = vec![workdir.to_owned()];
        let mut next = 0;
        while let Some(directory) = directories.get(next).cloned() {
            for text in &texts {
                bound.look(roots, &directory, text, &mut directories);
            }
            next += 1;
        }
        bound.paths.insert(workdir.to_owned());
        bound
    }

    /// Notes what a text could mean in a directory.
    fn look(&mut self, roots: &Roots, directory: &str, text: &str, directories: &mut Vec<String>) {
        let path = join(directory, &names::to_text(text.as_bytes()));
        let mut found = vec![path.clone()];
        if glob::is_pattern(text) {
            match glob::expand(roots, directory, text) {
                Some(matches) => found.extend(matches),
                None => self.is_complete = false,
            }
        }
        for path in found {
            if self.paths.len() >= MAX_PATHS {
                self.is_complete = false;
                return;
            }
            if let Ok(opened) = roots.open_directory(&path) {
                let real = names::path_to_text(&opened.path);
                if directories.contains(&real) {
                    continue;
                }
                if directories.len() < MAX_DIRECTORIES {
                    directories.push(real);
                } else {
                    self.is_complete = false;
                }
            }
            self.paths.insert(path);
        }
    }
}

/// Both as tools take paths.
fn join(directory: &str, path: &str) -> String {
    Path::new(directory).join(path).display().to_string()
}

/// The names in a directory, sorted.
fn names_in(directory: &impl std::os::fd::AsFd) -> rustix::io::Result<Vec<Vec<u8>>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // A handle of its own, since reading moves its position.
    let handle = openat(directory, ".", flags, Mode::empty())?;
    let mut buffer = Vec::with_capacity(32 * 1024);
    let mut entries = RawDir::new(&handle, buffer.spare_capacity_mut());
    let mut names = Vec::new();
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(name.to_vec());
        }
    }
    names.sort_unstable();
    Ok(names)
}
