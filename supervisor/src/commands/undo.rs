//! `/undo`: reverts the file changes of the chat's last task that made any. The tool server alone has
//! the files, so it is only noted here which task it is, and `file_requests.rs` asks it. A message that is
//! answered twice undoes the same task.

use rusqlite::Connection;
use store::StoreError;
use store::changes::{LastChanged, last_in_chat};
use store::file_requests::Kind;

use super::{Context, files};

pub(super) const USAGE: &str = "/undo takes back what the last task changed in files; nothing follows it.";

/// The answer, if there is nothing to undo.
pub(super) fn note(connection: &Connection, context: &Context<'_>) -> Result<Option<String>, StoreError> {
    match last_in_chat(connection, context.chat)? {
        LastChanged::Task(task) => {
            files::note(connection, context, Kind::Undo, task.as_str())?;
            Ok(None)
        }
        LastChanged::Running => Ok(Some(
            "A task that changed files has not ended. Wait for it, or /stop it, then /undo.".to_owned(),
        )),
        LastChanged::None => Ok(Some(
            "There is nothing to undo: no task of this chat changed a file in the last week, other than by \
             commands."
                .to_owned(),
        )),
    }
}
