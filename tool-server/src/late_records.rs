//! What the journal has of commands whose calls were answered before: of those whose server was killed, and
//! of background processes that ended.

use std::sync::Arc;

use cage::command;
use cage::control_files::{GuardedCall, LeftBehind, Recovered};
use cage::processes::OnEnd;
use protocol::ErrorCode;
use protocol::journal::{BackgroundProcessEnded, CallEnded, CallFailure, ProcessState};
use toolkit::Recorder as _;
use toolkit::runner::CallIds;

use crate::journal::Journal;

/// Records what the command of a killed server left behind, as the end of its call.
pub(crate) fn recorded(journal: Arc<Journal>) -> Recovered {
    Box::new(move |call, left| {
        let ids = CallIds {
            call: call.call_id.clone(),
            parent: None,
            task: None,
            session: call.session_id.clone(),
            token: call.token.clone(),
        };
        if let Some(process_id) = call.process.clone() {
            return journal.process_ended(&ids, killed_with_server(process_id, call, left));
        }
        let error = "The server was killed while the command ran. What it left for other programs to execute \
                     was looked for at the next start.";
        let failure = CallFailure {
            error: error.to_owned(),
            error_class: ErrorCode::Interrupted.class(),
            error_code: ErrorCode::Interrupted.as_str().to_owned(),
            redacted: false,
            approval_id: None,
        };
        let ended = CallEnded {
            tool_name: call.tool.clone(),
            token: call.token.clone(),
            exit_code: 1,
            failure: Some(failure),
            created_control_files: command::listed(left),
            ..CallEnded::default()
        };
        journal.ended(&ids, ended);
    })
}

/// The end of a background process whose server was killed, as far as it is known.
fn killed_with_server(process_id: String, call: &GuardedCall, left: &[LeftBehind]) -> BackgroundProcessEnded {
    BackgroundProcessEnded {
        process_id,
        tool_name: call.tool.clone(),
        state: ProcessState::Killed,
        exit_code: 137,
        signal: None,
        reason: Some("It was killed because the tool server was killed.".to_owned()),
        duration_ms: 0,
        output_bytes: 0,
        output_path: None,
        created_control_files: command::listed(left),
        network_refused: Vec::new(),
    }
}

/// Records the end of a background process under the call that started it.
pub(crate) fn recorded_end(journal: Arc<Journal>) -> OnEnd {
    Box::new(move |about, ended| {
        let ids = CallIds {
            call: about.call.clone(),
            parent: None,
            task: about.task.clone(),
            session: about.session.clone(),
            token: about.token.clone(),
        };
        journal.process_ended(&ids, ended);
    })
}
