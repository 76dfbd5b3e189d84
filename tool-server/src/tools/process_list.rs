//! `process_list`: the background processes of the session.

use protocol::journal::ProcessState;
use protocol::{Annotations, Risk, now_ms};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolkit::{Call, Outcome, Slot, Success, Tool, touches_nothing};

use crate::tool_context::ToolContext;

/// Lists your background processes, and how each ended.
///
/// # Details
///
/// Those of the session, oldest first: all that run, and the last that have ended.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProcessListArguments {
    /// Whether to leave out those that have ended.
    #[serde(default)]
    running: bool,
}

/// The background processes of the session.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct ProcessListData {
    /// Oldest first.
    processes: Vec<Listed>,
}

/// A background process.
#[derive(Debug, Serialize, JsonSchema)]
struct Listed {
    /// Its ID.
    process_id: String,
    /// Whether it runs.
    state: ProcessState,
    /// Its exit code; absent while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    /// What it runs, shortened.
    command: String,
    /// When it began, in milliseconds since the Unix epoch.
    started_ms: i64,
    /// How long it has run, in milliseconds.
    duration_ms: u64,
    /// How much it has written.
    output_bytes: u64,
}

pub(crate) struct ProcessList(pub(super) ToolContext);

impl Tool for ProcessList {
    type Arguments = ProcessListArguments;
    type Data = ProcessListData;
    const NAME: &'static str = "process_list";
    const RISK: Risk = Risk::Low;
    const ANNOTATIONS: Annotations = Annotations::READS;
    const SLOT: Slot = Slot::Process;

    fn example(&self) -> Value {
        json!({})
    }

    fn is_offered(&self) -> bool {
        self.0.has_processes()
    }

    touches_nothing!();

    fn run(&self, arguments: ProcessListArguments, call: &Call) -> Outcome<ProcessListData> {
        let listed = self.0.commands.processes().list(&call.scope).into_iter().map(|process| {
            let status = process.status();
            let so_far = u64::try_from(now_ms() - process.started_ms).unwrap_or(0);
            Listed {
                process_id: process.id.clone(),
                state: status.state,
                exit_code: status.end.as_ref().map(|end| end.exit_code),
                command: process.about.command.clone(),
                started_ms: process.started_ms,
                duration_ms: status.end.map_or(so_far, |end| end.duration_ms),
                output_bytes: status.output_bytes,
            }
        });
        let is_shown = |one: &Listed| !arguments.running || one.state == ProcessState::Running;
        let data = ProcessListData { processes: listed.filter(is_shown).collect() };
        let stdout = data.processes.iter().map(line).collect();
        Ok(Success { data, stdout, ..Success::default() })
    }
}

fn line(process: &Listed) -> String {
    let Listed { process_id, command, duration_ms, .. } = process;
    let state = match (process.state, process.exit_code) {
        (ProcessState::Running, _) | (_, None) => "running".to_owned(),
        (ProcessState::Exited, Some(code)) => format!("exited {code}"),
        (ProcessState::Killed, Some(_)) => "killed".to_owned(),
        (ProcessState::TimedOut, Some(_)) => "timed out".to_owned(),
    };
    format!("{process_id}\t{state}\t{} s\t{command}\n", duration_ms / 1000)
}
