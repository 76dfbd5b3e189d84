//! `/calls/{id}`: one tool call; and `/calls/{id}/output`: all that it printed.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Html;
use page::{KeptOfCall, OutputPart, Place, call_page, is_cut, output_page};
use protocol::journal::ARGUMENTS_DIRECTORY;
use serde::Deserialize;
use store::changes;
use store::queries::audit::{self, Call};

use super::Page;
use super::error::PageError;
use super::read::read;
use super::show::still;
use crate::control::Control;

/// More of the arguments is not shown.
const MOST_ARGUMENTS: usize = 1 << 20;

pub(super) async fn get_call(
    State(control): State<Arc<Control>>,
    Extension(page): Extension<Arc<Page>>,
    Path(id): Path<String>,
) -> Result<Html<String>, PageError> {
    let call = find(&control, id).await?;
    let kept = KeptOfCall {
        arguments: whole_arguments(&control, &call).await,
        undo: undo_of(&control, &call).await,
        has_output: has_output(&page, &call).await,
    };
    Ok(still(&format!("Call of {}", call.tool_name), Place::Tasks, &call_page(&call, &kept)))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Shown {
    part: u64,
}

pub(super) async fn get_output(
    State(control): State<Arc<Control>>,
    Extension(page): Extension<Arc<Page>>,
    Path(id): Path<String>,
    Query(Shown { part }): Query<Shown>,
) -> Result<Html<String>, PageError> {
    let call = find(&control, id).await?;
    let part = output(&page, &call, part).await?;
    Ok(still(&format!("Output of {}", call.tool_name), Place::Tasks, &output_page(&call, &part)))
}

async fn find(control: &Control, id: String) -> Result<Call, PageError> {
    let found = read(control, move |connection| audit::one_call(connection, &id)).await?;
    found.ok_or_else(|| PageError::missing("call"))
}

/// A part of all that a call printed.
async fn output(page: &Page, call: &Call, number: u64) -> Result<OutputPart, PageError> {
    let absent = |message: &str, hint| PageError::Refused(StatusCode::NOT_FOUND, message.to_owned(), hint);
    if call.status == "running" {
        return Err(absent("The call has not ended, so its output is not there yet.", "Look again later."));
    }
    let Some(name) = output_file(call) else {
        return Err(absent("No more of this output is kept.", "The page of the call shows what there is."));
    };
    match page.outputs.part(&name, number).await {
        Ok(Some(part)) => Ok(part),
        Ok(None) => {
            let hint = "Outputs are kept for a week, and not as long where there are many.";
            Err(absent("The whole output is not kept any more.", hint))
        }
        Err(error) => {
            tracing::error!(%error, call_id = call.id, "could not read a kept output");
            let message = "The output could not be read.".to_owned();
            Err(PageError::Refused(StatusCode::INTERNAL_SERVER_ERROR, message, "See the supervisor's log."))
        }
    }
}

/// Whether a file has all that the call printed.
async fn has_output(page: &Page, call: &Call) -> bool {
    let Some(name) = output_file(call) else { return false };
    page.outputs.has(&name).await
}

fn output_file(call: &Call) -> Option<String> {
    call.ended()?.output_file.clone()
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
    if !is_cut(ended) || !ended.change.as_ref().is_some_and(|change| change.can_be_undone) {
        return None;
    }
    let id = call.id.clone();
    let found = read(control, move |connection| Ok(changes::of_call(connection, &id)?));
    let change = found.await.ok()??;
    control.undoer.preview(&change).await
}
