//! A target: a file that a call wants to change, held by the handle of its directory.
//!
//! Links are resolved inside the roots, and a change goes to what they lead to. A change uses only the
//! directory's handle and the last name, so swapping a directory in the meantime has no effect.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use protocol::{ErrorCode, ToolError};
use rustix::fs::{AtFlags, FileType, OFlags, fstat, statat, unlinkat};
use rustix::io::Errno;

use super::child::{make_child_directory, open_child_directory, open_without_links, or_here};
use super::error::{open_error, outside, path_denied, refused};
use super::open::{MAX_TRIES, Opened, Roots, lexically_clean};
use super::resolve;
use super::root::root_of;

/// What to do about a file that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// The call fails.
    Refuse,
    /// It is made.
    MakeParents,
    /// Only say what would be created.
    Plan,
}

/// The place of a file that a call changes.
#[derive(Debug)]
pub struct Target {
    /// The absolute path, with links resolved.
    pub path: PathBuf,
    pub(crate) name: OsString,
    /// The directory; none when it does not exist and is only planned.
    pub(crate) parent: Option<OwnedFd>,
    /// The file, opened for reading; none when it does not exist.
    pub(crate) existing: Option<OwnedFd>,
    /// Directories created for it, outermost first, each by its parent and name.
    made: Vec<(OwnedFd, OsString)>,
}

impl Target {
    /// How many directories were created for it.
    pub(crate) fn directories_made(&self) -> usize {
        self.made.len()
    }

    /// Removes the directories that were created for a failed change.
    pub(crate) fn unmake_parents(&self) {
        for (parent, name) in self.made.iter().rev() {
            if unlinkat(parent, name, AtFlags::REMOVEDIR).is_err() {
                return;
            }
        }
    }
}

impl Roots {
    /// Finds a regular file that a call wants to change.
    pub fn target(&self, path: &str, missing: Missing) -> Result<Target, ToolError> {
        let (root, beneath) = self.place(path)?;
        if path.ends_with('/') || lexically_clean(&beneath).as_os_str().is_empty() {
            return Err(open_error(path, Errno::ISDIR));
        }
        self.permit_change(path, &self.in_rules(root, &lexically_clean(&beneath)))?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let mut tries = 0;
        loop {
            let found = match self.open_settled(path, root, &beneath, flags) {
                Ok(opened) => self.existing_target(path, opened),
                Err(error) if error.code == ErrorCode::NotFound && missing != Missing::Refuse => {
                    return self.new_target(path, root, &beneath, missing);
                }
                Err(error) => return Err(self.with_near_names(path, root, &beneath, error)),
            };
            tries += 1;
            match found {
                // It was replaced while it was opened; the new file is the one to change.
                Err(error) if error.code == ErrorCode::Conflict && tries < MAX_TRIES => {}
                settled => return settled,
            }
        }
    }

    /// A token that may only read changes nothing, whatever tool it finds for that.
    fn require_writable(&self) -> Result<(), ToolError> {
        if !self.are_read_only {
            return Ok(());
        }
        Err(ToolError::new(ErrorCode::ToolNotAllowed, "This token may only read (`read_only`)."))
    }

    /// Refuses denied paths and control files.
    pub(super) fn permit_change(&self, path: &str, beneath: &Path) -> Result<(), ToolError> {
        self.require_writable()?;
        if self.rules.denied.covers(beneath) {
            return Err(path_denied(path));
        }
        if self.rules.protected.covers(beneath) {
            let why = "is a control file: other programs run what it says";
            return Err(refused(ErrorCode::ProtectedPath, path, why));
        }
        Ok(())
    }

    /// The same for a path that is resolved: what git reads and runs is known by where it is.
    fn permit_resolved(&self, path: &str, beneath: &Path, resolved: &Path) -> Result<(), ToolError> {
        self.permit_change(path, beneath)?;
        self.permit_for_git(path, resolved)
    }

