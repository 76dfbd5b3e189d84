//! The mounts of one command in tier A, on top of those that all commands share: its own temporary
//! directories and its own `/proc`.

use std::fs;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use super::context::SpawnerContext;
use super::{mounts, private_home};
use crate::command::{HOME, PRIVATE_BYTES, SHARED_MEMORY_BYTES};
use crate::step::{During as _, Step, StepError};
use crate::syscalls;

/// The most processes of a command, where the kernel counts them per namespace (Linux 6.14).
const MAX_PROCESSES: &str = "512";

const PRIVATE_DIRECTORIES: [(&str, u64, &str); 3] = [
    ("/tmp", PRIVATE_BYTES, "1777"),
    (HOME, PRIVATE_BYTES, "0700"),
    ("/dev/shm", SHARED_MEMORY_BYTES, "1777"),
];

pub(super) fn set_up(spawner: &SpawnerContext<'_>) -> Result<(), StepError> {
    private_directories(spawner).during(Step::PrivateDirectories)?;
    own_proc().during(Step::Proc)
}

/// Mounts fresh memory over the temporary directories. This would hide roots below them, so those are
/// copied before and attached again after.
fn private_directories(spawner: &SpawnerContext<'_>) -> io::Result<()> {
    let settings = spawner.settings;
    let mut covered: Vec<&PathBuf> = settings
        .roots
        .iter()
        .chain(&settings.readonly_roots)
        .map(|root| &root.path)
        .filter(|path| PRIVATE_DIRECTORIES.iter().any(|(directory, ..)| path.starts_with(directory)))
        .collect();
    covered.sort_by_key(|path| path.as_os_str().len());
    let kept: Vec<(&Path, OwnedFd)> = covered
        .into_iter()
        .map(|path| Ok((path.as_path(), mounts::copy(mounts::open(path)?)?)))
        .collect::<io::Result<_>>()?;
    for (directory, bytes, mode) in PRIVATE_DIRECTORIES {
        mounts::attach(mounts::tmpfs(bytes, mode)?, mounts::open(Path::new(directory))?)?;
    }
    let root = mounts::open(Path::new("/"))?;
    for (path, tree) in kept {
        mounts::make_directories(root.as_fd(), mounts::relative(path))?;
        mounts::attach(tree, mounts::open(path)?)?;
    }
    private_home::write_files(Path::new(HOME), &settings.home_files)
}

/// A `/proc` that shows only the command's own processes. It is read-only because parts of it, such as
/// `core_pattern`, belong to the whole machine; the limit on processes is written just before.
fn own_proc() -> io::Result<()> {
    let proc = mounts::procfs()?;
    mounts::attach(&proc, mounts::open(Path::new("/proc"))?)?;
    // Kernels before 6.14 have one limit for the whole machine, which this process may not set.
    let _ = fs::write("/proc/sys/kernel/pid_max", MAX_PROCESSES);
    syscalls::set_mount_attributes(proc.as_fd(), libc::MOUNT_ATTR_RDONLY, false)
}
