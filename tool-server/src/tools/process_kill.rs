//! `process_kill`: ends a background process with all its processes.

use std::time::Duration;

use cage::processes::{Process, Signal, Stop};
use protocol::journal::ProcessState;
use protocol::{Annotations, Risk};
use sandbox::Receivers;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolkit::{Call, Outcome, Slot, Success, Tool, touches_nothing};

use super::process_read::said;
use crate::tool_context::ToolContext;

/// How long a process may take to end before the answer says that it still runs.
const PATIENCE: Duration = Duration::from_secs(5);

/// Ends a background process with all that it has started.
///
/// # Details
///
/// Without `signal` the kernel kills all its processes at once, daemons included, and the answer comes when
/// they are gone. With one, each of them gets the signal, and the answer says after at most five seconds
/// whether the process has ended.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProcessKillArguments {
    /// As `bash` answered it.
    process_id: String,
    /// A signal for all its processes.
    #[serde(default)]
    signal: Option<SignalName>,
}

/// A signal that ends a program unless the program handles it.
#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
enum SignalName {
    Term,
    Int,
    Hup,
    Quit,
    Usr1,
    Usr2,
    Kill,
}

/// The state of the process.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct ProcessKillData {
    /// The process.
    process_id: String,
    /// Whether it runs.
    state: Option<ProcessState>,
    /// Its exit code; 128 and the number of the signal if one ended it; absent while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
}

pub(crate) struct ProcessKill(pub(super) ToolContext);

impl Tool for ProcessKill {
    type Arguments = ProcessKillArguments;
    type Data = ProcessKillData;
    const NAME: &'static str = "process_kill";
    const RISK: Risk = Risk::Medium;
    const ANNOTATIONS: Annotations = Annotations::ACTS;
    const SLOT: Slot = Slot::Process;

    fn example(&self) -> Value {
        json!({"process_id": "p-3f9a2c1e"})
    }

    fn is_offered(&self) -> bool {
        self.0.has_processes()
    }

    touches_nothing!();

    fn run(&self, arguments: ProcessKillArguments, call: &Call) -> Outcome<ProcessKillData> {
        let process = self.0.commands.processes().find(&call.scope, &arguments.process_id)?;
        end(&process, arguments.signal);
        process.ends_within(PATIENCE);
        let status = process.status();
        let mut notices = status.end.as_ref().map(|end| end.notices.clone()).unwrap_or_default();
        if status.state == ProcessState::Running {
            notices.push("It still runs. Without `signal` it cannot refuse to end.".to_owned());
        }
        let data = ProcessKillData {
            process_id: process.id.clone(),
            state: Some(status.state),
            exit_code: status.end.as_ref().map(|end| end.exit_code),
        };
        let stdout = format!("{}\n", said(&process.id, &status, status.last_seq));
        Ok(Success { data, stdout, notices, ..Success::default() })
    }
}

fn end(process: &Process, signal: Option<SignalName>) {
    let signal = match signal {
        None | Some(SignalName::Kill) => return process.stop(Stop::Asked),
        Some(SignalName::Term) => Signal::TERM,
        Some(SignalName::Int) => Signal::INT,
        Some(SignalName::Hup) => Signal::HUP,
        Some(SignalName::Quit) => Signal::QUIT,
        Some(SignalName::Usr1) => Signal::USR1,
        Some(SignalName::Usr2) => Signal::USR2,
    };
    process.signal(signal, Receivers::All);
}
