//! `supervisor audit`: which calls were made, what changed a file, what a task ran, which were refused.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use progress_line::LateLine;
use protocol::approval::ApprovalScope;
use protocol::journal::ARGUMENTS_DIRECTORY;
use protocol::{ErrorCode, SessionId, now_ms};
use serde_json::json;
use store::queries::asked::{AskedAbout, Decision};
use store::queries::audit::{Call, Filter, Question, calls};
use store::queries::short_id::shown;
use store::queries::{self, QueryError};

use crate::terminal::{Colour, Column, Screen, Table};
use settings::Span;
use supervisor::data_dir::DataDir;

/// How many changed lines are shown below a change.
const LINES_SHOWN: usize = 4;

const HASH_SHOWN: usize = 12;

#[derive(Debug, Args)]
#[group(skip)]
pub(crate) struct AuditArguments {
    /// Show what changed this file: tool, task, hashes and the first changed lines.
    ///
    /// A relative path also matches any file whose path ends with it. Only the file tools record paths: to
    /// see what a command (bash) changed, look at its task.
    #[arg(long, value_name = "PATH")]
    pub file: Option<PathBuf>,
    /// Show what this task ran.
    #[arg(long, value_name = "TASK", conflicts_with = "file")]
    pub task: Option<String>,
    /// Show which calls were refused, and why.
    #[arg(long, conflicts_with_all = ["file", "task"])]
    pub refused: bool,
    /// Only calls that a person was asked about, with this end of the question.
    #[arg(long, value_enum, value_name = "DECISION")]
    pub decision: Option<Asked>,
    /// Only calls of this tool.
    #[arg(long, value_name = "TOOL")]
    pub tool: Option<String>,
    /// Only calls for this chat: its session, such as telegram:4711, or its ID alone.
    #[arg(long, value_name = "CHAT", allow_hyphen_values = true)]
    pub chat: Option<String>,
    /// Only calls of this last time span, such as 12h or 30d.
    #[arg(long, value_name = "SPAN")]
    pub since: Option<Span>,
    /// Show this many of the newest.
    #[arg(long, value_name = "NUMBER", default_value_t = 50,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// Print JSON: an array of calls with arguments, status and results.
    #[arg(long)]
    pub json: bool,
}

/// How the question about a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Asked {
    /// A person said yes.
    Granted,
    /// A person said no.
    Denied,
    /// No answer came in time.
    Expired,
    /// It has no answer yet.
    Waits,
}

impl From<Asked> for Decision {
    fn from(asked: Asked) -> Self {
        match asked {
            Asked::Granted => Self::Granted,
            Asked::Denied => Self::Denied,
            Asked::Expired => Self::Expired,
            Asked::Waits => Self::Waits,
        }
    }
}

const CALL_COLUMNS: &[Column] = &[
    Column::text("WHEN (UTC)", 16),
    Column::text("TASK", 8),
    Column::text("TOOL", 10),
    Column::text("RESULT", 18),
    Column::text("WHAT", 0),
];

/// The text to print; `file` is the path of `--file` made absolute, as it stands and with links resolved.
pub(super) fn run(
    data: &DataDir,
    arguments: &AuditArguments,
    file: &[PathBuf],
    screen: Screen,
) -> Result<String, QueryError> {
    let _line = LateLine::new("Reading the database");
    let connection = queries::open(data.database())?;
    let filter = Filter {
        since_ms: arguments.since.map_or(i64::MIN, |span| span.before(now_ms())),
        tool: arguments.tool.clone(),
        chat: arguments.chat.clone(),
        decision: arguments.decision.map(Decision::from),
        limit: arguments.limit,
    };
    let calls = calls(&connection, &question(arguments, file), &filter)?;
    if arguments.json {
        return Ok(super::pretty(&json!(calls)));
    }
    Ok(report(&calls, arguments.file.is_some(), screen))
}

fn question(arguments: &AuditArguments, file: &[PathBuf]) -> Question {
    match (&arguments.file, &arguments.task) {
        (Some(given), _) => Question::File {
            absolute: file.iter().map(|path| path.display().to_string()).collect(),
            end: given.is_relative().then(|| without_dot(given)),
        },
        (None, Some(task)) => Question::Task(task.clone()),
        (None, None) if arguments.refused => Question::Refused,
        (None, None) => Question::All,
    }
}

fn without_dot(path: &Path) -> String {
    path.strip_prefix(".").unwrap_or(path).display().to_string()
}

fn report(calls: &[Call], is_about_a_file: bool, screen: Screen) -> String {
    if calls.is_empty() {
        return "No matching calls.".to_owned();
    }
    let mut table = Table::new(CALL_COLUMNS);
    for call in calls {
        let (result, colour) = result(call);
        table.row([
            (call.started_at.clone(), None),
            (call.task_id.as_deref().map_or("-", shown).to_owned(), None),
            (call.tool_name.clone(), None),
            (result, Some(colour)),
            (what(call), None),
        ]);
        if let Some(name) = &call.arguments_file {
            table.note(Colour::Faint, &format!("all arguments: journal/{ARGUMENTS_DIRECTORY}/{name}"));
        }
        match (&call.approval, call.error()) {
            (Some(asked), _) if asked.decision == Decision::Granted => {
                table.note(Colour::Faint, &decided(asked));
            }
            (asked, error) => {
                error.iter().for_each(|error| table.note(colour, error));
                asked.iter().for_each(|asked| table.note(Colour::Faint, &decided(asked)));
            }
        }
        if is_about_a_file {
            add_change(&mut table, call);
        }
    }
    table.lines(screen.columns, screen.paint).join("\n")
}

