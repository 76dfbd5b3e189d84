//! What is asked for because nothing reports it: directories of file systems without reports, and files that
//! are judged by their content.

use std::ffi::OsStr;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;

use files::roots::{is_public_at, may_be_certificate};
use rustix::io::Errno;

use super::super::file_system;
use super::super::tree::{Id, Identity};
use super::{Index, Stale, mark};

/// What may be a certificate is asked before each command whether it changed. Of more, all is hidden.
const MAX_JUDGED: usize = 2000;

impl Index {
    /// Asks directories that report nothing for their change time.
    pub(super) fn poll(&mut self) {
        for id in self.tree.polled() {
            self.check(id);
        }
    }

    /// Whether a file is a certificate depends on its content, of which there is no report.
    pub(super) fn poll_judged(&mut self) {
        let Self { judged, tree, roots, stale, .. } = self;
        judged.retain(|(id, name), before| {
            let Some(directory) = tree.get(*id) else { return false };
            let root = roots[directory.root].handle.as_fd();
            let now = file_system::identity(root, &tree.path(*id).join(name));
            if now != Ok(*before) || !file_system::has_settled(*before) {
                mark(stale, *id, name.clone());
            }
            true
        });
    }

    /// Whether a denied file is a certificate that everybody may see.
    pub(super) fn is_certificate(
        &mut self,
        id: Id,
        handle: &OwnedFd,
        name: &OsStr,
        identity: Identity,
    ) -> bool {
        if !may_be_certificate(name.as_bytes()) {
            return false;
        }
        let place = (id, name.to_owned());
        self.judged.remove(&place);
        if self.judged.len() >= MAX_JUDGED {
            return false;
        }
        self.judged.insert(place, identity);
        is_public_at(handle.as_fd(), name)
    }

    /// The same after a look, for what changed meanwhile.
    pub(super) fn poll_moved(&mut self) {
        for id in self.tree.polled() {
            let Some(directory) = self.tree.get(id) else { continue };
            let root = self.roots[directory.root].handle.as_fd();
            let now = file_system::identity(root, &self.tree.path(id));
            if now.is_ok_and(|now| directory.identity.is_some_and(|before| before != now)) {
                self.stale.insert(id, Stale::Everything);
            }
        }
    }

    /// Asks all directories: reports were lost.
    pub(super) fn check_all(&mut self) {
        tracing::debug!("too many changes at once: looking at every directory of the roots");
        for id in self.tree.ids() {
            self.check(id);
        }
    }

    pub(super) fn check(&mut self, id: Id) {
        let Some(directory) = self.tree.get(id) else { return };
        let root = self.roots[directory.root].handle.as_fd();
        let unchanged = match file_system::identity(root, &self.tree.path(id)) {
            Ok(now) => directory.settled && directory.identity == Some(now),
            // As before: it is hidden already.
            Err(Errno::ACCESS) => directory.unreadable,
            Err(_) => false,
        };
        if !unchanged {
            self.stale.insert(id, Stale::Everything);
        }
    }
}
