//! How a command ended, as its answer says it: exit code, error and facts.

use std::time::Duration;

use files::output_store::SavedOutput;
use protocol::{ErrorCode, ToolError, millis};
use sandbox::{Exit, Tier};
use toolkit::output::Full;
use toolkit::{Failure, Outcome, Success};

use super::CommandData;
use super::excerpt::DisplayedOutput;
use super::report::ControlFileReport;
use crate::processes::Stop;

/// What an answer says of a command that ran, beside its exit.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) text: DisplayedOutput,
    pub(super) saved: SavedOutput,
    /// The hosts that it may not reach, and what to say about them.
    pub(super) refused: (Vec<String>, Option<String>),
    /// What to say about its room on the disk.
    pub(super) about_room: Option<String>,
    /// What to say about the state that it leaves for the next.
    pub(super) about_state: Option<String>,
    pub(super) control_files: ControlFileReport,
    pub(super) stopped: Option<Stop>,
    pub(super) duration: Duration,
    pub(super) timeout: Duration,
}

impl Ran {
    pub(super) fn into_outcome(self, exit: &Exit) -> Outcome<CommandData> {
        let Self { text, saved, refused: (network_refused, about_refused), control_files, stopped, .. } =
            self;
        let data = CommandData {
            signal: exit.signal,
            timed_out: stopped == Some(Stop::Deadline),
            duration_ms: millis(self.duration),
            cpu_ms: millis(exit.cpu_time),
            peak_memory_bytes: exit.peak_memory_bytes,
            sandbox_tier: name_of(exit.tier).to_owned(),
            created_control_files: control_files.files,
            network_refused,
            ..CommandData::default()
        };
        let mut notices: Vec<String> = saved.notice.into_iter().collect();
        notices.extend(self.about_room);
        notices.extend(self.about_state);
        notices.extend(about_refused);
        notices.extend(control_files.notices);
        notices.extend(text.changes.notices());
        let full_output = saved.file;
        let shown = Success { full_output, ..shown(data, text, notices) };
        match error_of(exit, stopped, self.timeout) {
            None => Ok(shown),
            Some(error) => {
                let code = exit_code_of(exit, stopped == Some(Stop::Deadline));
                Err(Failure::of_command(error, code, shown))
            }
        }
    }
}

/// A command's output as an answer shows it.
pub(super) fn shown(data: CommandData, text: DisplayedOutput, notices: Vec<String>) -> Success<CommandData> {
    let DisplayedOutput { stdout, stderr, cut_lines, cut_bytes, .. } = text;
    Success { data, stdout, stderr: Some(stderr), notices, ..Success::default() }
        .cut_at(cut_lines.then_some(Full::Lines))
        .cut_at(cut_bytes.then_some(Full::Bytes))
}

pub(super) fn exit_code_of(exit: &Exit, timed_out: bool) -> i32 {
    match (timed_out, exit.code, exit.signal) {
        (true, ..) => 124,
        (_, Some(code), _) => code,
        (_, None, Some(signal)) => 128 + signal,
        (_, None, None) => 1,
    }
}

fn error_of(exit: &Exit, stopped: Option<Stop>, timeout: Duration) -> Option<ToolError> {
    let error = match (stopped, exit.code, exit.signal) {
        (None, ..) if exit.memory_exceeded => ToolError::new(
            ErrorCode::ExitNonzero,
            "The command was killed because all its processes together had more memory than \
             AUTONOUS_TOOL_MAX_MEMORY_MB allows.",
        )
        .with_hint("Files in /tmp, /dev/shm and the home directory count too. Do less at once."),
        (Some(Stop::Deadline), ..) => {
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
        (Some(Stop::CallerGone), ..) => {
            ToolError::new(ErrorCode::Cancelled, "The caller disconnected, so the command was killed.")
        }
        (Some(Stop::DiskFull), ..) => ToolError::new(
            ErrorCode::IoError,
            "The command was killed because the disk is nearly full (AUTONOUS_TOOL_MIN_FREE_MB).",
        )
        .with_hint("Delete what is not needed: `bash` still can, but it can write to no file until then."),
        (Some(Stop::Quota), ..) => ToolError::new(ErrorCode::QuotaExceeded, Stop::Quota.reason()),
        (Some(stop @ (Stop::Asked | Stop::ServerEnd | Stop::Failed)), ..) => {
            ToolError::new(ErrorCode::Cancelled, stop.reason())
        }
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

pub(super) const fn name_of(tier: Tier) -> &'static str {
    match tier {
        Tier::A => "A",
        Tier::B => "B",
    }
}
