//! Roots of which a command of tier A sees only directories of its own.
//!
//! An empty file system in memory hides each root, so that nothing of the roots is there, and the command's
//! own directories are attached in it. What belongs to others is not hidden but absent, and so are its names.
//! Divided roots are hidden before the command is known, and it gets its directories at the hand-over. A
//! command that alone is kept to parts of the roots has a sandbox made for it.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::fstat;
use rustix::io::Errno;

use super::context::SpawnerContext;
use super::mounts;
use crate::command::OwnDirectory;
use crate::step::{During as _, Step, StepError};
use crate::syscalls;

/// Enough for a mount point.
const HIDING_BYTES: u64 = 64 << 10;

/// A root that is hidden.
pub(super) struct HiddenRoot {
    path: PathBuf,
    /// The root itself, opened before it was hidden.
    handle: OwnedFd,
    /// What hides it.
    hiding: OwnedFd,
}

/// Hides the roots, if they are divided.
pub(super) fn hide_roots(spawner: &SpawnerContext<'_>) -> Result<Vec<HiddenRoot>, StepError> {
    if !spawner.settings.divided {
        return Ok(Vec::new());
    }
    let hidden = spawner.settings.roots.iter().map(|root| hide(&root.path, mounts::open(&root.path)?));
    hidden.collect::<io::Result<_>>().during(Step::OwnDirectories)
}

/// Leaves only these directories of the roots.
pub(super) fn narrow(spawner: &SpawnerContext<'_>, own: &[OwnDirectory]) -> Result<(), StepError> {
    let paths: Vec<&PathBuf> = spawner.settings.roots.iter().map(|root| &root.path).collect();
    // One that lies in another is hidden with that.
    let is_top = |path: &&&PathBuf| !paths.iter().any(|other| other != *path && path.starts_with(other));
    for path in paths.iter().filter(is_top) {
        let handle = mounts::open(path).during(Step::OwnDirectories)?;
        let own = own.iter().filter_map(|own| Some((own, own.path.strip_prefix(path).ok()?)));
        // A copy of the root itself would have what hides it, too.
        let trees = own.map(|(own, beneath)| Ok((copy(&handle, own, beneath)?, beneath)));
        let trees = trees.collect::<io::Result<Vec<_>>>().during(Step::OwnDirectories)?;
        let hidden = hide(path, handle).during(Step::OwnDirectories)?;
        for (tree, beneath) in trees {
            hidden.attach(&tree, beneath).during(Step::OwnDirectories)?;
        }
        hidden.close().during(Step::OwnDirectories)?;
    }
    Ok(())
}

fn hide(path: &Path, handle: OwnedFd) -> io::Result<HiddenRoot> {
    let hiding = mounts::tmpfs(HIDING_BYTES, "0755")?;
    mounts::attach(&hiding, &handle)?;
    Ok(HiddenRoot { path: path.to_owned(), handle, hiding })
}

/// Shows the command's own directories in the hidden roots.
pub(super) fn show(hidden: &[HiddenRoot], own: &[OwnDirectory]) -> Result<(), StepError> {
    for root in hidden {
        for directory in own {
            if let Ok(beneath) = directory.path.strip_prefix(&root.path) {
                let tree = copy(&root.handle, directory, beneath).during(Step::OwnDirectories)?;
                root.attach(&tree, beneath).during(Step::OwnDirectories)?;
            }
        }
        root.close().during(Step::OwnDirectories)?;
    }
    Ok(())
}

/// A copy of a directory this far below a root, or of the root itself, with the rights that the command has.
fn copy(root: &OwnedFd, own: &OwnDirectory, beneath: &Path) -> io::Result<OwnedFd> {
    let place = mounts::open_without_links(root.as_fd(), name_of(beneath))?;
    let found = fstat(&place)?;
    if (found.st_dev, found.st_ino) != (own.device, own.inode) {
        return Err(Errno::STALE.into());
    }
    mounts::restricted_copy(place, if own.read_only { mounts::READ_ONLY } else { mounts::READ_WRITE })
}

/// A path that can be opened below a directory.
fn name_of(beneath: &Path) -> &Path {
    if beneath.as_os_str().is_empty() { Path::new(".") } else { beneath }
}

impl HiddenRoot {
    fn attach(&self, tree: &OwnedFd, beneath: &Path) -> io::Result<()> {
        mounts::make_directories(self.hiding.as_fd(), beneath)?;
        Ok(mounts::attach(tree, mounts::open_without_links(self.hiding.as_fd(), name_of(beneath))?)?)
    }

    /// The command could put files beside its directories otherwise.
    fn close(&self) -> io::Result<()> {
        syscalls::set_mount_attributes(self.hiding.as_fd(), libc::MOUNT_ATTR_RDONLY, false)
    }
}
