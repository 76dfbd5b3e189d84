//! Commands that a call waits for, for a while: one that takes longer is a background process from then on.
//!
//! It is supervised as a background process from its beginning, hidden from its session. The call's answer is
//! that of a command in the foreground if it ends in time, and else what it has written so far.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use protocol::{ErrorCode, ToolError, millis};
use toolkit::{Bounds, Call, Outcome, OutputSink, Success, locked};

use super::capture::Ends;
use super::ending::shown;
use super::{CommandData, CommandRequest, Commands};
use crate::processes::{From, Process, Stop, Stream};

/// How often a call that waits looks whether its caller is still there.
const LOOK_UP: Duration = Duration::from_millis(100);

/// What a call that waits shares with the thread that supervises its command.
#[derive(Debug)]
pub(super) struct Waiting(Mutex<Phase>);

#[derive(Debug)]
enum Phase {
    /// The call waits; this is what it will show.
    Waits(Ends),
    /// The command has ended in time, and its answer is being made.
    Ending,
    /// The answer.
    Ended(Box<Outcome<CommandData>>),
    /// The call does not wait any more.
    Over,
}

impl Waiting {
    fn new(bounds: Bounds) -> Self {
        Self(Mutex::new(Phase::Waits(Ends::within(bounds))))
    }

    /// Whether the call still waits.
    pub(super) fn is_on(&self) -> bool {
        matches!(&*self.phase(), Phase::Waits(_))
    }

    /// Takes output of the process, for the call as long as it waits.
    pub(super) fn add_output(&self, process: &Process, stream: Stream, block: &[u8]) {
        let mut phase = self.phase();
        if let Phase::Waits(ends) = &mut *phase {
            ends.add(stream, block);
        }
        process.add_output(stream, block);
    }

    /// The command has ended: if the call still waits, it gets an answer, with this output.
    pub(super) fn end(&self) -> Option<(&Self, Ends)> {
        self.phase().leave(Phase::Ending).map(|ends| (self, ends))
    }

    pub(super) fn answer(&self, outcome: Outcome<CommandData>) {
        *self.phase() = Phase::Ended(Box::new(outcome));
    }

    /// Waits no longer: what the process has written, and the number of the last piece of it; none if it has
    /// just ended. A line whose end has not come belongs to what follows.
    fn give_up(&self, process: &Process) -> Option<(Ends, u64)> {
        let mut phase = self.phase();
        let mut ends = phase.leave(Phase::Over)?;
        // No output comes between both: the phase is locked while some is added.
        let (last, unfinished) = process.reached();
        ends.drop_last(unfinished);
        Some((ends, last))
    }

    /// The answer of a command that has ended.
    fn into_outcome(self: Arc<Self>) -> Outcome<CommandData> {
        match std::mem::replace(&mut *self.phase(), Phase::Over) {
            Phase::Ended(outcome) => *outcome,
            Phase::Waits(_) | Phase::Ending | Phase::Over => {
                let message = "The end of the command could not be seen; it was killed.";
                Err(ToolError::new(ErrorCode::Internal, message).into())
            }
        }
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        locked(&self.0)
    }
}

impl Phase {
    /// Enters another phase, if the call still waits.
    fn leave(&mut self, next: Self) -> Option<Ends> {
        if !matches!(self, Self::Waits(_)) {
            return None;
        }
        match std::mem::replace(self, next) {
            Self::Waits(ends) => Some(ends),
            Self::Ending | Self::Ended(_) | Self::Over => None,
        }
    }
}

/// Waits for the end of a process, and passes on what it writes to a caller that wants it.
fn pass_on(call: &Call, process: &Process, sent: u64, to: u64, wait: Duration) -> u64 {
    match call.sink() {
        Some(sink) => process.pass_on(sink, From::After(sent), to, wait),
        None => {
            process.ends_within(wait);
            sent
        }
    }
}

impl Commands {
    /// Runs a command that becomes a background process when it takes longer than `patience`. `command` is
    /// its short form for lists.
    pub fn run_or_leave(
        self: &Arc<Self>,
        call: &Call,
        request: CommandRequest,
        command: String,
        patience: Duration,
    ) -> Outcome<CommandData> {
        let waiting = Arc::new(Waiting::new(call.bounds));
        let process = self.launch(call, request, command, Some(Arc::clone(&waiting)))?;
        let (since, mut sent) = (Instant::now(), 0);
        call.sink().into_iter().for_each(OutputSink::begin);
        while !process.has_ended() {
            let left = patience.saturating_sub(since.elapsed());
            if call.is_cancelled() {
                process.stop(Stop::CallerGone);
            } else if left.is_zero()
                && let Some((ends, next_seq)) = waiting.give_up(&process)
            {
                process.show();
                pass_on(call, &process, sent, next_seq, Duration::ZERO);
                return Ok(self.runs_on(&process, &ends, (next_seq, since.elapsed())));
            }
            let wait = if left.is_zero() { LOOK_UP } else { left.min(LOOK_UP) };
            sent = pass_on(call, &process, sent, u64::MAX, wait);
        }
        pass_on(call, &process, sent, u64::MAX, Duration::ZERO);
        waiting.into_outcome()
    }

    fn runs_on(
        &self,
        process: &Process,
        ends: &Ends,
        (next_seq, duration): (u64, Duration),
    ) -> Success<CommandData> {
        let (id, text) = (&process.id, ends.displayed());
        let (network_refused, about_refused) = process.network_refused();
        let mut notices = vec![format!(
            "The command runs on as background process {id}, for at most {} s. Read what follows with \
             process_read (after_seq: {next_seq}), write to it with process_write, end it with process_kill.",
            process.max_seconds(),
        )];
        if text.is_cut() {
            notices.push(format!(
                "All that it writes is in {}; `read` and `grep` can open it.",
                process.output_path
            ));
        }
        notices.extend(about_refused);
        notices.extend(text.changes.notices());
        let data = CommandData {
            duration_ms: millis(duration),
            sandbox_tier: self.tier_name().to_owned(),
            network_refused,
            process_id: Some(id.clone()),
            state: Some(process.status().state),
            next_seq: Some(next_seq),
            ..CommandData::default()
        };
        shown(data, text, notices)
    }
}
