//! `/undo`: reverts the file changes of the chat's last task that made any. The tool server alone has
//! the files, so it is only noted here which task it is, and `file_requests.rs` asks it. A message that is
//! answered twice undoes the same task.

use store::StoreError;
use store::changes::{LastChanged, last_in_chat};
use store::file_requests::Kind;
use store::sql::Connection;
use texts::Text;

use super::{Context, files};

/// The answer, if there is nothing to undo.
pub(super) fn note(connection: &Connection, context: &Context<'_>) -> Result<Option<String>, StoreError> {
    match last_in_chat(connection, context.chat)? {
        LastChanged::Task(task) => {
            files::note(connection, context, Kind::Undo, task.as_str())?;
            Ok(None)
        }
        LastChanged::Running => Ok(Some(Text::UndoNotEnded.to(context.language))),
        LastChanged::None => Ok(Some(Text::UndoNothing.to(context.language))),
    }
}
