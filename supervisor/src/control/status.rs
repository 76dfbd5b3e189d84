//! `GET /status`: what the service sees of itself, for `supervisor check` and for people.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use store::queries::figures::Figures;

use super::Control;
use super::waiting::waiting;
use crate::config::Settings;
use crate::health::Report;

#[derive(Debug, Serialize, Deserialize)]
pub struct Status {
    /// Of the program that runs; empty from one that did not say it yet.
    #[serde(default)]
    pub version: String,
    #[serde(flatten)]
    pub report: Report,
    /// The settings that hold, by variable; secrets are left out.
    pub settings: Settings,
    pub counts: Counts,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Open tasks by state, and those that were given up.
    pub tasks: BTreeMap<String, i64>,
    /// Messages that wait to be sent, and those that were given up.
    pub outbox: BTreeMap<String, i64>,
}

pub(crate) async fn get_status(State(control): State<Arc<Control>>) -> Json<Status> {
    let (report, waiting) = tokio::join!(control.monitor.report(), waiting(&control.monitor));
    let counts = waiting.as_ref().map(Counts::of).unwrap_or_default();
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Json(Status { version, report, settings: control.inbound.current.settings(), counts })
}

impl Counts {
    fn of(figures: &Figures) -> Self {
        let queued = figures.queued.count + figures.waiting.count;
        let tasks =
            [("queued", queued), ("in_progress", figures.in_progress.count), ("dead", figures.dead.count)];
        let outbox = [("queued", figures.replies.count), ("dead", figures.dead_replies.count)];
        Self { tasks: by_state(tasks), outbox: by_state(outbox) }
    }
}

fn by_state<const N: usize>(counts: [(&str, i64); N]) -> BTreeMap<String, i64> {
    counts.into_iter().map(|(state, count)| (state.to_owned(), count)).collect()
}
