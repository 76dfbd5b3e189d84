//! `supervisor approvals`, `approve`, `deny` and `answer`: through the running supervisor.

use clap::{Args, ValueEnum};
use jiff::Timestamp;
use protocol::approval::{ApprovalDecision, ApprovalScope};
use protocol::now_ms;
use serde::Deserialize;
use serde_json::{Value, json};
use store::queries::short_id::shown;
use texts::Language;
use toolkit::approvals::{Approval, ApprovalState, Decided};

use super::control_client::ControlClient;
use super::error::CommandError;
use crate::terminal::{Colour, Column, Screen, Table};
use settings::Span;
use supervisor::age::since;
use supervisor::approvals::words;
use supervisor::data_dir::DataDir;

#[derive(Debug, Args)]
pub(crate) struct ApprovalsArguments {
    /// Also those that were decided or have expired.
    #[arg(long)]
    pub all: bool,
    /// Only those that were decided or have expired, newest last: who decided, when and how.
    #[arg(long, conflicts_with_all = ["all", "id"])]
    pub decided: bool,
    /// One of them with its whole call, by the beginning or end of its ID.
    #[arg(value_name = "ID")]
    pub id: Option<String>,
    /// With an ID: show what the question hides of secrets.
    #[arg(long, requires = "id")]
    pub reveal: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ApproveArguments {
    /// The approval, by the beginning or end of its ID.
    #[arg(value_name = "ID")]
    pub id: String,
    /// What it covers.
    #[arg(long, value_enum, default_value_t = Scope::Call)]
    pub scope: Scope,
    /// For how long it covers the chat, such as 2h or 1d.
    #[arg(long, value_name = "SPAN")]
    pub until: Option<Span>,
}

#[derive(Debug, Args)]
pub(crate) struct DenyArguments {
    /// The approval, by the beginning or end of its ID.
    #[arg(value_name = "ID")]
    pub id: String,
    /// Why; the model reads it.
    #[arg(long)]
    pub reason: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AnswerArguments {
    /// The question, by the beginning or end of its ID.
    #[arg(value_name = "ID")]
    pub id: String,
    /// The answer: one of its options, the number of one, or your own words where it takes them.
    #[arg(value_name = "ANSWER")]
    pub answer: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    /// This call, once.
    Call,
    /// Calls of this tool in its task.
    Task,
    /// Calls of this tool in its chat.
    Chat,
}

#[derive(Deserialize)]
struct List {
    approvals: Vec<Value>,
}

pub(super) async fn show(
    data: &DataDir,
    arguments: &ApprovalsArguments,
    screen: Screen,
) -> Result<String, CommandError> {
    let client = ControlClient::new(data)?;
    let path = match arguments {
        ApprovalsArguments { decided: true, .. } => "?state=decided",
        ApprovalsArguments { all: true, .. } | ApprovalsArguments { id: Some(_), .. } => "",
        _ => "?state=pending",
    };
    let List { approvals } = client.send(client.get(&format!("/approvals{path}"))).await?;
    if let Some(id) = &arguments.id {
        let mut found = resolve(&approvals, id)?.clone();
        if arguments.reveal {
            let id = found["id"].as_str().unwrap_or_default();
            found = client.send(client.get(&format!("/approvals/{id}?reveal=true"))).await?;
        }
        return Ok(match (arguments.json, parsed(&found)) {
            (false, Some(approval)) => words::described(&approval),
            (true, _) | (_, None) => found.to_string(),
        });
    }
    if arguments.json {
        return Ok(json!({"approvals": approvals}).to_string());
    }
    let approvals: Vec<Approval> = approvals.iter().filter_map(parsed).collect();
    Ok(match (approvals.is_empty(), arguments.decided) {
        (true, true) => "Nothing was decided.".to_owned(),
        (true, false) => "Nothing waits for a decision.".to_owned(),
        (false, _) => table(&approvals, screen),
    })
}

const COLUMNS_OF_APPROVALS: &[Column] = &[
    Column::text("ID", 8),
    Column::text("STATE", 8),
    Column::number("SINCE", 5),
    Column::text("SESSION", 20),
    Column::text("CALL", 0),
];

fn table(approvals: &[Approval], screen: Screen) -> String {
    let (mut table, now) = (Table::new(COLUMNS_OF_APPROVALS), now_ms());
    for approval in approvals {
        let row = [
            shown(approval.id.as_str()).to_owned(),
            approval.state.name().to_owned(),
            since(approval.created_at_ms, now),
            approval.session.as_str().to_owned(),
            words::in_a_line(approval),
        ];
        table.row(row.map(|cell| (cell, None)));
        if let Some(decided) = &approval.decision {
            table.note(Colour::Faint, &in_words(decided));
        }
    }
    if !approvals.iter().any(|approval| approval.state == ApprovalState::Pending) {
        return table.lines(screen.columns, screen.paint).join("\n");
    }
    table.note(Colour::Faint, "Decide with `supervisor approve ID` or `supervisor deny ID --reason …`.");
    if approvals.iter().any(|approval| approval.question.is_some()) {
        table.note(Colour::Faint, "Answer a question with `supervisor answer ID ANSWER`.");
    }
    table.lines(screen.columns, screen.paint).join("\n")
}

/// Who decided, when and how.
fn in_words(decided: &Decided) -> String {
    let how = match (decided.decision, decided.scope) {
        (ApprovalDecision::Grant, ApprovalScope::Task) => "granted for the task",
        (ApprovalDecision::Grant, ApprovalScope::Chat) => "granted for the chat",
        (ApprovalDecision::Grant, ApprovalScope::Call) => "granted",
        (ApprovalDecision::Deny, _) => "denied",
    };
    let by = decided.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
    let at = Timestamp::from_millisecond(decided.decided_at_ms);
    let at = at.map(|at| at.strftime(" at %Y-%m-%d %H:%M UTC").to_string()).unwrap_or_default();
    let reason = decided.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let answer = decided.answer.as_ref().map(|answer| format!(", answered {answer:?}")).unwrap_or_default();
    format!("{how}{by}{at}{answer}{reason}")
}

pub(super) async fn approve(data: &DataDir, arguments: &ApproveArguments) -> Result<String, CommandError> {
    let scope = match arguments.scope {
        Scope::Call => ApprovalScope::Call,
        Scope::Task => ApprovalScope::Task,
        Scope::Chat => ApprovalScope::Chat,
    };
    let mut decision = json!({"decision": ApprovalDecision::Grant, "scope": scope});
    if let Some(span) = &arguments.until {
        decision["until_ms"] = (2 * now_ms() - span.before(now_ms())).into();
    }
    decide(data, &arguments.id, decision).await
}

pub(super) async fn deny(data: &DataDir, arguments: &DenyArguments) -> Result<String, CommandError> {
    let mut decision = json!({"decision": ApprovalDecision::Deny});
    if let Some(reason) = &arguments.reason {
        decision["reason"] = reason.as_str().into();
    }
    decide(data, &arguments.id, decision).await
}

pub(super) async fn answer(data: &DataDir, arguments: &AnswerArguments) -> Result<String, CommandError> {
    let decision = json!({"decision": ApprovalDecision::Grant, "answer": arguments.answer});
    decide(data, &arguments.id, decision).await
}

async fn decide(data: &DataDir, id: &str, mut decision: Value) -> Result<String, CommandError> {
    let client = ControlClient::new(data)?;
    let List { approvals } = client.send(client.get("/approvals")).await?;
    let id = resolve(&approvals, id)?["id"].as_str().unwrap_or_default().to_owned();
    decision["by"] = "the command line".into();
    let decided: Approval = client.send(client.post(&format!("/approvals/{id}")).json(&decision)).await?;
    Ok(words::outcome(&decided, Language::English))
}

/// The one approval whose ID begins or ends so.
fn resolve<'a>(approvals: &'a [Value], given: &str) -> Result<&'a Value, CommandError> {
    let given = given.to_ascii_lowercase();
    let is_it = |approval: &&Value| {
        let id = approval["id"].as_str().unwrap_or_default();
        id.starts_with(&given) || id.ends_with(&given)
    };
    let mut found = approvals.iter().filter(is_it);
    match (found.next(), found.next()) {
        (Some(one), None) if !given.is_empty() => Ok(one),
        (Some(_), _) => {
            Err(CommandError::Refused(format!("several approvals match {given:?}: give more of it")))
        }
        (None, _) => Err(CommandError::Refused(format!(
            "no such approval: {given}. `supervisor approvals --all` lists them"
        ))),
    }
}

fn parsed(approval: &Value) -> Option<Approval> {
    serde_json::from_value(approval.clone()).ok()
}
