//! The file tree that all commands of tier A share: a fresh root that holds only what is on a list.
//!
//! It is built once, in the spawner's own mount namespace, and then made read-only; each command gets a
//! copy of these few mounts and adds its private ones. Everything else of the machine is not hidden but
//! absent: nothing leads there.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, fstat, openat, symlinkat};
use rustix::mount::{MountPropagationFlags, UnmountFlags, mount_change, unmount};
use rustix::process::{chdir, fchdir, pivot_root};

use super::{devices, etc::Etc, mounts};
use crate::calls;
use crate::command::HOME;
use crate::settings::{Root, SpawnerSettings};
use crate::step::{During as _, Step, StepError};

/// Room for the few files of `/etc` and the mount points.
const ROOT_BYTES: u64 = 8 << 20;

/// Where the programs and libraries of a system lie; a link is shown as a link.
pub const SYSTEM: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/// An empty file and an empty directory that nobody may open, to be put over denied names.
pub const MASKS: (&str, &str) = ("/.denied/file", "/.denied/directory");

/// A tree to attach, and where.
struct Shown {
    path: PathBuf,
    tree: OwnedFd,
}

/// A link to make in the new root.
struct Link {
    target: PathBuf,
    path: PathBuf,
}

/// Builds the tree and leaves the machine's for it.
pub fn enter(settings: &SpawnerSettings) -> Result<(), StepError> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .during(Step::MountPrivate)?;
    let (system, links) = system()?;
    let mut shown = roots(settings)?;
    shown.extend(system);
    // A directory is attached before what lies in it.
    shown.sort_by_key(|shown| shown.path.as_os_str().len());
    let processes = mounts::place(Path::new("/proc")).and_then(mounts::copy).during(Step::Proc)?;
    let devices = devices::copies()?;
    let etc = Etc::take(settings.network)?;

    let root = mounts::memory(ROOT_BYTES, "0755").during(Step::Pivot)?;
    let somewhere = mounts::place(Path::new("/proc")).during(Step::Pivot)?;
    mounts::attach(&root, somewhere).during(Step::Pivot)?;
    skeleton(root.as_fd(), &links).during(Step::SystemView)?;
    devices::show(root.as_fd(), &devices)?;
    etc.show(root.as_fd())?;
    attach(root.as_fd(), Path::new("/proc"), &processes).during(Step::Proc)?;
    for Shown { path, tree } in &shown {
        attach(root.as_fd(), path, tree).during(Step::RootView)?;
    }
    leave_machine(&root).during(Step::Pivot)?;
    calls::set_mount_attributes(root.as_fd(), mounts::READ_ONLY, false).during(Step::SealView)
}

/// The system's directories, and its links, which stay links.
fn system() -> Result<(Vec<Shown>, Vec<Link>), StepError> {
    let (mut shown, mut links) = (Vec::new(), Vec::new());
    for path in SYSTEM.map(Path::new) {
        if let Ok(target) = std::fs::read_link(path) {
            links.push(Link { target, path: mounts::beneath_root(path).to_owned() });
        } else if let Ok(place) = mounts::place(path) {
            let tree = mounts::restricted_copy(place, mounts::READ_ONLY).during(Step::SystemView)?;
            shown.push(Shown { path: path.to_owned(), tree });
        }
    }
    Ok((shown, links))
}

fn roots(settings: &SpawnerSettings) -> Result<Vec<Shown>, StepError> {
    let writable = settings.roots.iter().map(|root| (root, mounts::READ_WRITE));
    let readable = settings.readonly_roots.iter().map(|root| (root, mounts::READ_ONLY));
    writable.chain(readable).map(|(root, attributes)| show_root(root, attributes)).collect()
}

/// The mount namespace was copied, so the handle leads to the old one: the path must lead to the same
/// directory here, or somebody moved it.
fn show_root(root: &Root, attributes: u64) -> Result<Shown, StepError> {
    let place = mounts::place(&root.path).during(Step::RootMoved)?;
    let (found, opened) = (fstat(&place), fstat(&root.handle));
    let (found, opened) = (found.during(Step::RootMoved)?, opened.during(Step::RootMoved)?);
    if (found.st_dev, found.st_ino) != (opened.st_dev, opened.st_ino) {
        return Err(StepError::from_errno(Step::RootMoved, libc::ESTALE));
    }
    let tree = mounts::restricted_copy(place, attributes).during(Step::RootView)?;
    Ok(Shown { path: root.path.clone(), tree })
}

fn skeleton(root: BorrowedFd<'_>, links: &[Link]) -> rustix::io::Result<()> {
    for directory in ["proc", "tmp", "var", ".denied"].map(Path::new) {
        mounts::make_directories(root, directory)?;
    }
    mounts::make_directories(root, mounts::beneath_root(Path::new(HOME)))?;
    symlinkat("/tmp", root, "var/tmp")?;
    for Link { target, path } in links {
        symlinkat(target, root, path)?;
    }
    let (file, directory) = (Path::new(MASKS.0), Path::new(MASKS.1));
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
    drop(openat(root, mounts::beneath_root(file), flags, Mode::empty())?);
    rustix::fs::mkdirat(root, mounts::beneath_root(directory), Mode::empty())
}

/// Attaches a tree at a path of the new root, making the directories that lead there.
fn attach(root: BorrowedFd<'_>, path: &Path, tree: impl AsFd) -> rustix::io::Result<()> {
    let path = mounts::beneath_root(path);
    mounts::make_directories(root, path)?;
    mounts::attach(tree, mounts::place_without_links(root, path)?)
}

fn leave_machine(root: &OwnedFd) -> rustix::io::Result<()> {
    fchdir(root)?;
    pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    chdir("/")
}
