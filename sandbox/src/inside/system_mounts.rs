//! The file tree that all commands of tier A share: a fresh root with the directories of a list alone.
//!
//! It is built once, in the spawner's own mount namespace, and then made read-only; each command gets a
//! copy of these few mounts and adds its private ones. The rest of the machine is not hidden but absent: no
//! path leads there.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, fstat, symlinkat};
use rustix::mount::{MountPropagationFlags, UnmountFlags, mount_change, unmount};
use rustix::process::{chdir, fchdir, pivot_root};

use super::{devices, etc::Etc, mounts};
use crate::command::HOME;
use crate::settings::{Root, SpawnerSettings};
use crate::step::{During as _, Step, StepError};
use crate::syscalls;

/// Enough for the few files of `/etc` and the mount points.
const ROOT_BYTES: u64 = 8 << 20;

/// The directories of programs and libraries. Links among them stay links.
pub(super) const SYSTEM_DIRECTORIES: [&str; 7] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/// An empty file and an empty directory without permissions; they are mounted over denied names.
pub(super) const MASKS: (&str, &str) = ("/.denied/file", "/.denied/directory");

/// A path and the tree to attach there.
type Mount = (PathBuf, OwnedFd);

/// A path and its link target.
type Link = (&'static Path, PathBuf);

/// Builds the tree and makes it the root, leaving the machine's own tree.
pub(super) fn set_up_and_pivot(settings: &SpawnerSettings) -> Result<(), StepError> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .during(Step::MountPrivate)?;
    let (system, links) = system()?;
    let mut trees = roots(settings)?;
    trees.extend(system);
    // A directory must be attached before the mounts inside it.
    trees.sort_by_key(|(path, _)| path.as_os_str().len());
    let proc = mounts::open(Path::new("/proc")).and_then(mounts::copy).during(Step::Proc)?;
    let devices = devices::copies().during(Step::DeviceView)?;
    let etc = Etc::read(settings.network)?;

    let root = mounts::tmpfs(ROOT_BYTES, "0755").during(Step::Pivot)?;
    let mount_point = mounts::open(Path::new("/proc")).during(Step::Pivot)?;
    mounts::attach(&root, mount_point).during(Step::Pivot)?;
    create_mount_points(root.as_fd(), &links).during(Step::SystemView)?;
    devices::show(root.as_fd(), &devices).during(Step::DeviceView)?;
    etc.show(root.as_fd()).during(Step::EtcView)?;
    attach(root.as_fd(), Path::new("/proc"), &proc).during(Step::Proc)?;
    for (path, tree) in &trees {
        attach(root.as_fd(), path, tree).during(Step::RootView)?;
    }
    leave_machine(&root).during(Step::Pivot)?;
    syscalls::set_mount_attributes(root.as_fd(), mounts::READ_ONLY, false).during(Step::SealView)
}

/// The system's directories, and its links.
fn system() -> Result<(Vec<Mount>, Vec<Link>), StepError> {
    let (mut trees, mut links) = (Vec::new(), Vec::new());
    for path in SYSTEM_DIRECTORIES.map(Path::new) {
        if let Ok(target) = std::fs::read_link(path) {
            links.push((path, target));
        } else if let Ok(place) = mounts::open(path) {
            let tree = mounts::restricted_copy(place, mounts::READ_ONLY).during(Step::SystemView)?;
            trees.push((path.to_owned(), tree));
        }
    }
    Ok((trees, links))
}

fn roots(settings: &SpawnerSettings) -> Result<Vec<Mount>, StepError> {
    let writable = settings.roots.iter().map(|root| (root, mounts::READ_WRITE));
    let readable = settings.readonly_roots.iter().map(|root| (root, mounts::READ_ONLY));
    writable.chain(readable).map(|(root, attributes)| root_tree(root, attributes)).collect()
}

/// The handle belongs to the old mount namespace, so the path is opened again here. It must be the same
/// directory, or somebody moved it.
fn root_tree(root: &Root, attributes: u64) -> Result<Mount, StepError> {
    let place = mounts::open(&root.path).during(Step::RootMoved)?;
    let (found, opened) = (fstat(&place), fstat(&root.handle));
    let (found, opened) = (found.during(Step::RootMoved)?, opened.during(Step::RootMoved)?);
    if (found.st_dev, found.st_ino) != (opened.st_dev, opened.st_ino) {
        return Err(StepError::new(Step::RootMoved, libc::ESTALE));
    }
    let tree = mounts::restricted_copy(place, attributes).during(Step::RootView)?;
    Ok((root.path.clone(), tree))
}

fn create_mount_points(root: BorrowedFd<'_>, links: &[Link]) -> rustix::io::Result<()> {
    for directory in ["proc", "tmp", "var", ".denied"].map(Path::new) {
        mounts::make_directories(root, directory)?;
    }
    mounts::make_directories(root, mounts::relative(Path::new(HOME)))?;
    symlinkat("/tmp", root, "var/tmp")?;
    for (path, target) in links {
        symlinkat(target, root, mounts::relative(path))?;
    }
    let (file, directory) = (Path::new(MASKS.0), Path::new(MASKS.1));
    mounts::create_file(root, mounts::relative(file), Mode::empty())?;
    rustix::fs::mkdirat(root, mounts::relative(directory), Mode::empty())
}

/// Attaches a tree at a path of the new root, and creates the directories that lead there.
fn attach(root: BorrowedFd<'_>, path: &Path, tree: impl AsFd) -> rustix::io::Result<()> {
    let path = mounts::relative(path);
    mounts::make_directories(root, path)?;
    mounts::attach(tree, mounts::open_without_links(root, path)?)
}

fn leave_machine(root: &OwnedFd) -> rustix::io::Result<()> {
    fchdir(root)?;
    pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    chdir("/")
}
