//! The quarantine: what was taken back from the roots, in the output directory, by call.
//!
//! Things are moved by descriptors alone: from below a root's handle to below the quarantine's, so that a
//! command that still runs can lead nothing astray. What lies here is deleted after a week; the largest of it
//! earlier, when there is too much.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use files::output_store::{KEEP, MAX_FILE_BYTES, MAX_TOTAL_BYTES};
use files::roots::{QUARANTINE, make_child_directory, open_child_directory};
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, Stat, mkdirat, openat, readlinkat, renameat_with, statat,
    symlinkat,
};
use rustix::io::Errno;
use sandbox::{entries, open_for_owner, remove_tree};

/// How many entries of one directory are kept when they must be copied to another file system, and to which
/// depth.
const MAX_COPIED: usize = 1000;
const MAX_COPIED_DEPTH: usize = 64;

/// The directory of a call for what it left too much of.
pub(super) const FLOOD: &str = "flood";

/// How often another name is tried for an entry that exists already.
const MAX_NAMES: usize = 10_000;

#[derive(Debug)]
pub(super) struct Quarantine {
    path: PathBuf,
    handle: OwnedFd,
}

impl Quarantine {
    pub(super) fn open(output: &Path) -> io::Result<Self> {
        let path = output.join(QUARANTINE);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
        let handle = File::open(&path)?.into();
        Ok(Self { path, handle })
    }

    /// Where the things of a call lie.
    pub(super) fn of_call(&self, call: &str) -> PathBuf {
        self.path.join(call)
    }

    /// Moves an entry of a directory here.
    pub(super) fn take(
        &self,
        call: &str,
        shown: &Path,
        parent: BorrowedFd<'_>,
        name: &OsStr,
    ) -> io::Result<()> {
        let (directory, file) = self.place(call, shown)?;
        for number in 0..MAX_NAMES {
            let target = numbered(&file, number);
            match renameat_with(parent, name, &directory, &target, RenameFlags::NOREPLACE) {
                Ok(()) => return Ok(()),
                Err(Errno::EXIST) => {}
                Err(Errno::XDEV | Errno::INVAL) => {
                    let mut left = MAX_COPIED;
                    match copy(parent, name, directory.as_fd(), &target, (&mut left, MAX_COPIED_DEPTH)) {
                        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                        copied => copied?,
                    }
                    return Ok(remove_tree(parent, name, || Ok::<(), Errno>(()))?);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(Errno::EXIST.into())
    }

    /// Keeps a copy of a file's content here.
    pub(super) fn keep(&self, call: &str, shown: &Path, content: &[u8]) -> io::Result<()> {
        let (directory, file) = self.place(call, shown)?;
        for number in 0..MAX_NAMES {
            match create(directory.as_fd(), &numbered(&file, number)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => return created?.write_all(content),
            }
        }
        Err(Errno::EXIST.into())
    }

    /// The directory for a path of a call, which is made, and the path's name.
    fn place(&self, call: &str, shown: &Path) -> io::Result<(OwnedFd, OsString)> {
        let name = shown.file_name().ok_or(Errno::INVAL)?.to_owned();
        let mut directory = make_directory(self.handle.as_fd(), OsStr::new(call))?;
        for part in shown.parent().into_iter().flatten() {
            let mut number = 0;
            directory = loop {
                // What was taken before may be a file where a directory is needed now.
                match make_directory(directory.as_fd(), &numbered(part, number)) {
                    Err(Errno::NOTDIR | Errno::LOOP) if number < MAX_NAMES => number += 1,
                    made => break made?,
                }
            };
        }
        Ok((directory, name))
    }

    /// Deletes entries older than a week. If the rest is too much, the calls that have most give up their
    /// largest files: no later call can make the traces of an earlier one disappear.
    pub(super) fn sweep(&self, now: SystemTime) -> io::Result<()> {
        self.sweep_to(now, MAX_TOTAL_BYTES)
    }

    fn sweep_to(&self, now: SystemTime, most_bytes: u64) -> io::Result<()> {
        let mut calls = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if now.duration_since(entry.metadata()?.modified()?).unwrap_or(Duration::ZERO) > KEEP {
                delete(&entry.path())?;
            } else if entry.file_type()?.is_dir() {
                calls.push((bytes_in(&entry.path())?, entry.path()));
            }
        }
        calls.sort();
        let share = fair_share(&calls, most_bytes);
        for (bytes, path) in calls.iter().filter(|(bytes, _)| *bytes > share) {
            shrink(path, bytes - share)?;
        }
        Ok(())
    }
}

/// What each call may have, so that all fit; the calls are sorted by what they have.
fn fair_share(calls: &[(u64, PathBuf)], most_bytes: u64) -> u64 {
    let mut left = most_bytes;
    for ((bytes, _), calls_left) in calls.iter().zip((1..=calls.len() as u64).rev()) {
        let share = left / calls_left;
        if *bytes > share {
            return share;
        }
        left -= bytes;
    }
    u64::MAX
}

/// Deletes of a call so many bytes: what it left too much of first, then the largest files.
fn shrink(path: &Path, excess: u64) -> io::Result<()> {
    let mut files = Vec::new();
    walk(path, |file, stat| {
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            files.push((bytes_of(stat), file.to_owned()));
        }
    })?;
    let flood = path.join(FLOOD);
    files.sort_by_key(|(bytes, file)| (!file.starts_with(&flood), std::cmp::Reverse(*bytes)));
    let mut freed = 0;
    for (bytes, file) in files {
        if freed >= excess {
            return Ok(());
        }
        // One whose path is too long goes with the rest.
        if fs::remove_file(file).is_ok() {
            freed += bytes;
        }
    }
    // The rest is directories.
    if freed < excess { delete(path) } else { Ok(()) }
}

fn delete(path: &Path) -> io::Result<()> {
    let (parent, name) = (path.parent().ok_or(Errno::INVAL)?, path.file_name().ok_or(Errno::INVAL)?);
    Ok(remove_tree(File::open(parent)?.as_fd(), name, || Ok::<(), Errno>(()))?)
}

/// Visits everything below a directory, however deep, and opens closed directories for their owner. Only this
/// server changes what lies here, so the way up is the way down.
fn walk(top: &Path, mut visit: impl FnMut(&Path, &Stat)) -> io::Result<()> {
    let (parent, name) = (top.parent().ok_or(Errno::INVAL)?, top.file_name().ok_or(Errno::INVAL)?);
    let mut directory = open_for_owner(File::open(parent)?.as_fd(), name)?;
    let mut levels = vec![entries(&directory)?.into_iter()];
    let mut path = top.to_owned();
    while let Some(level) = levels.last_mut() {
        let Some(name) = level.next() else {
            levels.pop();
            path.pop();
            let up = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            directory = openat(&directory, "..", up, Mode::empty())?;
            continue;
        };
        let stat = statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW)?;
        path.push(&name);
        visit(&path, &stat);
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            directory = open_for_owner(directory.as_fd(), &name)?;
            levels.push(entries(&directory)?.into_iter());
        } else {
            path.pop();
        }
    }
    Ok(())
}

