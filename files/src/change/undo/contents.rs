//! The kept contents: files in `<output>/undo/`, each named by the SHA-256 of its content.

use std::fs::{DirBuilder, File};
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use protocol::hash::in_hex;
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, linkat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use super::super::attributes::keep_attributes;
use super::super::file_hash::{read_at, sha256_of_file};
use crate::roots::names;

/// How much is copied at once.
const BLOCK_BYTES: usize = 128 * 1024;

/// How the name of an unfinished copy begins.
const UNFINISHED: &str = "new-";

#[derive(Debug)]
pub(super) struct Contents {
    pub(super) path: PathBuf,
    directory: OwnedFd,
}

/// A file that is about to be replaced or removed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileToKeep<'a> {
    pub(crate) parent: &'a OwnedFd,
    pub(crate) name: &'a std::ffi::OsStr,
    pub(crate) file: &'a OwnedFd,
    pub(crate) sha256: &'a str,
}

impl Contents {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        Ok(Self { path: path.canonicalize()?, directory: OwnedFd::from(File::open(path)?) })
    }

    /// Where it is, as tools show paths.
    pub(super) fn name(&self) -> String {
        names::path_to_text(&self.path)
    }

    /// Keeps a file's content: by a second name for it, or by a copy where there is no such name across file
    /// systems, or where the file has more names, under which it may still be changed.
    pub(super) fn keep(&self, file: &FileToKeep<'_>) -> io::Result<()> {
        let stat = fstat(file.file)?;
        if stat.st_nlink == 1 && self.link(file, &stat)? {
            return Ok(());
        }
        self.copy(file.file, file.sha256)
    }

    /// False if the file cannot have another name here.
    fn link(&self, file: &FileToKeep<'_>, stat: &Stat) -> io::Result<bool> {
        let mut name = file.sha256.to_owned();
        let mut linked = linkat(file.parent, file.name, &self.directory, &name, AtFlags::empty());
        if linked == Err(Errno::EXIST) {
            // It may be a file that somebody held open and has changed since; this one is as it should be.
            name = format!("{UNFINISHED}{}", file.sha256);
            let _ = unlinkat(&self.directory, &name, AtFlags::empty());
            linked = linkat(file.parent, file.name, &self.directory, &name, AtFlags::empty());
        }
        match linked {
            Ok(()) => {}
            Err(Errno::NOSPC | Errno::DQUOT) => return Err(Errno::NOSPC.into()),
            Err(_) => return Ok(false),
        }
        let is_same = statat(&self.directory, &name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|kept| (kept.st_dev, kept.st_ino) == (stat.st_dev, stat.st_ino));
        if !is_same {
            unlinkat(&self.directory, &name, AtFlags::empty())?;
            return Ok(false);
        }
        if name != file.sha256 {
            renameat(&self.directory, &name, &self.directory, file.sha256)?;
        }
        Ok(true)
    }

    /// Copies a content with its attributes; fails if it is not the one that the hash is of.
    fn copy(&self, file: &OwnedFd, sha256: &str) -> io::Result<()> {
        let name = format!("{UNFINISHED}{sha256}");
        let copied = self.copy_to(&name, file, sha256);
        if copied.is_err() {
            let _ = unlinkat(&self.directory, &name, AtFlags::empty());
        }
        copied
    }

    fn copy_to(&self, name: &str, file: &OwnedFd, sha256: &str) -> io::Result<()> {
        let _ = unlinkat(&self.directory, name, AtFlags::empty());
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut copy = File::from(openat(&self.directory, name, flags, Mode::from_raw_mode(0o600))?);
        if copy_content(file, &mut copy, u64::MAX)? != sha256 {
            return Err(io::Error::other("the file changed while it was copied"));
        }
        keep_attributes(file, &fstat(file)?, copy.as_fd())?;
        Ok(renameat(&self.directory, name, &self.directory, sha256)?)
    }

    /// The kept content with this hash, or nothing if it is not there or was changed.
    pub(super) fn find(&self, sha256: &str) -> io::Result<Option<OwnedFd>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(&self.directory, sha256, flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            opened => opened?,
        };
        let is_intact = sha256_of_file(&file, || Ok(()))?.0 == sha256;
        Ok(is_intact.then_some(file))
    }

    pub(super) fn remove(&self, sha256: &str) -> io::Result<()> {
        match unlinkat(&self.directory, sha256, AtFlags::empty()) {
            Err(Errno::NOENT) => Ok(()),
            removed => Ok(removed?),
        }
    }

    /// Makes a content its own file again. After a change that was not made, it is another name of the file
    /// in the workspace, where it can be changed.
    pub(super) fn separate(&self, sha256: &str) -> io::Result<()> {
        let stat = match statat(&self.directory, sha256, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(()),
            found => found?,
        };
        if stat.st_nlink == 1 {
            return Ok(());
        }
        match self.find(sha256)? {
            Some(file) => self.copy(&file, sha256),
            None => self.remove(sha256),
        }
    }

    /// The names in the directory that are no content of `wanted`; they are of changes that were never made.
    pub(super) fn remove_others(&self, wanted: impl Fn(&str) -> bool) -> io::Result<()> {
        for entry in Dir::read_from(&self.directory)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy();
            let is_content = name.len() == 64 || name.starts_with(UNFINISHED);
            if is_content && entry.file_type() != FileType::Directory && !wanted(&name) {
                self.remove(&name)?;
            }
        }
        Ok(())
    }
}

/// Copies at most `bytes` from the beginning of a file; returns the SHA-256 of what was copied.
pub(super) fn copy_content(from: &OwnedFd, to: &mut File, bytes: u64) -> io::Result<String> {
    let (mut state, mut block, mut at) = (Sha256::new(), vec![0; BLOCK_BYTES], 0);
    while at < bytes {
        let room = usize::try_from(bytes - at).unwrap_or(BLOCK_BYTES).min(BLOCK_BYTES);
        let read = read_at(from, &mut block[..room], at)?;
        if read == 0 {
            break;
        }
        state.update(&block[..read]);
        to.write_all(&block[..read])?;
        at += u64::try_from(read).unwrap_or(0);
    }
    Ok(in_hex(&state.finalize()))
}
