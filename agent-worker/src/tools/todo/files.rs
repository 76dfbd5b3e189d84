//! The files of the to-do lists, at the tool server: read as they are, changed as one.

use process::workspaces::STATE_ROOT;
use protocol::hash::sha256;
use protocol::{ErrorCode, SessionId, Task, ToolError};
use serde_json::json;
use std::path::Path;
use toolkit::Call;
use toolkit::contacts::{self, Contacts};

use super::list::{Kind, List};
use crate::tools::link::TaskLink;

/// A longer file is no list.
const MAX_BYTES: usize = 1 << 20;

/// Both lists, and what they were when they were read.
pub(super) struct Lists {
    pub(super) open: List,
    pub(super) done: List,
    before: [Option<String>; 2],
}

/// Where the files of a task are.
pub(super) struct Files<'a> {
    pub(super) link: &'a TaskLink,
    pub(super) call: &'a Call,
    /// The `state` root.
    pub(super) root: &'a str,
}

/// The `state` root of a task, among its roots: each chat may have its own directory in it.
pub(crate) fn state_root(task: &Task) -> Option<String> {
    let own = task.session_id.directory_name();
    let is_state = |root: &&String| {
        let path = Path::new(root);
        let parent = path.parent().and_then(Path::file_name);
        path.ends_with(STATE_ROOT)
            || (path.ends_with(&own) && parent.is_some_and(|parent| parent == STATE_ROOT))
    };
    task.roots.iter().find(is_state).cloned()
}

impl Files<'_> {
    pub(super) fn read(&self) -> Result<Lists, ToolError> {
        let before = [self.text(Kind::Open.file())?, self.text(Kind::Done.file())?];
        let list = |kind, text: &Option<String>| List::parse(kind, text.as_deref().unwrap_or_default());
        let (open, done) = (list(Kind::Open, &before[0]), list(Kind::Done, &before[1]));
        Ok(Lists { open, done, before })
    }

    /// The contacts that can be written to; none without a file.
    pub(super) fn contacts(&self) -> Result<Contacts, ToolError> {
        Ok(self.text(contacts::ACTIVE)?.map_or_else(Contacts::default, |text| Contacts::parse(&text)))
    }

    /// Writes what differs; false if the files are not what they were any more.
    pub(super) fn write(&self, lists: &Lists) -> Result<bool, ToolError> {
        // What is done is on its list before it leaves the other.
        let files =
            [(Kind::Done, &lists.done, &lists.before[1]), (Kind::Open, &lists.open, &lists.before[0])];
        let changed = files.iter().filter(|(_, list, before)| before.as_deref() != Some(&list.text()));
        let changed: Vec<_> = changed
            .filter(|(_, list, before)| before.is_some() || !list.text().is_empty())
            .map(|(kind, list, before)| {
                let hash = before.as_ref().map(|text| sha256(text.as_bytes()));
                json!({"path": self.path(kind.file()), "content": list.text(), "sha256_before": hash})
            })
            .collect();
        if changed.is_empty() {
            return Ok(true);
        }
        match self.link.change_files(self.call, json!({"files": changed})) {
            Ok(()) => Ok(true),
            // An answer may have been lost on its way, and the request have come twice.
            Err(error) if error.code == ErrorCode::Conflict => {
                let now = self.read()?;
                Ok(now.open == lists.open && now.done == lists.done)
            }
            Err(error) => Err(error),
        }
    }

    fn text(&self, name: &str) -> Result<Option<String>, ToolError> {
        let path = self.path(name);
        let Some(bytes) = self.link.read_file(self.call, &path)? else { return Ok(None) };
        if bytes.len() > MAX_BYTES {
            let message = format!("{path:?} has more than {MAX_BYTES} bytes, so it is no list.");
            return Err(
                ToolError::new(ErrorCode::FileTooLarge, message).with_hint("Ask the user to shorten it.")
            );
        }
        String::from_utf8(bytes)
            .map(Some)
            .map_err(|_| ToolError::new(ErrorCode::BinaryFile, format!("{path:?} is not text in UTF-8.")))
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.root.trim_end_matches('/'))
    }
}

/// The chat of a session, as lists name it: only Telegram's have a number.
pub(super) fn chat_of(session: &SessionId) -> Option<String> {
    let mut parts = session.as_str().split(':');
    let (channel, chat) = (parts.next()?, parts.next()?);
    let number: i64 = chat.parse().ok().filter(|number| *number != 0)?;
    (channel == "telegram").then(|| format!("tg:{number}"))
}
