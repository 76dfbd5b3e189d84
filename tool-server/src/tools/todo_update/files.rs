//! The files of the to-do lists: read as they are, changed as one.

use files::change::NewFile;
use files::roots::Roots;
use protocol::hash::sha256;
use protocol::{ErrorCode, SessionId, ToolError};
use serde_json::Value;
use toolkit::Call;
use toolkit::contacts;

use super::list::{Kind, List};
use crate::state_files;
use crate::tool_context::ToolContext;

/// Both lists, and what they were when they were read.
pub(super) struct Lists {
    pub(super) open: List,
    pub(super) done: List,
    before: [Option<String>; 2],
}

/// The files as a call's session sees them.
pub(super) struct Files<'a> {
    pub(super) context: &'a ToolContext,
    pub(super) roots: &'a Roots,
    pub(super) call: &'a Call,
}

/// The files that a call with this action reads or changes.
pub(super) fn named(action: &Value) -> &'static [&'static str] {
    const ALL: [&str; 3] = [Kind::Open.file(), Kind::Done.file(), contacts::ACTIVE];
    // To complete an item takes no contact.
    if action == "complete" { &ALL[..2] } else { &ALL }
}

impl Files<'_> {
    pub(super) fn read(&self) -> Result<Lists, ToolError> {
        let before = [
            state_files::text(self.roots, Kind::Open.file())?,
            state_files::text(self.roots, Kind::Done.file())?,
        ];
        let list = |kind, text: &Option<String>| List::parse(kind, text.as_deref().unwrap_or_default());
        let (open, done) = (list(Kind::Open, &before[0]), list(Kind::Done, &before[1]));
        Ok(Lists { open, done, before })
    }

    /// Writes what differs; false if the files are not what they were any more.
    pub(super) fn write(&self, lists: &Lists) -> Result<bool, ToolError> {
        // A done item is on its list before it leaves the other.
        let files =
            [(Kind::Done, &lists.done, &lists.before[1]), (Kind::Open, &lists.open, &lists.before[0])];
        let new = |(kind, list, before): (Kind, &List, &Option<String>)| {
            let content = list.text();
            let is_changed = *before.as_deref().unwrap_or_default() != content;
            let sha256_before = before.as_ref().map(|text| sha256(text.as_bytes()));
            is_changed.then(|| NewFile { path: state_files::path(kind.file()), content, sha256_before })
        };
        let changed: Vec<NewFile> = files.into_iter().filter_map(new).collect();
        match self.context.changer.change_several(self.call, &changed) {
            Ok(()) => Ok(true),
            Err(error) if error.code == ErrorCode::Conflict => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// The chat of a session, as lists name it: only Telegram's have a number.
pub(super) fn chat_of(session: &SessionId) -> Option<String> {
    let mut parts = session.as_str().split(':');
    let (channel, chat) = (parts.next()?, parts.next()?);
    let number: i64 = chat.parse().ok().filter(|number| *number != 0)?;
    (channel == "telegram").then(|| format!("tg:{number}"))
}
