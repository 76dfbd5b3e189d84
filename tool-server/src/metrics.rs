//! What the server counts, for `GET /metrics`: its calls, their answers, the sandbox, and what is in use.
//!
//! The names are those of docs/metrics.md. A label has the name of a tool of the registry, or `unknown`;
//! never what a caller wrote.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::response::Response;
use cage::command::Commands;
use http_port::Metrics;
use prometheus::{Error, Histogram, HistogramOpts, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Opts};
use protocol::{Envelope, Status};
use toolkit::approvals::Approvals;
use toolkit::{Meter, Registry, Runner};

use crate::journal::Journal;
use crate::vitals::Vitals;

/// The bounds of latencies in seconds: from what a `read` takes to what a command may.
const SECONDS: [f64; 12] = [0.000_25, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.1, 0.25, 1.0, 5.0, 30.0, 120.0];

/// The same for the start of a command in its sandbox.
const START_SECONDS: [f64; 9] = [0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5];

/// What a call is counted under whose tool there is not.
const UNKNOWN: &str = "unknown";

/// The metrics of the server.
#[derive(Debug)]
pub struct Meters {
    all: Metrics,
    calls: IntCounterVec,
    seconds: HistogramVec,
    bytes: IntCounterVec,
    cut: IntCounterVec,
    redacted: IntCounterVec,
    start_seconds: Histogram,
    slots: IntGaugeVec,
    slots_taken: IntGaugeVec,
    processes: IntGauge,
    approvals: IntGauge,
    journal: IntGauge,
    health: IntGaugeVec,
    tools: BTreeSet<String>,
}

impl Meters {
    /// Those of a server without tools.
    pub fn new() -> Result<Self, Error> {
        let all = Metrics::new(env!("CARGO_PKG_VERSION"))?;
        let of_tool = |name, help| all.add(IntCounterVec::new(Opts::new(name, help), &["tool"])?);
        let by = |name, help, label| all.add(IntGaugeVec::new(Opts::new(name, help), &[label])?);
        let gauge = |name, help| all.add(IntGauge::new(name, help)?);
        let calls = Opts::new("autonous_tool_calls_total", "Calls by tool, outcome and error code.");
        let seconds = HistogramOpts::new(
            "autonous_tool_call_seconds",
            "How long calls took, without the wait for a person.",
        );
        let start_seconds = HistogramOpts::new(
            "autonous_sandbox_start_seconds",
            "How long commands took to start in their sandbox.",
        );
        Ok(Self {
            calls: all.add(IntCounterVec::new(calls, &["tool", "outcome", "code"])?)?,
            seconds: all.add(HistogramVec::new(seconds.buckets(SECONDS.to_vec()), &["tool"])?)?,
            bytes: of_tool("autonous_tool_answer_bytes_total", "Bytes of stdout in answers.")?,
            cut: of_tool("autonous_tool_cut_answers_total", "Answers whose stdout was cut.")?,
            redacted: of_tool(
                "autonous_tool_redacted_answers_total",
                "Answers in which a secret was hidden.",
            )?,
            start_seconds: all.add(Histogram::with_opts(start_seconds.buckets(START_SECONDS.to_vec()))?)?,
            slots: by("autonous_tool_slots", "How many calls of a kind may run at once.", "kind")?,
            slots_taken: by("autonous_tool_slots_taken", "How many calls of a kind are running.", "kind")?,
            processes: gauge("autonous_background_processes", "Background processes that run.")?,
            approvals: gauge("autonous_approvals_waiting", "Calls that wait for a person.")?,
            journal: gauge("autonous_journal_bytes", "Size of the journal with its archives.")?,
            health: by("autonous_health", "Whether a part is well: 1 or 0.", "part")?,
            all,
            tools: BTreeSet::new(),
        })
    }

    /// The same with the tools of a registry as labels.
    #[must_use]
    pub fn of_tools(self, registry: &Registry) -> Self {
        Self { tools: registry.names().map(str::to_owned).collect(), ..self }
    }

    /// All of them as they are now.
    pub(crate) fn answer(
        &self,
        (runner, approvals): (&Runner, Option<&Approvals>),
        commands: &Commands,
        journal: &Journal,
        vitals: &Vitals,
    ) -> Response {
        for (slot, taken, most) in runner.slots() {
            self.slots.with_label_values(&[slot.as_str()]).set(count(most));
            self.slots_taken.with_label_values(&[slot.as_str()]).set(count(taken));
        }
        for part in vitals.checks() {
            self.health.with_label_values(&[part.name]).set(i64::from(part.ok));
        }
        self.processes.set(count(commands.processes().running()));
        self.approvals.set(approvals.map_or(0, |approvals| count(approvals.waiting())));
        match journal.bytes() {
            Ok(bytes) => self.journal.set(i64::try_from(bytes).unwrap_or(i64::MAX)),
            Err(error) => tracing::warn!(%error, "cannot read the size of the journal"),
        }
        self.all.answer()
    }

    /// Where the port counts.
    pub(crate) fn of_port(&self) -> Metrics {
        self.all.clone()
    }

    /// Where the starts of commands are noted.
    pub(crate) fn start_times(&self) -> Histogram {
        self.start_seconds.clone()
    }

    fn label<'a>(&self, tool: &'a str) -> &'a str {
        if self.tools.contains(tool) { tool } else { UNKNOWN }
    }
}

impl Meter for Meters {
    fn ended(&self, answer: &Envelope, took: Duration) {
        let tool = self.label(&answer.meta.tool);
        let code = answer.error_code().map_or("", |code| code.as_str());
        let outcome = match answer.meta.status {
            Status::Success => "success",
            Status::Partial => "partial",
            Status::Error => "error",
        };
        self.calls.with_label_values(&[tool, outcome, code]).inc();
        self.seconds.with_label_values(&[tool]).observe(took.as_secs_f64());
        self.bytes.with_label_values(&[tool]).inc_by(answer.stdout.len() as u64);
        if answer.truncated_bytes || answer.truncated_lines {
            self.cut.with_label_values(&[tool]).inc();
        }
        if answer.meta.redacted {
            self.redacted.with_label_values(&[tool]).inc();
        }
    }

    fn replayed(&self, tool: &str) {
        self.calls.with_label_values(&[self.label(tool), "replayed", ""]).inc();
    }
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
