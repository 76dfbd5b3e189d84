//! `process_read`: what a background process has written, and whether it still runs.

use std::time::Duration;

use cage::command::{Changes, sanitize};
use cage::processes::{From, Output, Piece, Status, Stream};
use protocol::journal::{CreatedControlFile, ProcessState};
use protocol::{Annotations, Risk, SessionId, ToolError};
use redaction::PLACEHOLDER;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolkit::arguments::invalid;
use toolkit::output::{Full, head};
use toolkit::policy::Touches;
use toolkit::{Bounds, Call, NamedFiles, Outcome, Slot, Success, Tool};

use crate::private_key_lines::length_in_key;
use crate::tool_context::ToolContext;

/// How many lines are shown of a process that is read without a place.
const DEFAULT_TAIL: usize = 200;

/// How long a call may take beside its wait.
const OWN_TIME: Duration = Duration::from_secs(5);

/// Shows what a background process has written, and whether it still runs.
///
/// The last lines, or what follows `after_seq`: pass `next_seq` of the last answer.
///
/// # Details
///
/// The last megabyte of the output is kept, in numbered pieces that mostly end where lines do. A reader that
/// passes `after_seq` misses nothing of it and gets nothing twice; what came too early for that is in the
/// file that the answer names. `wait_seconds` waits until there is something new or the process has ended. A
/// process that has ended can be read for an hour, as long as the session has not started eight others.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProcessReadArguments {
    /// As `bash` answered it.
    process_id: String,
    /// Shows what follows this piece; 0 is the beginning.
    #[serde(default)]
    after_seq: Option<u64>,
    /// Shows this many of the last lines; 200 by default.
    #[serde(default)]
    #[schemars(range(min = 1, max = 2000))]
    tail_lines: Option<usize>,
    /// How long to wait for something new, in seconds; 0 by default.
    #[serde(default)]
    #[schemars(range(max = 60))]
    wait_seconds: Option<u64>,
}

/// What a background process has written.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct ProcessReadData {
    /// The process.
    process_id: String,
    /// The output, in pieces as they came.
    chunks: Vec<Chunk>,
    /// Pass it as `after_seq` to read what follows.
    next_seq: u64,
    /// Bytes after `after_seq` that came before the first piece and are no longer kept here.
    dropped_bytes: u64,
    /// Whether it runs.
    state: Option<ProcessState>,
    /// Its exit code; 128 and the number of the signal if one ended it; absent while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    /// Why it was ended, if it did not end by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The file with its whole output, up to 16 MiB; `read` and `grep` can open it.
    output_path: String,
    /// What it left for other programs to execute, once it has ended; at most 64 of it.
    created_control_files: Vec<CreatedControlFile>,
    /// The hosts that it has asked for and may not reach, at most 32.
    network_refused: Vec<String>,
}

/// Some output.
#[derive(Debug, Serialize, JsonSchema)]
struct Chunk {
    /// Its number.
    seq: u64,
    /// Where it was written to.
    stream: Stream,
    /// As `stdout` shows it.
    text: String,
}

pub(crate) struct ProcessRead(pub(super) ToolContext);

