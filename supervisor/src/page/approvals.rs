//! `/approvals`: the calls that wait for a person, and what was decided.

use std::sync::Arc;
use std::time::Duration;

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::response::{Html, Response};
use maud::Markup;
use page::frame::Notice;
use page::{Frame, Place, approval_card};
use protocol::now_ms;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::timeout;
use toolkit::approvals::{Approval, ApprovalState};

use super::actions::{Told, back_to};
use super::error::PageError;
use super::show::{shown, still};
use crate::control::Control;
use crate::control::approvals::decide_as;
use crate::control::error::ControlError;

/// A page does not wait longer for the tool server.
const PATIENCE: Duration = Duration::from_secs(3);

/// So many decisions are listed.
const MOST_DECIDED: usize = 100;

const BY: &str = "the page";

/// Without a token.
pub(super) async fn get_approvals(
    State(control): State<Arc<Control>>,
    Query(told): Query<Told>,
) -> Result<Html<String>, PageError> {
    let all = list(&control, "").await?;
    let (waiting, mut decided): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|one| one.state == ApprovalState::Pending);
    decided.reverse();
    decided.truncate(MOST_DECIDED);
    let view = page::approvals(&waiting, &decided, now_ms());
    let live = Some("/live/approvals");
    let frame = Frame { title: "Approvals", place: Place::Approvals, live, notice: told.notice() };
    Ok(shown(&frame, &view))
}

#[derive(Debug, Deserialize)]
pub(super) struct Reveal {
    #[serde(default)]
    reveal: bool,
}

/// Without a token.
pub(super) async fn get_approval(
    State(control): State<Arc<Control>>,
    Path(id): Path<String>,
    Query(Reveal { reveal }): Query<Reveal>,
) -> Result<Html<String>, PageError> {
    let request = control.approvals.about(Method::GET, &id).ok_or(ControlError::NoSuchApproval)?;
    let request = if reveal { request.query(&[("reveal", "true")]) } else { request };
    let answer = request.timeout(PATIENCE).send().await.map_err(|_| ControlError::NoToolServer)?;
    let answer = answer.error_for_status().map_err(|_| ControlError::NoSuchApproval)?;
    let approval: Approval = answer.json().await.map_err(|_| ControlError::NoToolServer)?;
    let title = format!("Approval of {}", approval.tool);
    Ok(still(&title, Place::Approvals, &approval_card(&approval, now_ms())))
}

/// The part of the view that changes.
pub(super) async fn parts(control: &Control) -> Result<Vec<(&'static str, Markup)>, PageError> {
    let waiting = pending(control).await?;
    Ok(vec![("part-waiting", page::waiting_cards(&waiting, now_ms()))])
}

/// The calls that wait, oldest first.
pub(super) async fn pending(control: &Control) -> Result<Vec<Approval>, PageError> {
    list(control, "?state=pending").await
}

async fn list(control: &Control, query: &str) -> Result<Vec<Approval>, PageError> {
    let listed = timeout(PATIENCE, control.approvals.list(query)).await;
    Ok(listed.ok().and_then(Result::ok).ok_or(ControlError::NoToolServer)?)
}

/// What a form about an approval says.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Decision {
    /// `once`, `task`, `chat`, `answer` or `deny`.
    choice: String,
    option: String,
    answer: String,
    reason: String,
    back: String,
}

pub(super) async fn decide(
    State(control): State<Arc<Control>>,
    Path(id): Path<String>,
    Form(decision): Form<Decision>,
) -> Result<Response, PageError> {
    let body = body(&decision)?;
    let answer = decide_as(&control, &id, body, BY).await?;
    if answer.status().is_success() {
        return Ok(back_to(&decision.back, "/approvals", Notice::Decided));
    }
    let status = answer.status();
    let envelope: Value = answer.json().await.unwrap_or_default();
    let message = envelope["meta"]["error"]["message"].as_str().unwrap_or("The tool server refused.");
    let hint = "Somebody else may have decided, or its time was over.";
    let status = axum::http::StatusCode::from_u16(status.as_u16()).unwrap_or_default();
    Err(PageError::Refused(status, message.to_owned(), hint))
}

fn body(decision: &Decision) -> Result<Map<String, Value>, PageError> {
    let Decision { choice, option, answer, reason, .. } = decision;
    let body = match choice.as_str() {
        "" if !option.is_empty() => json!({"decision": "grant", "answer": option}),
        "answer" => json!({"decision": "grant", "answer": answer}),
        "once" => json!({"decision": "grant"}),
        "task" | "chat" => json!({"decision": "grant", "scope": choice}),
        "deny" => json!({"decision": "deny"}),
        _ => {
            let message = "The form says neither yes nor no.";
            return Err(PageError::invalid(message, "Use the buttons of the page."));
        }
    };
    let mut body = body.as_object().cloned().unwrap_or_default();
    if !reason.trim().is_empty() {
        body.insert("reason".to_owned(), reason.trim().into());
    }
    Ok(body)
}
