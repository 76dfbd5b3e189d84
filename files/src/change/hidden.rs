//! Deleting hidden files by their names, with all below them: none of it is read or kept.
//!
//! Commands and the other tools see nothing of it, so this is the only way for a caller to free its space or
//! to remove the directory that it is in.

use std::fs::File;
use std::os::fd::AsFd as _;

use protocol::ToolError;
use rustix::io::Errno;
use toolkit::arguments::invalid;
use toolkit::{Call, PartialReason, Success};

use super::changer::Changer;
use super::delete::deleted;
use super::error::io_error;
use super::request::{ChangeData, ChangeRequest};
use crate::roots::{Entry, names};

/// How many entries are removed between two looks at the deadline.
const ENTRIES_PER_CHECK: usize = 1000;

impl Changer {
    pub(super) fn delete_hidden(
        &self,
        call: &Call,
        request: &ChangeRequest<'_>,
        entry: &Entry,
    ) -> Result<Success<ChangeData>, ToolError> {
        if request.expected_sha256.is_some() {
            return Err(invalid("The content of what is hidden is not compared with `expected_sha256`."));
        }
        if !request.dry_run {
            remove(call, entry).map_err(|stopped| match stopped {
                Stopped::ByCall(error) => error,
                Stopped::ByKernel(errno) => io_error(request.path, "deleted", &errno.into()),
            })?;
            let parent =
                entry.parent.try_clone().map_err(|error| io_error(request.path, "deleted", &error))?;
            self.sync(&File::from(parent)).map_err(|error| error.into_tool_error(request.path))?;
        }
        let shown = self.shown(call, request, &entry.path);
        let verb = if request.dry_run { "would be deleted" } else { "deleted" };
        let notice = "It is hidden (AUTONOUS_TOOL_DENY_PATHS), so nothing of it was read or kept: \
                      this cannot be undone.";
        Ok(Success {
            stdout: format!("{shown} {verb} with all that is in it\n"),
            partial: request.dry_run.then_some(PartialReason::DryRun),
            path_resolved: Some(names::path_to_text(&entry.path)),
            notices: vec![notice.to_owned()],
            data: deleted(request),
            ..Success::default()
        })
    }
}

enum Stopped {
    ByCall(ToolError),
    ByKernel(Errno),
}

impl From<Errno> for Stopped {
    fn from(errno: Errno) -> Self {
        Self::ByKernel(errno)
    }
}

fn remove(call: &Call, entry: &Entry) -> Result<(), Stopped> {
    let mut removed: usize = 0;
    sandbox::remove_tree(entry.parent.as_fd(), &entry.name, || {
        removed += 1;
        if removed.is_multiple_of(ENTRIES_PER_CHECK) {
            call.check().map_err(Stopped::ByCall)?;
        }
        Ok(())
    })
}
