//! What one command of tier A sees beyond the shared tree: its own temporary directories, its own
//! `/proc`, denied names hidden, control files read-only.

use std::fs;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use super::mounts;
use super::search::{Found, Kind};
use super::spawning::Prepared;
use super::system_view::MASKS;
use crate::calls;
use crate::command::{HOME, PRIVATE_BYTES, SHARED_MEMORY_BYTES};
use crate::step::{During as _, Step, StepError};

/// The most processes of a command, where the kernel counts them per namespace (Linux 6.14).
pub const MAX_PROCESSES: &str = "512";

const PRIVATE: [(&str, u64, &str); 3] = [
    ("/tmp", PRIVATE_BYTES, "1777"),
    (HOME, PRIVATE_BYTES, "0700"),
    ("/dev/shm", SHARED_MEMORY_BYTES, "1777"),
];

/// Completes the command's view. `found` is what the search of the roots brought.
pub fn complete(prepared: &Prepared<'_>, found: &[Found]) -> Result<(), StepError> {
    private_directories(prepared).during(Step::PrivateDirectories)?;
    for item in found {
        let path = prepared.settings.roots[item.root].path.join(&item.path);
        match item.kind {
            Kind::Denied => hide(&path).during(Step::HideDenied)?,
            Kind::Repository => pin(&path, mounts::READ_WRITE).during(Step::ProtectControl)?,
            Kind::Control => pin(&path, mounts::READ_ONLY).during(Step::ProtectControl)?,
            Kind::InsideControl => {}
        }
    }
    own_processes().during(Step::Proc)
}

/// Puts fresh memory over the temporary directories. A root that lies beneath one of them would vanish,
/// so it is taken out before and put back.
fn private_directories(prepared: &Prepared<'_>) -> std::io::Result<()> {
    let settings = prepared.settings;
    let mut covered: Vec<&PathBuf> = settings
        .roots
        .iter()
        .chain(&settings.readonly_roots)
        .map(|root| &root.path)
        .filter(|path| PRIVATE.iter().any(|(directory, ..)| path.starts_with(directory)))
        .collect();
    covered.sort_by_key(|path| path.as_os_str().len());
    let kept: Vec<(&Path, OwnedFd)> = covered
        .into_iter()
        .map(|path| Ok((path.as_path(), mounts::copy(mounts::place(path)?)?)))
        .collect::<std::io::Result<_>>()?;
    for (directory, bytes, mode) in PRIVATE {
        mounts::attach(mounts::memory(bytes, mode)?, mounts::place(Path::new(directory))?)?;
    }
    let root = mounts::place(Path::new("/"))?;
    for (path, tree) in kept {
        mounts::make_directories(root.as_fd(), mounts::beneath_root(path))?;
        mounts::attach(tree, mounts::place(path)?)?;
    }
    Ok(())
}

/// A repository is mounted onto itself, or `mv .git x; cp -r x .git` would shed the read-only parts.
fn pin(path: &Path, attributes: u64) -> std::io::Result<()> {
    let Some(place) = still_there(path)? else { return Ok(()) };
    mounts::attach(mounts::restricted_copy(&place, attributes)?, &place)?;
    Ok(())
}

fn hide(path: &Path) -> std::io::Result<()> {
    let Some(place) = still_there(path)? else { return Ok(()) };
    let directory = rustix::fs::fstat(&place)?.st_mode & libc::S_IFMT == libc::S_IFDIR;
    let mask = Path::new(if directory { MASKS.1 } else { MASKS.0 });
    let mask = mounts::restricted_copy(mounts::place(mask)?, mounts::READ_ONLY)?;
    mounts::attach(mask, &place)?;
    Ok(())
}

/// The place, unless it vanished since the search or is a link: a link has nothing of its own to protect.
fn still_there(path: &Path) -> std::io::Result<Option<OwnedFd>> {
    let root = mounts::place(Path::new("/"))?;
    let place = match mounts::place_without_links(root.as_fd(), mounts::beneath_root(path)) {
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::LOOP | rustix::io::Errno::NOTDIR) => {
            return Ok(None);
        }
        other => other?,
    };
    let link = rustix::fs::fstat(&place)?.st_mode & libc::S_IFMT == libc::S_IFLNK;
    Ok((!link).then_some(place))
}

/// A `/proc` that shows only the command's own processes. It is read-only because parts of it, such as
/// `core_pattern`, belong to the whole machine; the bound on processes is written just before.
fn own_processes() -> std::io::Result<()> {
    let processes = mounts::processes()?;
    mounts::attach(&processes, mounts::place(Path::new("/proc"))?)?;
    // Kernels before 6.14 have one bound for the whole machine, which this process may not set.
    let _ = fs::write("/proc/sys/kernel/pid_max", MAX_PROCESSES);
    calls::set_mount_attributes(processes.as_fd(), libc::MOUNT_ATTR_RDONLY, false)
}
