//! The intents of changes of several files: what a change is about to do, durable before it begins, so that
//! the next start finishes an interrupted one.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use protocol::EventId;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, openat, renameat_with, unlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::file_hash::sha256_of_file;
use crate::roots::{Roots, names};

/// Where intents are kept, outside the roots.
#[derive(Debug)]
pub(super) struct Intents(PathBuf);

/// What a change is about to do, in the order in which it does it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Intent {
    pub(super) files: Vec<IntendedFile>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct IntendedFile {
    pub(super) path: PathBuf,
    /// The name of its temporary file, in the same directory.
    pub(super) temporary: String,
    pub(super) sha256_before: Option<String>,
    pub(super) sha256_after: String,
}

impl Intents {
    /// Opens the directory, which is made when it is missing, and finishes what a killed server left.
    pub(super) fn open(directory: &Path, roots: &Roots) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if path.extension().is_none()
                && let Ok(intent) = serde_json::from_slice::<Intent>(&fs::read(&path)?)
            {
                intent.finish(roots)?;
            }
            fs::remove_file(&path)?;
        }
        Ok(Self(directory.to_owned()))
    }

    /// Makes an intent durable. A kill leaves it whole or not at all.
    pub(super) fn record(&self, intent: &Intent) -> io::Result<PathBuf> {
        let path = self.0.join(EventId::new().as_str());
        let unfinished = path.with_extension("new");
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
        file.write_all(&serde_json::to_vec(intent)?)?;
        file.sync_all()?;
        fs::rename(unfinished, &path)?;
        File::open(&self.0)?.sync_all()?;
        Ok(path)
    }

    pub(super) fn forget(&self, recorded: &Path) -> io::Result<()> {
        fs::remove_file(recorded)?;
        File::open(&self.0)?.sync_all()
    }
}

/// How far a file of an intent has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// It has its old content, or is not there yet.
    Waiting,
    Replaced,
    /// Somebody else has changed it.
    Strange,
}

impl Intent {
    /// Continues to the end; back to the beginning if another program has changed one of the files.
    fn finish(&self, roots: &Roots) -> io::Result<()> {
        let found: Vec<(Option<OwnedFd>, Progress)> =
            self.files.iter().map(|file| file.find(roots)).collect::<io::Result<_>>()?;
        let is_strange = found.iter().any(|(_, progress)| *progress == Progress::Strange);
        let from = if is_strange { Progress::Replaced } else { Progress::Waiting };
        for (file, (directory, progress)) in self.files.iter().zip(&found) {
            if let Some(directory) = directory.as_ref().filter(|_| *progress == from) {
                file.swap(directory, is_strange)?;
            }
            let path = file.path.display();
            tracing::info!(%path, is_taken_back = is_strange, "finished an interrupted change");
        }
        Ok(())
    }
}

impl IntendedFile {
    fn find(&self, roots: &Roots) -> io::Result<(Option<OwnedFd>, Progress)> {
        let (Some(parent), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return Ok((None, Progress::Strange));
        };
        let Ok(directory) = roots.open_directory(&names::path_to_text(parent)) else {
            return Ok((None, Progress::Strange));
        };
        let directory = directory.handle;
        let there = hash_of(&directory, name)?;
        let beside = hash_of(&directory, self.temporary.as_ref())?;
        let progress = if there.as_ref() == Some(&self.sha256_after) {
            Progress::Replaced
        } else if there == self.sha256_before && beside.as_ref() == Some(&self.sha256_after) {
            Progress::Waiting
        } else {
            Progress::Strange
        };
        Ok((Some(directory), progress))
    }

    /// Exchanges the file with what lies beside it.
    fn swap(&self, directory: &OwnedFd, is_back: bool) -> io::Result<()> {
        let Some(name) = self.path.file_name() else { return Ok(()) };
        match &self.sha256_before {
            // It was done to its end, and only its intent was left.
            Some(_) if hash_of(directory, self.temporary.as_ref())?.is_none() => return Ok(()),
            Some(_) => {
                renameat_with(directory, &self.temporary, directory, name, RenameFlags::EXCHANGE)?;
                // The file that it replaced belongs to no call any more; a file that was taken back has its
                // own content.
                unlinkat(directory, &self.temporary, AtFlags::empty())?;
            }
            None if is_back => unlinkat(directory, name, AtFlags::empty())?,
            None => renameat_with(directory, &self.temporary, directory, name, RenameFlags::NOREPLACE)?,
        }
        File::from(directory.try_clone()?).sync_all()
    }
}

/// The SHA-256 of a regular file; none if there is none.
fn hash_of(directory: &OwnedFd, name: &std::ffi::OsStr) -> io::Result<Option<String>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match openat(directory, name, flags, Mode::empty()) {
        Ok(file) => Ok(Some(sha256_of_file(&file, || Ok(()))?.0)),
        Err(Errno::NOENT) => Ok(None),
        // A link or something else has taken its place.
        Err(_) => Ok(Some(String::new())),
    }
}
