//! `process_read`: what a background process has written, and whether it still runs.

use std::time::{Duration, Instant};

use cage::command::Changes;
use cage::processes::{From, Output, Piece, Process, Status, Stream};
use protocol::journal::{CreatedControlFile, ProcessState};
use protocol::{Annotations, Risk};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolkit::arguments::invalid;
use toolkit::output::{Full, head};
use toolkit::{Bounds, Call, Outcome, OutputSink, Slot, Success, Tool, touches_nothing};

use crate::output_text::text_of;
use crate::tool_context::ToolContext;

/// How many lines are shown of a process that is read without a place.
const DEFAULT_TAIL: usize = 200;

/// How long a call may take beside its wait.
const OWN_TIME: Duration = Duration::from_secs(5);

/// How often a call that passes on output looks whether its caller is still there.
const LOOK_UP: Duration = Duration::from_millis(100);

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
    const STREAMS: bool = true;
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

    touches_nothing!();

    fn run(&self, arguments: ProcessReadArguments, call: &Call) -> Outcome<ProcessReadData> {
        let process = self.0.commands.processes().find(&call.scope, &arguments.process_id)?;
        let from = match (arguments.after_seq, arguments.tail_lines) {
            (Some(_), Some(_)) => {
                return Err(invalid("`after_seq` and `tail_lines` exclude each other.").into());
            }
            (Some(seq), None) => From::After(seq),
            (None, lines) => From::Tail(lines.unwrap_or(DEFAULT_TAIL)),
        };
        let mut wait = Duration::from_secs(arguments.wait_seconds.unwrap_or(0));
        if let Some(sink) = call.sink() {
            sink.begin();
            pass_on(&process, from, wait, sink, call);
            wait = Duration::ZERO;
        }
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

/// Passes on what a process has written and what it writes meanwhile, until it has ended or the time is over.
fn pass_on(process: &Process, from: From, wait: Duration, sink: &dyn OutputSink, call: &Call) {
    let until = Instant::now() + wait;
    let mut sent = process.pass_on(sink, from, u64::MAX, Duration::ZERO);
    loop {
        let has_ended = process.status().end.is_some();
        let left = if has_ended { Duration::ZERO } else { until.saturating_duration_since(Instant::now()) };
        sent = process.pass_on(sink, From::After(sent), u64::MAX, left.min(LOOK_UP));
        if left.is_zero() || call.is_cancelled() {
            return;
        }
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
            let (mut text, hides_key) = text_of(&piece.bytes, &output.look_back.before(piece), &mut changes);
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
