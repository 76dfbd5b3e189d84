//! What the supervisor counts, for `GET /metrics`: tasks, replies, models, approvals, health, children.
//!
//! The names are those of docs/metrics.md. What the models did comes with the events of the workers. No label
//! has what a person, a model or a worker wrote.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::response::Response;
use http_port::Metrics;
use prometheus::{
    Error, Gauge, GaugeVec, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec,
    Opts,
};
use protocol::event::{AgentFailure, RetryExhausted, RetryScheduled};
use protocol::{EventBody, now_ms};
use settings::Provider;
use store::queries::figures::{Figures, Group};
use toolkit::locked;

use crate::health::database_file::{SUFFIXES, with_suffix};
use crate::health::{PartState, Report};
use crate::journal::files::Files;

/// The bounds of a model's latencies, in seconds.
const SECONDS: [f64; 10] = [0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];

/// The classes of errors after which a model is not asked again: their requests end with their task, without
/// an event of their own.
const FINAL_CLASSES: [&str; 4] = ["auth", "no_credit", "bad_request", "context_too_long"];

/// The outcome of a request that is not sent again.
const FAILED: &str = "failed";

/// The providers that need no network.
const LOCAL_PROVIDERS: [&str; 2] = ["direct", "scripted"];

/// The metrics of the supervisor; clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Meters {
    pub(crate) all: Metrics,
    tasks: IntGaugeVec,
    oldest_task: GaugeVec,
    replies: IntGauge,
    oldest_reply: Gauge,
    dead_replies: IntGauge,
    approvals: IntGauge,
    model_requests: IntCounterVec,
    model_seconds: HistogramVec,
    model_tokens: IntCounterVec,
    model_cost: IntCounter,
    model_circuits: IntCounter,
    restarts: IntCounterVec,
    ready: IntGauge,
    health: GaugeVec,
    database: IntGauge,
    journal: IntGauge,
    /// Held while an answer is made, because some figures are taken away before they are noted.
    reading: Arc<Mutex<()>>,
}

/// How large the files are, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) database: u64,
    pub(crate) journal: u64,
}

impl Sizes {
    /// Those of the database with its log, and of the journal with its archives.
    pub(crate) fn of(database: &Path, journal: &Path) -> Self {
        let size = |suffix| fs::metadata(with_suffix(database, suffix)).map_or(0, |file| file.len());
        Self { database: SUFFIXES.map(size).iter().sum(), ..Self::of_journal(journal) }
    }

    /// Without that of the database.
    pub(crate) fn of_journal(journal: &Path) -> Self {
        Self { database: 0, journal: Files::list(journal).map_or(0, |files| files.bytes()) }
    }
}

impl Meters {
    pub(crate) fn new() -> Result<Self, Error> {
        let all = Metrics::new(env!("CARGO_PKG_VERSION"))?;
        let counters =
            |name, help, labels: &[&str]| all.add(IntCounterVec::new(Opts::new(name, help), labels)?);
        let gauges = |name, help, label| all.add(GaugeVec::new(Opts::new(name, help), &[label])?);
        let gauge = |name, help| all.add(IntGauge::new(name, help)?);
        let tasks = Opts::new("autonous_tasks", "Tasks by state, of those that have not ended well.");
        let model_seconds = HistogramOpts::new("autonous_model_request_seconds", "How long replies took.");
        let model_seconds = HistogramVec::new(model_seconds.buckets(SECONDS.to_vec()), &["provider"])?;
        let model_requests = counters(
            "autonous_model_requests_total",
            "Requests to models by their outcome: success, retried or failed.",
            &["provider", "outcome"],
        )?;
        // An alert sees an increase only of a series that was there.
        for provider in Provider::ALL {
            model_requests.with_label_values(&[provider.name(), FAILED]);
        }
        Ok(Self {
            tasks: all.add(IntGaugeVec::new(tasks, &["state"])?)?,
            oldest_task: gauges("autonous_task_oldest_age_seconds", "Age of the oldest task.", "state")?,
            replies: gauge("autonous_replies_waiting", "Messages that wait to be sent.")?,
            oldest_reply: all
                .add(Gauge::new("autonous_reply_oldest_age_seconds", "Age of the oldest that waits.")?)?,
            dead_replies: gauge("autonous_replies_dead", "Messages that were given up.")?,
            approvals: gauge("autonous_approvals_waiting", "Calls about which people were asked.")?,
            model_requests,
            model_seconds: all.add(model_seconds)?,
            model_tokens: counters("autonous_model_tokens_total", "Tokens of models by kind.", &["kind"])?,
            model_cost: all.add(IntCounter::new(
                "autonous_model_cost_micros_total",
                "What models cost, in millionths of the currency of their prices.",
            )?)?,
            model_circuits: all.add(IntCounter::new(
                "autonous_model_circuits_opened_total",
                "How often a model that kept failing was left alone for a while.",
            )?)?,
            restarts: counters("autonous_child_restarts_total", "Restarts of other programs.", &["child"])?,
            ready: gauge("autonous_ready", "Whether messages get answered: 1 or 0.")?,
            health: gauges("autonous_health", "How a part is: 1 well, 0.5 degraded, 0 failed.", "part")?,
            database: gauge("autonous_database_bytes", "Size of the database with its log.")?,
            journal: gauge("autonous_journal_bytes", "Size of the journal with its archives.")?,
            all,
            reading: Arc::default(),
        })
    }