/// Who decided about a call, when and how.
fn decided(asked: &AskedAbout) -> String {
    let how = match (asked.decision, asked.scope) {
        (Decision::Granted, Some(ApprovalScope::Task)) => "granted for the task",
        (Decision::Granted, Some(ApprovalScope::Chat)) => "granted for the chat",
        (Decision::Granted, _) => "granted",
        (Decision::Denied, _) => "denied",
        (Decision::Expired, _) => "no decision came in time",
        (Decision::Waits, _) => "waits for a decision",
    };
    let by = asked.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
    let at = asked.decided_at.as_ref().map(|at| format!(" at {at}")).unwrap_or_default();
    let reason = asked.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("{how}{by}{at}{reason}")
}

/// How the call ended, in a word.
fn result(call: &Call) -> (String, Colour) {
    let is_first = |code: &str| code == ErrorCode::ApprovalRequired.as_str();
    let failure = call.ended().and_then(|end| end.failure.as_ref());
    let code = failure.map(|failure| failure.error_code.as_str());
    match call.approval.as_ref().filter(|_| code.is_some_and(is_first)).map(|asked| asked.decision) {
        Some(Decision::Granted) => return ("waited: granted".to_owned(), Colour::Good),
        Some(Decision::Waits) => return ("waits".to_owned(), Colour::Doubtful),
        Some(Decision::Denied) => return ("waited: denied".to_owned(), Colour::Bad),
        Some(Decision::Expired) => return ("waited: expired".to_owned(), Colour::Bad),
        None => {}
    }
    let operation = call.ended().and_then(|end| end.change.as_ref()).map(|change| &change.operation);
    match call.status {
        "done" => (operation.cloned().unwrap_or_else(|| "done".to_owned()), Colour::Good),
        "failed" => (code.unwrap_or("failed").to_owned(), Colour::Bad),
        other => (other.to_owned(), Colour::Doubtful),
    }
}

/// What was called: the one argument that says it, or all of them.
fn what(call: &Call) -> String {
    let argument = |name: &str| call.arguments.get(name)?.as_str().map(str::to_owned);
    let resolved = || call.ended()?.path_resolved.clone();
    let replayed = || call.replayed_call_id.as_ref().map(|first| format!("answer of call {first}"));
    argument("cmd")
        .or_else(|| argument("path"))
        .or_else(resolved)
        .or_else(replayed)
        .unwrap_or_else(|| json!(call.arguments).to_string())
}

/// The hashes before and after, and the first lines that differ.
fn add_change(table: &mut Table<'_>, call: &Call) {
    let Some(end) = call.ended() else { return };
    let hash = |hash: &Option<String>| {
        hash.as_deref().map_or_else(|| "none".to_owned(), |hash| hash.chars().take(HASH_SHOWN).collect())
    };
    if let Some(change) = &end.change {
        let session = call.session_id.as_ref().map_or("none", SessionId::as_str);
        let hashes = format!("sha256 {} to {}", hash(&change.sha256_before), hash(&change.sha256_after));
        table.note(Colour::Faint, &format!("{hashes}, session {session}"));
    }
    for line in end.output_text.lines().filter(|line| differs(line)).take(LINES_SHOWN) {
        table.note(if line.starts_with('+') { Colour::Good } else { Colour::Bad }, line);
    }
}

/// Whether a line of a unified difference is one that differs.
fn differs(line: &str) -> bool {
    line.starts_with(['+', '-']) && !line.starts_with("+++ ") && !line.starts_with("--- ")
}

#[cfg(test)]
mod tests {
    use protocol::journal::CallChange;
    use store::fixture::{call_completed, call_started};

    use super::*;
    use crate::terminal::width;

    #[test]
    fn a_change_is_told_with_hashes_and_the_lines_that_differ() {
        let mut completed = call_completed("--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n");
        completed.call.change = Some(CallChange {
            operation: "update".to_owned(),
            sha256_before: Some("a".repeat(64)),
            sha256_after: Some("b".repeat(64)),
            can_be_undone: true,
            undone_call_id: None,
        });
        let started = call_started("edit", "日本語/notes-with-a-long-name-that-does-not-fit.txt").call;
        let call = Call {
            id: "c".to_owned(),
            task_id: Some("01939b3e-0000-7000-8000-0000deadbeef".to_owned()),
            session_id: Some("telegram:7".parse().unwrap()),
            started_at_ms: 0,
            started_at: "1970-01-01 00:00".to_owned(),
            tool_name: started.tool_name,
            arguments: started.arguments,
            arguments_sha256: None,
            arguments_file: started.arguments_file,
            replayed_call_id: None,
            status: "done",
            end: Some(completed.into()),
            approval: None,
        };
        let text = report(&[call], true, Screen::PLAIN);
        assert!(text.lines().all(|line| width::of(line) <= Screen::PLAIN.columns), "{text}");
        for expected in ["update", "sha256 aaaaaaaaaaaa to bbbbbbbbbbbb, session telegram:7", "-old", "+new"]
        {
            assert!(text.contains(expected), "{expected}:\n{text}");
        }
        assert!(!text.contains("+++"), "{text}");
    }
}