impl Tool for ProcessRead {
    type Arguments = ProcessReadArguments;
    type Data = ProcessReadData;
    const NAME: &'static str = "process_read";
    const RISK: Risk = Risk::Low;
    const ANNOTATIONS: Annotations = Annotations::READS;
    const SLOT: Slot = Slot::Process;
    const ESSENTIAL: &'static [&'static str] = &["after_seq", "wait_seconds"];

    fn example(&self) -> Value {
        json!({"process_id": "p-3f9a2c1e", "tail_lines": 50})
    }

    fn is_offered(&self) -> bool {
        self.0.has_processes()
    }

    fn timeout(&self, arguments: &Value) -> Option<Duration> {
        Some(Duration::from_secs(arguments["wait_seconds"].as_u64().unwrap_or(0)) + OWN_TIME)
    }

    fn touches(&self, _: &Value, _: &SessionId) -> Touches {
        Touches::nothing()
    }

    fn named_files(&self, _: &Value, _: &SessionId) -> Result<NamedFiles, ToolError> {
        Ok(NamedFiles::new())
    }

    fn run(&self, arguments: ProcessReadArguments, call: &Call) -> Outcome<ProcessReadData> {
        let process = self.0.commands.processes().find(&call.session, &arguments.process_id)?;
        let from = match (arguments.after_seq, arguments.tail_lines) {
            (Some(_), Some(_)) => {
                return Err(invalid("`after_seq` and `tail_lines` exclude each other.").into());
            }
            (Some(seq), None) => From::After(seq),
            (None, lines) => From::Tail(lines.unwrap_or(DEFAULT_TAIL)),
        };
        let wait = Duration::from_secs(arguments.wait_seconds.unwrap_or(0));
        let output = process.read(from, wait, || !call.is_cancelled());
        call.check()?;
        let mut page = Page::of(&output, from, call.bounds);
        let Output { dropped_bytes, status, .. } = output;
        let next_seq = page.chunks.last().map_or_else(|| unseen(from, &status), |chunk| chunk.seq);
        page.notices.push(said(&process.id, &status, next_seq));
        if dropped_bytes > 0 {
            page.notices.push(format!(
                "{dropped_bytes} earlier bytes are no longer kept here; the file {} has the beginning.",
                process.output_path
            ));
        }
        let end = status.end.unwrap_or_default();
        let (refused, notice) = process.network_refused();
        page.notices.extend(end.notices.into_iter().chain(notice));
        let data = ProcessReadData {
            process_id: process.id.clone(),
            next_seq,
            dropped_bytes,
            state: Some(status.state),
            exit_code: (status.state != ProcessState::Running).then_some(end.exit_code),
            reason: end.reason,
            output_path: process.output_path.clone(),
            created_control_files: end.created_control_files,
            network_refused: if refused.is_empty() { end.network_refused } else { refused },
            chunks: page.chunks,
        };
        let stdout = data.chunks.iter().map(|chunk| chunk.text.as_str()).collect();
        let success =
            Success { data, stdout, notices: page.notices, redacted: page.hides_key, ..Success::default() };
        Ok(success.cut_at(page.full))
    }
}

/// Where a reader stands that got nothing.
fn unseen(from: From, status: &Status) -> u64 {
    match from {
        From::After(seq) => seq.min(status.last_seq),
        From::Tail(_) => status.last_seq,
    }
}

/// The state in words, with how to go on.
pub(super) fn said(id: &str, status: &Status, next_seq: u64) -> String {
    let Some(end) = &status.end else {
        return format!("Process {id} is running; next_seq: {next_seq}.");
    };
    let reason = end.reason.as_deref().map(|reason| format!(" {reason}")).unwrap_or_default();
    let (code, seconds) = (end.exit_code, end.duration_ms / 1000);
    format!("Process {id} has ended with exit code {code} after {seconds} s.{reason} next_seq: {next_seq}.")
}

/// The pieces of an answer, within its bounds.
#[derive(Debug, Default)]
struct Page {
    chunks: Vec<Chunk>,
    notices: Vec<String>,
    full: Option<Full>,
    hides_key: bool,
}

impl Page {
    /// The first of the pieces, or the last for a reader that wants the end.
    fn of(output: &Output, from: From, bounds: Bounds) -> Self {
        let mut page = Self::default();
        let mut changes = Changes::default();
        let (mut lines, mut bytes) = (0, 0);
        let mut add = |page: &mut Self, piece: &Piece| {
            let (mut text, hides_key) = text_of(piece, &output.look_back.before(piece), &mut changes);
            lines += text.lines().count();
            bytes += text.len();
            page.full = match () {
                () if bytes > bounds.bytes => Some(Full::Bytes),
                () if lines > bounds.lines => Some(Full::Lines),
                () => None,
            };
            if page.full.is_some() && !page.chunks.is_empty() {
                return false;
            }
            if page.full.is_some() {
                text = head(&text, bounds.bytes).split_inclusive('\n').take(bounds.lines).collect();
            }
            page.hides_key |= hides_key;
            page.chunks.push(Chunk { seq: piece.seq, stream: piece.stream, text });
            page.full.is_none()
        };
        match from {
            From::After(_) => drop(output.pieces.iter().all(|piece| add(&mut page, piece))),
            From::Tail(_) => {
                output.pieces.iter().rev().all(|piece| add(&mut page, piece));
                page.chunks.reverse();
            }
        }
        page.notices = changes.notices();
        page
    }
}

/// A piece as it is shown: without what belongs to a private key that began before it.
fn text_of(piece: &Piece, before: &[u8], changes: &mut Changes) -> (String, bool) {
    let in_key = if before.is_empty() { 0 } else { length_in_key(before, &piece.bytes) };
    let text = sanitize(&piece.bytes[in_key..], changes);
    if in_key > 0 { (format!("{PLACEHOLDER}\n{text}"), true) } else { (text, false) }
}
