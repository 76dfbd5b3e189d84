//! Path resolution: one `openat2` beneath a root, and a manual walk only for what that call refuses.
//!
//! `RESOLVE_BENEATH` refuses every absolute link, even one that points back inside a root. Those are
//! followed here, component by component, at most [`MAX_LINKS`] of them. Each step is again an `openat2`
//! that follows nothing, so swapping a directory for a link gains an attacker nothing.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::child::or_here;
use super::root::{Root, root_of};

/// How many links we follow ourselves.
const MAX_LINKS: usize = 8;

/// How often we retry a resolution that lost a race against a rename.
const MAX_TRIES: usize = 8;

/// Opens `beneath` the root `root`, or beneath another root that an absolute link leads into.
pub(super) fn open_beneath(
    roots: &[Root],
    root: usize,
    beneath: &Path,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    let mut last = Errno::XDEV;
    for _ in 0..MAX_TRIES {
        match open_kernel(&roots[root], beneath, flags, ResolveFlags::empty()) {
            Err(Errno::AGAIN) => last = Errno::AGAIN,
            Err(Errno::XDEV) => match follow_links(roots, root, beneath, flags) {
                Err(raced @ (Errno::AGAIN | Errno::XDEV | Errno::LOOP)) => last = raced,
                settled => return settled,
            },
            settled => return settled,
        }
    }
    Err(if last == Errno::AGAIN { Errno::XDEV } else { last })
}

fn open_kernel(root: &Root, beneath: &Path, flags: OFlags, more: ResolveFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | more;
    rustix::fs::openat2(&root.handle, or_here(beneath), flags, Mode::empty(), resolve)
}

/// Walks the path and replaces each link by its target, then opens the result without following any link.
fn follow_links(roots: &[Root], root: usize, beneath: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut walk = Walk { root, done: PathBuf::new(), todo: steps(beneath).collect(), links: 0 };
    while let Some(step) = walk.todo.pop_front() {
        walk.take(roots, step)?;
    }
    open_kernel(&roots[walk.root], &walk.done, flags, ResolveFlags::NO_SYMLINKS)
}

struct Walk {
    root: usize,
    done: PathBuf,
    todo: VecDeque<OsString>,
    links: usize,
}

impl Walk {
    fn take(&mut self, roots: &[Root], step: OsString) -> Result<(), Errno> {
        if step == ".." {
            return if self.done.pop() { Ok(()) } else { Err(Errno::XDEV) };
        }
        let next = self.done.join(&step);
        let Some(target) = read_link(&roots[self.root], &next, self.todo.is_empty())? else {
            self.done = next;
            return Ok(());
        };
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Errno::LOOP);
        }
        let rest = std::mem::take(&mut self.todo);
        if target.is_absolute() {
            let (root, beneath) = root_of(roots, &target).ok_or(Errno::XDEV)?;
            self.root = root;
            self.done = PathBuf::new();
            self.todo = steps(&beneath).chain(rest).collect();
        } else {
            self.todo = steps(&target).chain(rest).collect();
        }
        Ok(())
    }
}

/// The target, if the path beneath the root is a link. An absent last step is none: it can be created.
fn read_link(root: &Root, beneath: &Path, is_last: bool) -> Result<Option<PathBuf>, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = match open_kernel(root, beneath, flags, ResolveFlags::empty()) {
        Err(Errno::NOENT) if is_last => return Ok(None),
        settled => settled?,
    };
    let stat = rustix::fs::fstat(&handle)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
        return Ok(None);
    }
    let target = rustix::fs::readlinkat(&handle, "", Vec::new())?;
    Ok(Some(PathBuf::from(OsStr::from_bytes(target.as_bytes()))))
}

fn steps(path: &Path) -> impl Iterator<Item = OsString> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    })
}
