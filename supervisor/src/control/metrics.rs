//! `GET /metrics`: what the supervisor counts, for Prometheus.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use store::queries::{self, QueryError, figures};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::Control;
use crate::metrics::Sizes;

/// How long reading the database may take; without it, what waits is left out.
const PATIENCE: Duration = Duration::from_millis(800);

pub(crate) async fn get_metrics(State(control): State<Arc<Control>>) -> Response {
    let (database, journal) = (control.monitor.database_path(), control.journal.clone());
    let path = database.clone();
    let waiting = spawn_blocking(move || Ok::<_, QueryError>(figures::figures(&queries::open(&path)?)?));
    let (report, waiting) = tokio::join!(control.monitor.report(), timeout(PATIENCE, waiting));
    let waiting = waiting.ok().and_then(Result::ok).and_then(Result::ok);
    control.meters.answer(&report, waiting.as_ref(), Sizes::of(&database, &journal))
}
