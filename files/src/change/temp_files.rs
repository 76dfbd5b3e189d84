//! Temporary files are recorded outside the roots before they are created, so that the next start removes
//! what a killed server left behind.
//!
//! Changes of one file wait for each other in a slot, and each slot has one record file. It stays open and is
//! emptied after each change, because creating and removing a file each time costs more than the record. An
//! upload may last as long as its client's line is slow: it has a record file of its own, so that no caller
//! waits for it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{AtFlags, unlinkat};

use crate::roots::{Roots, names};

/// How every temporary file's name begins.
const PREFIX: &str = ".autonous-";

/// How many changes can run at once; changes of one file never do.
const SLOTS: u64 = 64;

/// The locks of changes, and the records of their temporary files.
#[derive(Debug)]
pub(super) struct TempFiles {
    directory: PathBuf,
    slots: Vec<Mutex<RecordFile>>,
}

/// The record of a slot's change; created when the first one needs it.
#[derive(Debug)]
struct RecordFile {
    path: PathBuf,
    file: Option<File>,
}

/// While it is held, no other call changes the same file.
#[derive(Debug)]
pub(super) struct PathLock<'a> {
    record_file: MutexGuard<'a, RecordFile>,
}

/// A recorded temporary file; dropping it clears the record.
#[derive(Debug)]
pub(super) struct TempFileRecord<'a> {
    place: Place<'a>,
    pub(super) name: String,
}

#[derive(Debug)]
enum Place<'a> {
    /// The record file of a slot.
    Slot(&'a File),
    /// A record file for this temporary file alone.
    Own(PathBuf),
}

impl TempFiles {
    /// Removes the temporary files that an earlier server left, and then their records.
    pub(super) fn open(directory: &Path, roots: &Roots) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        for record_file in fs::read_dir(directory)? {
            let path = record_file?.path();
            remove_leftover(roots, &fs::read(&path)?);
            fs::remove_file(&path)?;
        }
        let record_file = |slot| RecordFile { path: directory.join(format!("{slot}")), file: None };
        Ok(Self {
            directory: directory.to_owned(),
            slots: (0..SLOTS).map(|slot| Mutex::new(record_file(slot))).collect(),
        })
    }

    /// Waits until no other call changes this file.
    pub(super) fn lock(&self, target: &Path) -> PathLock<'_> {
        self.lock_slot(slot_of(target))
    }

    /// Waits until no other call changes any of these files. Several are locked in one order.
    pub(super) fn lock_all<'a>(&self, targets: impl Iterator<Item = &'a Path>) -> Vec<PathLock<'_>> {
        let slots: BTreeSet<usize> = targets.map(slot_of).collect();
        slots.into_iter().map(|slot| self.lock_slot(slot)).collect()
    }

    fn lock_slot(&self, slot: usize) -> PathLock<'_> {
        PathLock { record_file: self.slots[slot].lock().unwrap_or_else(PoisonError::into_inner) }
    }

    /// Records a temporary file beside `target` without a lock.
    pub(super) fn record(&self, target: &Path) -> io::Result<TempFileRecord<'static>> {
        let name = new_name();
        let path = self.directory.join(&name);
        fs::write(&path, record_of(&name, target))?;
        Ok(TempFileRecord { place: Place::Own(path), name })
    }
}

fn slot_of(target: &Path) -> usize {
    let mut hasher = DefaultHasher::new();
    target.hash(&mut hasher);
    usize::try_from(hasher.finish() % SLOTS).unwrap_or(0)
}

fn new_name() -> String {
    format!("{PREFIX}{}", uuid::Uuid::now_v7().simple())
}

fn record_of(name: &str, target: &Path) -> Vec<u8> {
    [name.as_bytes(), b"\n", target.as_os_str().as_bytes()].concat()
}

impl PathLock<'_> {
    /// Records a temporary file beside `target`.
    pub(super) fn record(&mut self, target: &Path) -> io::Result<TempFileRecord<'_>> {
        let name = new_name();
        let RecordFile { path, file } = &mut *self.record_file;
        let file = match file {
            Some(file) => file,
            None => file.insert(File::create(path)?),
        };
        file.write_all_at(&record_of(&name, target), 0)?;
        Ok(TempFileRecord { place: Place::Slot(file), name })
    }
}

impl Drop for TempFileRecord<'_> {
    fn drop(&mut self) {
        let cleared = match &self.place {
            Place::Slot(file) => file.set_len(0),
            Place::Own(path) => fs::remove_file(path),
        };
        if let Err(error) = cleared {
            tracing::warn!(%error, "the record of a temporary file could not be cleared");
        }
    }
}

fn remove_leftover(roots: &Roots, record: &[u8]) {
    let Some(end) = memchr::memchr(b'\n', record) else { return };
    let (name, target) = (&record[..end], Path::new(OsStr::from_bytes(&record[end + 1..])));
    let Some(parent) = target.parent().filter(|_| name.starts_with(PREFIX.as_bytes())) else { return };
    let Ok(directory) = roots.open_directory(&names::path_to_text(parent)) else { return };
    if unlinkat(directory.handle.as_fd(), name, AtFlags::empty()).is_ok() {
        tracing::info!(path = %parent.display(), "removed the temporary file of an interrupted change");
    }
}
