//! `/calls/{id}`: one tool call.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Html;
use page::{Frame, Place, call_page, document};
use protocol::journal::{ARGUMENTS_DIRECTORY, OUTPUT_TEXT_BYTES};
use store::changes;
use store::queries::audit::{self, Call};

use super::error::PageError;
use super::read::read;
use crate::control::Control;

/// More of the arguments is not shown.
const MOST_ARGUMENTS: usize = 1 << 20;

pub(super) async fn get_call(
    State(control): State<Arc<Control>>,
    Path(id): Path<String>,
) -> Result<Html<String>, PageError> {
    let found = read(&control, move |connection| audit::one_call(connection, &id)).await?;
    let call = found.ok_or_else(|| PageError::missing("call"))?;
    let arguments = whole_arguments(&control, &call).await;
    let undo = undo_of(&control, &call).await;
    let view = call_page(&call, arguments.as_deref(), undo.as_deref());
    let title = format!("Call of {}", call.tool_name);
    let frame = Frame { title: &title, place: Place::Tasks, live: None, notice: None };
    Ok(Html(document(&frame, &view).into_string()))
}

/// All arguments of a call whose event has shortened ones, from the journal.
async fn whole_arguments(control: &Control, call: &Call) -> Option<String> {
    let name = call.arguments_file.as_ref()?;
    if !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let file = control.journal.with_file_name(ARGUMENTS_DIRECTORY).join(name);
    let mut text = tokio::fs::read_to_string(file).await.ok()?;
    let end = text.floor_char_boundary(MOST_ARGUMENTS.min(text.len()));
    text.truncate(end);
    Some(text)
}

/// The diff of an undo, where the event has only the beginning of the change's own.
async fn undo_of(control: &Control, call: &Call) -> Option<String> {
    let ended = call.ended()?;
    let is_whole = ended.output_text.len() < OUTPUT_TEXT_BYTES;
    if is_whole || !ended.change.as_ref().is_some_and(|change| change.can_be_undone) {
        return None;
    }
    let id = call.id.clone();
    let found = read(control, move |connection| Ok(changes::of_call(connection, &id)?));
    let change = found.await.ok()??;
    control.undoer.preview(&change).await
}
