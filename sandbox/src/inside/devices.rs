//! The devices that programs need, and the links to their own descriptors.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, openat, symlinkat};

use super::mounts;

/// Character devices without state.
pub(super) const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];

/// The terminal of the process that opens it. Not every machine has it.
pub(super) const OWN_TERMINAL: &str = "tty";

const LINKS: [(&str, &str); 5] = [
    ("pts/ptmx", "dev/ptmx"),
    ("/proc/self/fd", "dev/fd"),
    ("/proc/self/fd/0", "dev/stdin"),
    ("/proc/self/fd/1", "dev/stdout"),
    ("/proc/self/fd/2", "dev/stderr"),
];

/// Copies the machine's devices; call this before its file tree is left.
pub(super) fn copies() -> std::io::Result<Vec<(&'static str, OwnedFd)>> {
    let copy = |name| {
        let device = mounts::open(&Path::new("/dev").join(name))?;
        Ok((name, mounts::restricted_copy(device, mounts::DEVICE)?))
    };
    let has_terminals = Path::new("/dev").join(OWN_TERMINAL).exists();
    DEVICES.into_iter().chain(has_terminals.then_some(OWN_TERMINAL)).map(copy).collect()
}

pub(super) fn show(root: BorrowedFd<'_>, copies: &[(&str, OwnedFd)]) -> rustix::io::Result<()> {
    mounts::make_directories(root, Path::new("dev/shm"))?;
    mounts::make_directories(root, Path::new("dev/pts"))?;
    let dev = openat(root, "dev", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    for (name, copy) in copies {
        let name = Path::new(name);
        mounts::create_file(&dev, name, Mode::from_raw_mode(0o644))?;
        mounts::attach(copy, mounts::open_without_links(dev.as_fd(), name)?)?;
    }
    for (target, link) in LINKS {
        symlinkat(target, root, link)?;
    }
    Ok(())
}
