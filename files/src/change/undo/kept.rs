//! One change on its way: kept before it is made, forgotten again if it is not.

use std::os::fd::OwnedFd;

use protocol::now_ms;
use toolkit::Call;

use super::contents::FileToKeep;
use super::record::{Change, ChangeRecord};
use super::store::{NotKept, UndoStore};
use crate::roots::names;

/// Forgets its change when dropped, unless that was made.
#[derive(Debug)]
pub(crate) struct KeptChange<'a> {
    store: &'a UndoStore,
    call: &'a Call,
    kept: Result<(), NotKept>,
    made: bool,
}

/// What a caller reads about its change.
#[derive(Debug, Default)]
pub(crate) struct Undoable {
    pub(crate) can_be_undone: bool,
    pub(crate) notice: Option<String>,
}

impl<'a> KeptChange<'a> {
    /// Keeps what the change at this path replaces; `file` is the file that is replaced or removed.
    pub(crate) fn keep(
        store: &'a UndoStore,
        call: &'a Call,
        path: &std::path::Path,
        change: Change,
        file: Option<(&OwnedFd, &std::ffi::OsStr, &OwnedFd)>,
    ) -> Self {
        let record = ChangeRecord {
            call_id: call.id.clone(),
            session_id: call.scope.session().clone(),
            token_sha256: call.token_sha256.clone(),
            time_ms: now_ms(),
            path: names::path_to_text(path),
            kept_in: None,
            change,
        };
        let to_keep = record.change.kept().zip(file).map(|(kept, (parent, name, file))| FileToKeep {
            parent,
            name,
            file,
            sha256: &kept.sha256,
        });
        let kept = store.keep(&record, to_keep.as_ref());
        if let Err(NotKept::Failed(error)) = &kept {
            tracing::warn!(call_id = %call.id, %error, "what a change replaces could not be kept");
        }
        Self { store, call, kept, made: false }
    }

    /// A change that cannot be undone.
    pub(crate) fn impossible(store: &'a UndoStore, call: &'a Call, why: NotKept) -> Self {
        Self { store, call, kept: Err(why), made: false }
    }

    /// The change is made.
    pub(crate) fn made(mut self) -> Undoable {
        self.made = true;
        let notice = match &self.kept {
            Ok(()) | Err(NotKept::Off) => None,
            Err(NotKept::TooLarge) => Some("is larger than AUTONOUS_UNDO_MAX_MB"),
            Err(NotKept::Failed(_)) => Some("could not be kept"),
        };
        Undoable {
            can_be_undone: self.kept.is_ok(),
            notice: notice.map(|why| format!("This change cannot be undone: what was there {why}.")),
        }
    }
}

impl Drop for KeptChange<'_> {
    fn drop(&mut self) {
        if self.kept.is_ok() && !self.made {
            self.store.forget(&self.call.id);
        }
    }
}
