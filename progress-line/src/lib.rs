//! Shows on a terminal how far a command is, in one line that goes when the command ends. Where stdout or
//! stderr is no terminal, it shows nothing: its reader is a program.

use std::io::{IsTerminal as _, stderr, stdout};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// How often the seconds in the line change.
const TICK: Duration = Duration::from_millis(200);

/// The line of a command; it goes when this is dropped.
#[derive(Debug)]
pub struct ProgressLine {
    bar: ProgressBar,
    has_clock: bool,
}

/// What a step has so many of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Shown as kB, MB and so on.
    Bytes,
    /// Shown as a number.
    Things,
}

impl ProgressLine {
    /// A line on stderr, with a thread that counts the seconds.
    #[must_use]
    pub fn new() -> Self {
        let mut line = Self::without_clock();
        line.has_clock = true;
        if !line.bar.is_hidden() {
            line.bar.enable_steady_tick(TICK);
        }
        line
    }

    /// A line on stderr without a thread, for a process that forks.
    #[must_use]
    pub fn without_clock() -> Self {
        let is_seen = stdout().is_terminal() && stderr().is_terminal();
        let bar = if is_seen { ProgressBar::no_length() } else { ProgressBar::hidden() };
        Self { bar, has_clock: false }
    }

    /// Begins a step whose end is not known.
    pub fn step(&self, name: &'static str) {
        self.begin(name, None, "{msg} …");
    }

    /// Begins a step with so many things or bytes.
    pub fn step_of(&self, name: &'static str, length: u64, unit: Unit) {
        let template = match unit {
            Unit::Bytes => "{msg} [{bar:24}] {percent} % of {decimal_total_bytes}",
            Unit::Things => "{msg} [{bar:24}] {human_pos} of {human_len}",
        };
        self.begin(name, Some(length), template);
    }

    fn begin(&self, name: &'static str, length: Option<u64>, template: &str) {
        let clock = if self.has_clock { " {elapsed}" } else { "" };
        // A test shows each template.
        let style = ProgressStyle::with_template(&format!("{template}{clock}"));
        self.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        self.bar.set_position(0);
        self.bar.reset_elapsed();
        match length {
            Some(length) => self.bar.set_length(length),
            None => self.bar.unset_length(),
        }
        self.bar.set_message(name);
        // Also where the line before was drawn just now: the step may take long.
        self.bar.force_draw();
    }

    /// So much of the step is done.
    pub fn done(&self, position: u64) {
        self.bar.set_position(position);
    }

    /// So much more of the step is done.
    pub fn advance(&self, more: u64) {
        self.bar.inc(more);
    }
}

impl Default for ProgressLine {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// How long a command that mostly ends at once shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// The line of a command that mostly ends at once: it shows its only step if that takes longer than a second,
/// and goes when this is dropped.
#[derive(Debug)]
pub struct LateLine {
    end: Option<Sender<()>>,
    showing: Option<JoinHandle<()>>,
}

impl LateLine {
    /// Begins the step.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        let (end, ended) = channel();
        let show = move || {
            if ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                let line = ProgressLine::new();
                line.step(name);
                // Nothing is sent: it waits for the drop.
                let _ = ended.recv();
            }
        };
        Self { end: Some(end), showing: thread::Builder::new().spawn(show).ok() }
    }
}

impl Drop for LateLine {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(showing) = self.showing.take() {
            // What is printed next comes behind the line's end.
            let _ = showing.join();
        }
    }
}
