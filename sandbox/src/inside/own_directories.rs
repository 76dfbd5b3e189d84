//! Divided roots: of each, a command of tier A sees only a directory of its own.
//!
//! Before the command is known, an empty file system in memory hides each root, so that nothing of the roots
//! is there. At the hand-over the command's own directories are attached in it. What belongs to others is not
//! hidden but absent, and so are its names.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, fstat, mkdirat};
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
    let hidden = spawner.settings.roots.iter().map(|root| hide(&root.path));
    hidden.collect::<io::Result<_>>().during(Step::OwnDirectories)
}

fn hide(path: &Path) -> io::Result<HiddenRoot> {
    let handle = mounts::open(path)?;
    let hiding = mounts::tmpfs(HIDING_BYTES, "0755")?;
    mounts::attach(&hiding, &handle)?;
    Ok(HiddenRoot { path: path.to_owned(), handle, hiding })
}

/// Shows the command's own directories in the hidden roots.
pub(super) fn show(hidden: &[HiddenRoot], own: &[OwnDirectory]) -> Result<(), StepError> {
    for root in hidden {
        for directory in own {
            if directory.path.parent() == Some(&root.path) {
                root.show(directory).during(Step::OwnDirectories)?;
            }
        }
        // The command could put files beside its directory otherwise.
        syscalls::set_mount_attributes(root.hiding.as_fd(), libc::MOUNT_ATTR_RDONLY, false)
            .during(Step::OwnDirectories)?;
    }
    Ok(())
}

impl HiddenRoot {
    fn show(&self, own: &OwnDirectory) -> io::Result<()> {
        let name = Path::new(own.path.file_name().ok_or(Errno::INVAL)?);
        let place = mounts::open_without_links(self.handle.as_fd(), name)?;
        let found = fstat(&place)?;
        if (found.st_dev, found.st_ino) != (own.device, own.inode) {
            return Err(Errno::STALE.into());
        }
        let tree = mounts::restricted_copy(place, mounts::READ_WRITE)?;
        mkdirat(&self.hiding, name, Mode::from_raw_mode(0o755))?;
        Ok(mounts::attach(tree, mounts::open_without_links(self.hiding.as_fd(), name)?)?)
    }
}