    /// Counts what an event tells of a model.
    pub(crate) fn model(&self, event: &EventBody) {
        match event {
            EventBody::TurnCompleted(turn) => {
                let tokens = (turn.input_tokens, turn.cached_input_tokens, turn.output_tokens);
                self.replied(turn.provider.as_deref(), turn.latency_ms);
                self.used(tokens, turn.cost_micros);
            }
            EventBody::ModelRequestCompleted(request) => {
                let tokens = (request.input_tokens, request.cached_input_tokens, request.output_tokens);
                self.replied(request.provider.as_deref(), request.latency_ms);
                self.used(tokens, request.cost_micros);
            }
            EventBody::RetryScheduled(RetryScheduled::Request { failed, .. }) => {
                self.asked(failed.provider.as_deref(), "retried");
            }
            EventBody::RetryExhausted(RetryExhausted::Request(failed)) => {
                self.asked(failed.provider.as_deref(), FAILED);
            }
            EventBody::AgentFailed(failed) => {
                if let AgentFailure::Error { error_class, .. } = &failed.failure
                    && FINAL_CLASSES.contains(&error_class.as_str())
                {
                    self.asked(failed.provider.as_deref(), FAILED);
                }
            }
            EventBody::CircuitOpened(_) => self.model_circuits.inc(),
            _ => {}
        }
    }

    fn asked(&self, provider: Option<&str>, outcome: &str) {
        self.model_requests.with_label_values(&[label(provider), outcome]).inc();
    }

    fn replied(&self, provider: Option<&str>, latency_ms: u64) {
        self.asked(provider, "success");
        self.model_seconds.with_label_values(&[label(provider)]).observe(seconds(latency_ms));
    }

    fn used(&self, (input, cached, output): (u64, u64, u64), cost_micros: Option<u64>) {
        for (kind, tokens) in
            [("input", input.saturating_sub(cached)), ("cached_input", cached), ("output", output)]
        {
            self.model_tokens.with_label_values(&[kind]).inc_by(tokens);
        }
        self.model_cost.inc_by(cost_micros.unwrap_or_default());
    }

    /// How often a child was started again; 0 from its first start on.
    pub(crate) fn restarts_of(&self, child: &'static str) -> IntCounter {
        self.restarts.with_label_values(&[child])
    }

    /// The response to `GET /metrics`, after noting what was read for it.
    pub(crate) fn answer(&self, report: &Report, waiting: Option<&Figures>, sizes: Sizes) -> Response {
        let _one_at_a_time = locked(&self.reading);
        self.note_waiting(waiting);
        self.note_health(report);
        self.database.set(bytes(sizes.database));
        self.journal.set(bytes(sizes.journal));
        self.all.answer()
    }

    /// Notes what waits. Without an answer of the database there is nothing of it: an old figure would look
    /// like a new one.
    fn note_waiting(&self, figures: Option<&Figures>) {
        self.tasks.reset();
        self.oldest_task.reset();
        let Some(figures) = figures else { return };
        let Figures { queued, in_progress, waiting, dead, replies, dead_replies, approvals } = figures;
        let states = [("queued", queued), ("in_progress", in_progress), ("waiting", waiting), ("dead", dead)];
        for (state, group) in states {
            self.tasks.with_label_values(&[state]).set(group.count);
            if state != "dead" {
                self.oldest_task.with_label_values(&[state]).set(age(group));
            }
        }
        self.replies.set(replies.count);
        self.oldest_reply.set(age(replies));
        self.dead_replies.set(dead_replies.count);
        self.approvals.set(*approvals);
    }

    /// Notes how the parts are.
    fn note_health(&self, report: &Report) {
        self.ready.set(i64::from(report.ready));
        self.health.reset();
        for part in &report.parts {
            let value = match part.state {
                PartState::Ok => 1.0,
                PartState::Degraded => 0.5,
                PartState::Failed => 0.0,
                PartState::Off => continue,
            };
            self.health.with_label_values(&[&part.name.to_string()]).set(value);
        }
    }
}

/// The name of a provider, which a worker has sent.
fn label(provider: Option<&str>) -> &str {
    let name = provider.unwrap_or_default();
    let is_known = Provider::by_name(name).is_some() || LOCAL_PROVIDERS.contains(&name);
    if is_known { name } else { "unknown" }
}

/// In seconds; 0 without rows.
fn age(group: &Group) -> f64 {
    let since = group.oldest_ms.map_or(0, |oldest| now_ms().saturating_sub(oldest).max(0));
    seconds(u64::try_from(since).unwrap_or_default())
}

fn seconds(milliseconds: u64) -> f64 {
    Duration::from_millis(milliseconds).as_secs_f64()
}

fn bytes(size: u64) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}
