//! `/files` and `/get`: the files of the workspace. The tool server alone reads files, so they are only noted
//! here, and `file_requests.rs` asks it.

use store::StoreError;
use store::file_requests::{self, FileRequest, Kind};
use store::sql::Connection;

use super::Context;

pub(super) fn note(
    connection: &Connection,
    context: &Context<'_>,
    kind: Kind,
    path: &str,
) -> Result<(), StoreError> {
    let (task, chat) = (context.task.clone(), context.chat.clone());
    file_requests::add(connection, &FileRequest { task, chat, kind, path: path.to_owned() })?;
    context.file_requests.notify_one();
    Ok(())
}