    fn existing_target(&self, path: &str, opened: Opened) -> Result<Target, ToolError> {
        let stat = fstat(&opened.handle).map_err(|errno| open_error(path, errno))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory => return Err(open_error(path, Errno::ISDIR)),
            _ => return Err(open_error(path, Errno::NXIO)),
        }
        self.permit_resolved(path, &self.path_in_rules(&opened), &opened.path)?;
        let parent = self.parent_of(&opened.path).map_err(|errno| open_error(path, errno))?;
        let name = opened.path.file_name().ok_or_else(|| outside(path))?.to_owned();
        let is_still_there = statat(&parent, &name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|there| (there.st_dev, there.st_ino) == (stat.st_dev, stat.st_ino));
        if !is_still_there {
            return Err(refused(ErrorCode::Conflict, path, "was replaced while it was opened"));
        }
        Ok(Target {
            path: opened.path,
            name,
            parent: Some(parent),
            existing: Some(opened.handle),
            made: Vec::new(),
        })
    }

    /// The directory of a path without links, opened without following any.
    fn parent_of(&self, path: &Path) -> Result<OwnedFd, Errno> {
        let parent = path.parent().ok_or(Errno::XDEV)?;
        let (root, beneath) = root_of(&self.roots, parent).ok_or(Errno::XDEV)?;
        open_without_links(&self.roots[root].handle, or_here(&beneath), DIRECTORY)
    }

    fn new_target(
        &self,
        path: &str,
        root: usize,
        beneath: &Path,
        missing: Missing,
    ) -> Result<Target, ToolError> {
        let Some(Component::Normal(name)) = beneath.components().next_back() else {
            return Err(open_error(path, Errno::NOENT));
        };
        let parent = beneath.parent().unwrap_or(Path::new(""));
        let (existing, rest) =
            self.deepest_directory(root, parent).map_err(|errno| open_error(path, errno))?;
        let existing = self.identify(existing).ok_or_else(|| outside(path))?;
        let rest_of_path = rest.join(name);
        let beneath = self.path_in_rules(&existing).join(&rest_of_path);
        let resolved = existing.path.join(&rest_of_path);
        // The directories that are made belong to the change.
        let _held = self.hold_git_changes(&[&resolved]);
        self.permit_resolved(path, &beneath, &resolved)?;
        let mut target = Target {
            path: resolved.clone(),
            name: name.to_owned(),
            parent: None,
            existing: None,
            made: Vec::new(),
        };
        if rest.as_os_str().is_empty() {
            if statat(&existing.handle, name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                return Err(dangling(path));
            }
            target.parent = Some(existing.handle);
        } else if missing == Missing::MakeParents {
            let parent = make_directories(existing.handle, &rest, &mut target.made);
            match parent {
                Ok(parent) => target.parent = Some(parent),
                Err(errno) => {
                    target.unmake_parents();
                    return Err(if errno == Errno::EXIST { dangling(path) } else { open_error(path, errno) });
                }
            }
        }
        Ok(target)
    }

    /// The deepest directory of a path that exists, and the names below it that do not.
    pub(super) fn deepest_directory(&self, root: usize, beneath: &Path) -> Result<(OwnedFd, PathBuf), Errno> {
        for ancestor in beneath.ancestors() {
            match resolve::open_beneath(&self.roots, root, ancestor, DIRECTORY) {
                Ok(directory) => {
                    let rest = beneath.strip_prefix(ancestor).unwrap_or(beneath);
                    let plain = rest
                        .components()
                        .all(|name| matches!(name, Component::Normal(_) | Component::CurDir));
                    return plain.then(|| (directory, rest.components().collect())).ok_or(Errno::NOENT);
                }
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno),
            }
        }
        Err(Errno::NOENT)
    }
}

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

fn make_directories(
    mut directory: OwnedFd,
    names: &Path,
    made: &mut Vec<(OwnedFd, OsString)>,
) -> Result<OwnedFd, Errno> {
    for name in names {
        // Somebody else may have created it; anything but a directory fails in the next line.
        let is_new = make_child_directory(&directory, name, 0o777)?;
        let child = open_child_directory(directory.as_fd(), name).map_err(|errno| match errno {
            Errno::LOOP | Errno::NOTDIR => Errno::EXIST,
            other => other,
        })?;
        if is_new {
            made.push((directory, name.to_owned()));
        }
        directory = child;
    }
    Ok(directory)
}

fn dangling(path: &str) -> ToolError {
    refused(ErrorCode::NotFound, path, "leads through a link to nothing")
        .with_hint("Name the file itself instead of the link.")
}

/// Something beneath a root, by its directory and name; a link is not followed.
#[derive(Debug)]
pub struct Entry {
    /// The absolute path; all but its last name has its links resolved.
    pub(crate) path: PathBuf,
    pub(crate) parent: OwnedFd,
    pub(crate) name: OsString,
    pub(crate) file_type: FileType,
}

impl Entry {
    fn of(parent: Opened, name: &OsStr) -> Result<Self, Errno> {
        let stat = statat(&parent.handle, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let file_type = FileType::from_raw_mode(stat.st_mode);
        Ok(Self { path: parent.path.join(name), parent: parent.handle, name: name.to_owned(), file_type })
    }
}

impl Roots {
    /// Finds what a path names that is denied, to be deleted unread; none for any other path.
    pub(crate) fn hidden_entry(&self, path: &str) -> Result<Option<Entry>, ToolError> {
        let (root, beneath) = self.place(path)?;
        let Some(Component::Normal(name)) = beneath.components().next_back() else { return Ok(None) };
        let parent = beneath.parent().unwrap_or(Path::new(""));
        let Ok(parent) = resolve::open_beneath(&self.roots, root, parent, DIRECTORY) else { return Ok(None) };
        let parent = self.identify(parent).ok_or_else(|| outside(path))?;
        let (beneath, resolved) = (self.path_in_rules(&parent).join(name), parent.path.join(name));
        self.require_writable()?;
        if !self.rules.denied.covers(&beneath) {
            return Ok(None);
        }
        if self.rules.protected.covers(&beneath) {
            return Err(refused(ErrorCode::ProtectedPath, path, "is a control file"));
        }
        self.permit_for_git(path, &resolved)?;
        Entry::of(parent, name).map(Some).map_err(|errno| open_error(path, errno))
    }

    /// Finds what a path names, without following a link at its end. A root itself is not an entry.
    pub(crate) fn entry(&self, path: &str) -> Result<Entry, ToolError> {
        let (root, beneath) = self.place(path)?;
        self.permit_change(path, &self.in_rules(root, &lexically_clean(&beneath)))?;
        let Some(Component::Normal(name)) = beneath.components().next_back() else {
            let message = "A root, or a path that ends in `..`, cannot be deleted.";
            return Err(ToolError::new(ErrorCode::InvalidArgument, message));
        };
        let parent = beneath.parent().unwrap_or(Path::new(""));
        let near = |errno| self.with_near_names(path, root, &beneath, open_error(path, errno));
        let parent = resolve::open_beneath(&self.roots, root, parent, DIRECTORY).map_err(near)?;
        let parent = self.identify(parent).ok_or_else(|| outside(path))?;
        self.permit_change(path, &self.path_in_rules(&parent).join(name))?;
        Entry::of(parent, name).map_err(near)
    }
}
