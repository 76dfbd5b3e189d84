//! Temporary files are noted outside the roots before they are made, so that a server that was killed in
//! the middle of a change leaves none behind after its next start.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, unlinkat};

use crate::roots::{Roots, names};

/// How every temporary file's name begins.
const PREFIX: &str = ".autonous-";

/// The notes of temporary files.
#[derive(Debug)]
pub(super) struct Pending {
    directory: PathBuf,
}

/// A noted temporary file; the note goes when this does.
#[derive(Debug)]
pub(super) struct Note {
    note: PathBuf,
    /// The temporary file's name.
    pub(super) name: String,
}

impl Pending {
    /// Removes the temporary files that an earlier server left, and then its notes.
    pub(super) fn open(directory: &Path, roots: &Roots) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        for note in fs::read_dir(directory)? {
            let note = note?;
            let target = fs::read(note.path())?;
            remove_left_over(roots, OsStr::from_bytes(&target), &note.file_name());
            fs::remove_file(note.path())?;
        }
        Ok(Self { directory: directory.to_owned() })
    }

    /// Notes a temporary file beside `target`.
    pub(super) fn note(&self, target: &Path) -> io::Result<Note> {
        let name = format!("{PREFIX}{}", uuid::Uuid::now_v7().simple());
        let note = self.directory.join(&name);
        fs::write(&note, target.as_os_str().as_bytes())?;
        Ok(Note { note, name })
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.note) {
            tracing::warn!(%error, "the note of a temporary file could not be removed");
        }
    }
}

fn remove_left_over(roots: &Roots, target: &OsStr, name: &OsStr) {
    let Some(parent) = Path::new(target).parent() else { return };
    let Ok(directory) = roots.open_directory(&names::to_text(parent.as_os_str().as_bytes())) else { return };
    if name.as_bytes().starts_with(PREFIX.as_bytes())
        && unlinkat(directory.handle.as_fd(), name, AtFlags::empty()).is_ok()
    {
        tracing::info!(path = %parent.display(), "a temporary file of an interrupted change was removed");
    }
}
