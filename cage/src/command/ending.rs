//! How a command ended, as its answer says it: exit code, error and facts.

use std::time::Duration;

use protocol::journal::CreatedControlFile;
use protocol::{ErrorCode, ToolError};
use sandbox::{Exit, Tier};

use super::{CommandData, StopReason};

pub(super) fn exit_code(exit: &Exit, stopped: Option<StopReason>) -> i32 {
    exit_code_of(exit, stopped == Some(StopReason::Deadline))
}

pub(super) fn exit_code_of(exit: &Exit, timed_out: bool) -> i32 {
    match (timed_out, exit.code, exit.signal) {
        (true, ..) => 124,
        (_, Some(code), _) => code,
        (_, None, Some(signal)) => 128 + signal,
        (_, None, None) => 1,
    }
}

pub(super) fn error_of(exit: &Exit, stopped: Option<StopReason>, timeout: Duration) -> Option<ToolError> {
    let error = match (stopped, exit.code, exit.signal) {
        (None, ..) if exit.memory_exceeded => ToolError::new(
            ErrorCode::ExitNonzero,
            "The command was killed because all its processes together had more memory than \
             AUTONOUS_TOOL_MAX_MEMORY_MB allows.",
        )
        .with_hint("Files in /tmp, /dev/shm and the home directory count too. Do less at once."),
        (Some(StopReason::Deadline), ..) => {
            let message = format!(
                "The command did not finish within {} s and was killed with all its processes.",
                timeout.as_secs()
            );
            let mut error = ToolError::new(ErrorCode::Timeout, message).with_hint(
                "The output so far is shown. Set a longer `timeout_seconds` (at most 600), or do less at \
                 once.",
            );
            error.http_status = Some(200);
            error
        }
        (Some(StopReason::CallerGone), ..) => {
            ToolError::new(ErrorCode::Cancelled, "The caller disconnected, so the command was killed.")
        }
        (Some(StopReason::DiskFull), ..) => ToolError::new(
            ErrorCode::IoError,
            "The command was killed because the disk is nearly full (AUTONOUS_TOOL_MIN_FREE_MB).",
        )
        .with_hint("Delete what is not needed: `bash` still can, but it can write to no file until then."),
        (None, Some(0), _) => return None,
        (None, Some(code), _) => {
            ToolError::new(ErrorCode::ExitNonzero, format!("The command ended with exit code {code}."))
        }
        (None, None, signal) => {
            let message = format!("The command was killed by signal {}.", signal.unwrap_or(0));
            ToolError::new(ErrorCode::ExitNonzero, message)
                .with_hint("9 can be the memory limit; 24 and 25 are the limits of CPU time and file size.")
        }
    };
    Some(error)
}

pub(super) fn data_of(
    exit: &Exit,
    created_control_files: Vec<CreatedControlFile>,
    network_refused: Vec<String>,
    stopped: Option<StopReason>,
    duration: Duration,
) -> CommandData {
    let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    CommandData {
        signal: exit.signal,
        timed_out: stopped == Some(StopReason::Deadline),
        duration_ms: ms(duration),
        cpu_ms: ms(exit.cpu_time),
        peak_memory_bytes: exit.peak_memory_bytes,
        sandbox_tier: name_of(exit.tier).to_owned(),
        created_control_files,
        network_refused,
        process_id: None,
        state: None,
    }
}

pub(super) const fn name_of(tier: Tier) -> &'static str {
    match tier {
        Tier::A => "A",
        Tier::B => "B",
    }
}
