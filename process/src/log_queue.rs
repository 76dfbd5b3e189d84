//! The way of log lines to stderr: a bounded queue, and a thread of its own that writes.
//!
//! What stderr leads to can fail or stand still: its reader ends or stops reading, its disk fills up. No work
//! waits for that, and none ends by it. A line that finds no room in the queue is dropped and counted; once
//! lines can be written again, one of them says how many are missing.
//!
//! The thread begins only after the process has confined itself, because the confinement covers no thread
//! that exists before. Until then lines wait in the queue.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::stdio::stderr;

/// The most that waits to be written.
const MAX_BYTES: usize = 1 << 20;

/// The pause before a write that failed is tried again.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// The pause before stderr is asked again whether it takes more, if another program made it non-blocking.
const BUSY_PAUSE: Duration = Duration::from_millis(10);

/// A write that takes longer than this counts as blocked.
const PATIENCE: Duration = Duration::from_secs(2);

static QUEUE: Queue = Queue::new();

/// How the log is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogCondition {
    /// Why nothing can be written at present.
    pub trouble: Option<String>,
    /// How many lines were dropped since the start.
    pub dropped: u64,
}

/// A writer whose records go into the queue: each call of `write` is one record, and none ever blocks.
#[derive(Debug, Clone, Copy)]
pub struct LogSink;

impl Write for LogSink {
    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        QUEUE.push(record);
        Ok(record.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes what waits and what comes, from a thread of its own. Call it once the process is confined.
pub fn begin_writing() -> io::Result<()> {
    QUEUE.begin()
}

/// Waits until everything is written, unless that fails or takes longer than `patience`.
pub fn flush(patience: Duration) {
    QUEUE.flush(patience);
}

/// How the log is now.
pub fn condition() -> LogCondition {
    QUEUE.condition()
}

#[derive(Debug)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    lines: VecDeque<Vec<u8>>,
    /// The length of `lines` and of the line that is being written.
    bytes: usize,
    /// Since when a line is being written.
    writing_since: Option<Instant>,
    /// Why the last try to write failed.
    failure: Option<io::Error>,
    dropped: u64,
    /// How many dropped lines the log mentions already.
    mentioned: u64,
    has_thread: bool,
}

impl Queue {
    const fn new() -> Self {
        let state = State {
            lines: VecDeque::new(),
            bytes: 0,
            writing_since: None,
            failure: None,
            dropped: 0,
            mentioned: 0,
            has_thread: false,
        };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, line: &[u8]) {
        let mut state = self.state();
        if state.bytes + line.len() > MAX_BYTES {
            state.dropped += 1;
            return;
        }
        state.bytes += line.len();
        state.lines.push_back(line.to_vec());
        self.changed.notify_all();
    }

    fn begin(&'static self) -> io::Result<()> {
        if std::mem::replace(&mut self.state().has_thread, true) {
            return Ok(());
        }
        thread::Builder::new().name("log".to_owned()).spawn(|| self.write_all()).map(drop)
    }

    fn write_all(&self) {
        loop {
            let line = self.next();
            let mut is_torn = false;
            while let Err((error, wrote_some)) = write_line(&line, is_torn) {
                is_torn |= wrote_some;
                let mut state = self.state();
                state.failure = Some(error);
                self.changed.notify_all();
                drop(state);
                thread::sleep(RETRY_PAUSE);
            }
            self.written(line.len());
        }
    }

    fn next(&self) -> Vec<u8> {
        let mut state = self.state();
        loop {
            if let Some(line) = state.lines.pop_front() {
                state.writing_since = Some(Instant::now());
                return line;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn written(&self, bytes: usize) {
        let mut state = self.state();
        state.bytes -= bytes;
        (state.writing_since, state.failure) = (None, None);
        let missing = state.dropped - state.mentioned;
        if state.lines.is_empty() && missing > 0 {
            state.mentioned = state.dropped;
            drop(state);
            tracing::warn!(lines = missing, "lines of this log are missing: for a while it took no more");
        }
        self.changed.notify_all();
    }

    fn flush(&'static self, patience: Duration) {
        if self.state().bytes == 0 || self.begin().is_err() {
            return;
        }
        let is_waiting = |state: &mut State| state.bytes > 0 && state.failure.is_none();
        let _ = self.changed.wait_timeout_while(self.state(), patience, is_waiting);
    }

    fn condition(&self) -> LogCondition {
        let state = self.state();
        let blocked = state.writing_since.map(|since| since.elapsed()).filter(|waited| *waited > PATIENCE);
        let trouble = match (&state.failure, blocked) {
            (Some(error), _) if error.kind() == io::ErrorKind::BrokenPipe => {
                Some("the program that read the log has ended".to_owned())
            }
            (Some(error), _) => Some(format!("the log cannot be written: {error}")),
            (None, Some(waited)) => {
                Some(format!("the program that reads the log has read nothing for {} s", waited.as_secs()))
            }
            (None, None) => None,
        };
        LogCondition { trouble, dropped: state.dropped }
    }
}

/// Writes a line to stderr, past the lock of the standard library, which others may hold for ever. An error
/// comes with whether a part was written, which the next try must end first.
fn write_line(line: &[u8], after_torn: bool) -> Result<(), (io::Error, bool)> {
    let whole = if after_torn { [b"\n", line].concat() } else { line.to_vec() };
    let mut rest = &whole[..];
    while !rest.is_empty() {
        match rustix::io::write(stderr(), rest) {
            Ok(written) => rest = &rest[written..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => thread::sleep(BUSY_PAUSE),
            Err(errno) => return Err((errno.into(), rest.len() < whole.len())),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_no_room_is_dropped_and_counted() {
        static QUEUE: Queue = Queue::new();
        let line = vec![b'x'; MAX_BYTES / 4];
        for _ in 0..7 {
            QUEUE.push(&line);
        }
        assert_eq!(QUEUE.condition(), LogCondition { trouble: None, dropped: 3 });
        assert_eq!(QUEUE.next(), line);
        QUEUE.written(line.len());
        QUEUE.push(&line);
        let waiting = QUEUE.state().lines.len();
        assert_eq!((waiting, QUEUE.condition().dropped), (4, 3));
    }

    #[test]
    fn a_line_that_does_not_get_through_is_trouble_until_one_does() {
        static QUEUE: Queue = Queue::new();
        QUEUE.push(b"line\n");
        let line = QUEUE.next();
        assert_eq!(QUEUE.condition().trouble, None);
        for (error, words) in [(Errno::PIPE, "has ended"), (Errno::NOSPC, "No space left")] {
            QUEUE.state().failure = Some(error.into());
            assert!(QUEUE.condition().trouble.is_some_and(|trouble| trouble.contains(words)));
        }
        QUEUE.state().failure = None;
        QUEUE.state().writing_since = Instant::now().checked_sub(PATIENCE * 2);
        assert!(QUEUE.condition().trouble.is_some_and(|trouble| trouble.contains("read nothing for 4 s")));
        QUEUE.written(line.len());
        assert_eq!(QUEUE.condition().trouble, None);
    }
}