fn bytes_of(stat: &Stat) -> u64 {
    u64::try_from(stat.st_blocks).unwrap_or(0) * 512
}

fn numbered(name: &OsStr, number: usize) -> OsString {
    let mut numbered = name.to_owned();
    if number > 0 {
        numbered.push(format!("~{number}"));
    }
    numbered
}

fn make_directory(parent: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    make_child_directory(parent, name, 0o700)?;
    open_child_directory(parent, name)
}

fn create(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(openat(directory, name, flags, Mode::from_raw_mode(0o600))?))
}

/// Copies an entry to another file system: of a file its beginning, of a directory its first entries.
fn copy(
    from: BorrowedFd<'_>,
    name: &OsStr,
    to: BorrowedFd<'_>,
    target: &OsStr,
    (left, depth): (&mut usize, usize),
) -> io::Result<()> {
    if *left == 0 || depth == 0 {
        return Ok(());
    }
    *left -= 1;
    let stat = statat(from, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let file = File::from(openat(from, name, flags, Mode::empty())?);
            io::copy(&mut file.take(MAX_FILE_BYTES), &mut create(to, target)?).map(drop)
        }
        FileType::Symlink => Ok(symlinkat(readlinkat(from, name, Vec::new())?, to, target)?),
        FileType::Directory => {
            let source = open_for_owner(from, name)?;
            mkdirat(to, target, Mode::from_raw_mode(0o700))?;
            let target = open_child_directory(to, target)?;
            for child in entries(&source)? {
                copy(source.as_fd(), &child, target.as_fd(), &child, (&mut *left, depth - 1))?;
            }
            Ok(())
        }
        // A pipe or a device has nothing to keep.
        _ => Ok(()),
    }
}

fn bytes_in(path: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    walk(path, |_, stat| bytes += bytes_of(stat))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_call_cannot_flush_what_an_earlier_one_left() {
        let output = tempfile::tempdir().unwrap();
        let quarantine = Quarantine::open(output.path()).unwrap();
        let keep = |call: &str, path: &str, kib: usize| {
            quarantine.keep(call, Path::new(path), &vec![b'x'; kib << 10]).unwrap();
        };
        let has = |call: &str, path: &str| quarantine.of_call(call).join(path).exists();
        keep("first", "repository/.git/hooks/pre-commit", 1);
        for call in 0..8 {
            keep(&format!("flood-{call}"), "a/fill", 1000);
            keep(&format!("flood-{call}"), "a/.envrc", 1);
        }
        for name in 0..500 {
            keep("names", &format!("{FLOOD}/{name}-.env"), 1);
        }
        keep("names", "b/.envrc", 1);
        quarantine.sweep_to(SystemTime::now(), 3 << 20).unwrap();
        assert!(has("first", "repository/.git/hooks/pre-commit"));
        assert!((0..8).all(|call| has(&format!("flood-{call}"), "a/.envrc")));
        assert!((0..8).any(|call| !has(&format!("flood-{call}"), "a/fill")));
        assert!(has("names", "b/.envrc"));
        assert!(bytes_in(&quarantine.path).unwrap() <= 3 << 20);

        quarantine.sweep_to(SystemTime::now() + KEEP * 2, 3 << 20).unwrap();
        assert_eq!(fs::read_dir(&quarantine.path).unwrap().count(), 0, "a week is over");
    }
    /// Deeper than a path can name and than most servers may open files.
    #[test]
    fn a_deep_tree_is_counted_shrunk_and_removed() {
        let output = tempfile::tempdir().unwrap();
        let quarantine = Quarantine::open(output.path()).unwrap();
        let call = quarantine.of_call("deep");
        fs::create_dir(&call).unwrap();
        let mut directory: OwnedFd = File::open(&call).unwrap().into();
        for _ in 0..5000 {
            directory = make_directory(directory.as_fd(), OsStr::new("d")).unwrap();
        }
        create(directory.as_fd(), OsStr::new("fill")).unwrap().write_all(&[b'x'; 4 << 20]).unwrap();
        drop(directory);
        assert!(bytes_in(&call).unwrap() > 4 << 20);
        quarantine.keep("other", Path::new("a"), b"x").unwrap();
        quarantine.sweep_to(SystemTime::now(), 1 << 20).unwrap();
        assert!(!call.exists() && quarantine.of_call("other").exists());
    }
}
