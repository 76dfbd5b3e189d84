//! The actions behind the buttons of the page. Each leads to the view that shows its result.

use std::sync::Arc;

use axum::Form;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use channel::Chat;
use page::encoded;
use page::frame::Notice;
use protocol::TaskId;
use serde::Deserialize;
use store::resend::{self, Which};
use store::schedules;

use super::error::PageError;
use crate::control::Control;
use crate::control::tasks::{cancel_task, requeue_task};
use crate::control::undo::{UndoRequest, undo as undo_changes};

/// Who asked, in the events.
const BY: &str = "page";

const UNDO_HINT: &str = "A file that has changed since is left alone.";

/// What the last action led to, in an address.
#[derive(Debug, Deserialize)]
pub(super) struct Told {
    #[serde(default)]
    notice: String,
}

impl Told {
    pub(super) fn notice(&self) -> Option<Notice> {
        Notice::named(&self.notice)
    }
}

/// Goes on to a view, which tells what was done: to `back` if that is an address of the page itself.
pub(super) fn back_to(back: &str, usual: &str, notice: Notice) -> Response {
    // `//host` would be another site.
    let is_ours = back.starts_with('/') && !back.starts_with("//") && !back.contains('\\');
    let address = if is_ours { back } else { usual };
    let (address, place) = address.split_once('#').unwrap_or((address, ""));
    let sign = if address.contains('?') { '&' } else { '?' };
    let place = if place.is_empty() { String::new() } else { format!("#{place}") };
    Redirect::to(&format!("{address}{sign}notice={}{place}", notice.name())).into_response()
}

#[derive(Debug, Deserialize)]
pub(super) struct Cancel {
    #[serde(default)]
    back: String,
}

pub(super) async fn cancel(
    State(control): State<Arc<Control>>,
    Path(id): Path<String>,
    Form(Cancel { back }): Form<Cancel>,
) -> Result<Response, PageError> {
    let task = task_of(&id)?;
    cancel_task(&control, &task, BY).await?;
    Ok(back_to(&back, &format!("/tasks/{}", encoded(&id)), Notice::Cancelling))
}

#[derive(Debug, Deserialize)]
pub(super) struct Again {
    #[serde(default)]
    force: bool,
    #[serde(default)]
    back: String,
}

pub(super) async fn requeue(
    State(control): State<Arc<Control>>,
    Path(id): Path<String>,
    Form(Again { force, back }): Form<Again>,
) -> Result<Response, PageError> {
    let task = task_of(&id)?;
    requeue_task(&control, &task, force, BY).await?;
    Ok(back_to(&back, &format!("/tasks/{}", encoded(&id)), Notice::Requeued))
}

#[derive(Debug, Deserialize)]
pub(super) struct Undo {
    /// A call or a task.
    id: String,
    #[serde(default)]
    back: String,
}

pub(super) async fn undo(
    State(control): State<Arc<Control>>,
    Form(Undo { id, back }): Form<Undo>,
) -> Result<Response, PageError> {
    let undone = undo_changes(&control, UndoRequest::Id(id)).await?;
    if !undone.refused.is_empty() {
        let message = undone.in_words(settings::language::Language::English);
        return Err(PageError::Refused(axum::http::StatusCode::CONFLICT, message, UNDO_HINT));
    }
    Ok(back_to(&back, "/files", Notice::Undone))
}

#[derive(Debug, Deserialize)]
pub(super) struct Resend {
    outbox_id: i64,
    #[serde(default)]
    back: String,
}

pub(super) async fn resend(
    State(control): State<Arc<Control>>,
    Form(Resend { outbox_id, back }): Form<Resend>,
) -> Result<Response, PageError> {
    let run = control.run.clone();
    let which = Which::OutboxId(outbox_id);
    control.store.write(move |tx| resend::resend(tx, &which, BY, &run)).await?;
    Ok(back_to(&back, "/tasks", Notice::Resent))
}

#[derive(Debug, Deserialize)]
pub(super) struct Schedule {
    id: String,
    /// The address of its chat.
    chat: String,
    #[serde(default)]
    back: String,
}

pub(super) async fn cancel_schedule(
    State(control): State<Arc<Control>>,
    Form(Schedule { id, chat, back }): Form<Schedule>,
) -> Result<Response, PageError> {
    let chat = Chat::at(&chat).ok_or_else(|| PageError::missing("chat"))?;
    let run = control.run.clone();
    let ended = control.store.write(move |tx| schedules::cancel(tx, &chat, &id, BY, &run, None)).await?;
    ended.ok_or_else(|| PageError::missing("schedule"))?;
    Ok(back_to(&back, "/schedules", Notice::ScheduleEnded))
}

fn task_of(id: &str) -> Result<TaskId, PageError> {
    id.parse().map_err(|_| PageError::missing("task"))
}

#[cfg(test)]
mod tests {
    use axum::http::header;

    use super::*;

    #[test]
    fn an_action_leads_to_our_own_pages_alone() {
        let location = |back: &str| {
            let response = back_to(back, "/tasks", Notice::Undone);
            response.headers()[header::LOCATION].to_str().unwrap().to_owned()
        };
        assert_eq!(location("/chat/main"), "/chat/main?notice=undone");
        assert_eq!(location("/tasks/1?page=2#tree"), "/tasks/1?page=2&notice=undone#tree");
        for other in ["", "https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"]
        {
            assert_eq!(location(other), "/tasks?notice=undone", "{other}");
        }
    }
}
