//! Copies a directory with all that is in it, following no link: what tools have written there may lead
//! anywhere.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, fchmod, mkdirat, openat, readlinkat, statat, symlinkat,
};
use rustix::io::Errno;

/// Deeper directories are left out: each level holds two descriptors.
const MAX_DEPTH: usize = 128;

/// What was copied.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Copied {
    pub files: u64,
    pub bytes: u64,
    /// Entries that are neither files, nor directories, nor links, or could not be read.
    pub left_out: u64,
}

/// Copies the entries of `from` into the new directory `to`, for its owner alone. Without `from`, it does
/// nothing. What vanishes meanwhile is not copied, and what changes meanwhile is copied as it is read.
pub(crate) fn copy_directory(from: &Path, to: &Path, copied: &mut Copied) -> io::Result<()> {
    let from = match openat(CWD, from, directory(), Mode::empty()) {
        Err(Errno::NOENT) => return Ok(()),
        opened => opened?,
    };
    let to = made(CWD, to)?;
    copy_into(from.as_fd(), to.as_fd(), MAX_DEPTH, copied)
}

fn directory() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC
}

fn made(parent: BorrowedFd<'_>, name: impl rustix::path::Arg + Copy) -> rustix::io::Result<OwnedFd> {
    mkdirat(parent, name, Mode::RWXU)?;
    openat(parent, name, directory() | OFlags::NOFOLLOW, Mode::empty())
}

fn copy_into(from: BorrowedFd<'_>, to: BorrowedFd<'_>, depth: usize, copied: &mut Copied) -> io::Result<()> {
    for entry in Dir::read_from(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let facts = match statat(from, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => continue,
            facts => facts?,
        };
        match FileType::from_raw_mode(facts.st_mode) {
            FileType::Directory if depth > 0 => {
                match openat(from, name, directory() | OFlags::NOFOLLOW, Mode::empty()) {
                    Ok(inner) => copy_into(inner.as_fd(), made(to, name)?.as_fd(), depth - 1, copied)?,
                    Err(error) => unread(error, copied)?,
                }
            }
            FileType::RegularFile => copy_file(from, to, name, copied)?,
            FileType::Symlink => match readlinkat(from, name, Vec::new()) {
                Ok(target) => symlinkat(target, to, name)?,
                Err(error) => unread(error, copied)?,
            },
            _ => copied.left_out += 1,
        }
    }
    Ok(())
}

fn copy_file(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    name: &std::ffi::CStr,
    copied: &mut Copied,
) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut source = match openat(from, name, flags, Mode::empty()) {
        Ok(source) => File::from(source),
        Err(error) => return unread(error, copied),
    };
    let facts = rustix::fs::fstat(&source)?;
    if FileType::from_raw_mode(facts.st_mode) != FileType::RegularFile {
        copied.left_out += 1;
        return Ok(());
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut target = File::from(openat(to, name, flags, Mode::RUSR | Mode::WUSR)?);
    copied.bytes += io::copy(&mut source, &mut target)?;
    copied.files += 1;
    fchmod(&target, Mode::from_raw_mode(facts.st_mode) & (Mode::RWXU | Mode::RWXG | Mode::RWXO))?;
    Ok(())
}

/// What cannot be opened is left out; a disk that fails ends the copy.
fn unread(error: Errno, copied: &mut Copied) -> io::Result<()> {
    match error {
        Errno::NOENT => Ok(()),
        Errno::ACCESS | Errno::PERM | Errno::LOOP | Errno::NOTDIR | Errno::NXIO => {
            copied.left_out += 1;
            Ok(())
        }
        other => Err(other.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn files_directories_and_links_are_copied_and_nothing_is_followed() {
        let temporary = tempfile::tempdir().unwrap();
        let at = |path: &str| temporary.path().join(path);
        fs::create_dir_all(at("from/a/b")).unwrap();
        fs::write(at("outside"), "secret").unwrap();
        fs::write(at("from/a/b/run.sh"), "echo").unwrap();
        fs::set_permissions(at("from/a/b/run.sh"), fs::Permissions::from_mode(0o750)).unwrap();
        symlink(at("outside"), at("from/link")).unwrap();
        symlink(temporary.path(), at("from/up")).unwrap();
        rustix::fs::mknodat(CWD, at("from/pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        let mut copied = Copied::default();
        copy_directory(&at("from"), &at("to"), &mut copied).unwrap();
        assert_eq!((copied.files, copied.bytes, copied.left_out), (1, 4, 1));
        assert_eq!(fs::read_to_string(at("to/a/b/run.sh")).unwrap(), "echo");
        assert_eq!(fs::metadata(at("to/a/b/run.sh")).unwrap().permissions().mode() & 0o777, 0o750);
        assert_eq!(fs::metadata(at("to")).unwrap().permissions().mode() & 0o777, 0o700);
        for link in ["to/link", "to/up"] {
            assert!(at(link).symlink_metadata().unwrap().is_symlink(), "{link}");
        }
        assert!(!at("to/pipe").exists());
        copy_directory(&at("missing"), &at("none"), &mut copied).unwrap();
        assert!(!at("none").exists());
        assert!(copy_directory(&at("from"), &at("to"), &mut copied).is_err(), "nothing is overwritten");
    }

    #[test]
    fn a_directory_that_is_too_deep_is_left_out() {
        let temporary = tempfile::tempdir().unwrap();
        let mut deep = temporary.path().join("from");
        (0..MAX_DEPTH + 5).for_each(|_| deep.push("d"));
        fs::create_dir_all(&deep).unwrap();
        let mut copied = Copied::default();
        copy_directory(&temporary.path().join("from"), &temporary.path().join("to"), &mut copied).unwrap();
        assert_eq!(copied.left_out, 1);
    }
}
