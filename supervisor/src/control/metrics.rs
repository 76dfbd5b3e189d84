//! `GET /metrics`: what the supervisor counts, for Prometheus.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use store::Location;
use store::open::size_on_server;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::Control;
use super::waiting::waiting;
use crate::metrics::Sizes;

/// How long the database may take to say its size.
const PATIENCE: Duration = Duration::from_millis(800);

pub(crate) async fn get_metrics(State(control): State<Arc<Control>>) -> Response {
    let (report, waiting) = tokio::join!(control.monitor.report(), waiting(&control.monitor));
    let sizes = sizes(&control).await;
    control.meters.answer(&report, waiting.as_ref(), sizes)
}

/// The size of a database is 0 while its server gives no answer.
async fn sizes(control: &Control) -> Sizes {
    let journal = control.journal.clone();
    let on_server = match control.monitor.database_location() {
        Location::File(file) => return Sizes::of(&file, &journal),
        Location::Server(_) => {
            let readers = Arc::clone(&control.readers);
            let size = move || readers.read(|connection| Ok(size_on_server(connection)?));
            timeout(PATIENCE, spawn_blocking(size)).await
        }
    };
    let database = on_server.ok().and_then(Result::ok).and_then(Result::ok).flatten();
    Sizes { database: database.map(i64::unsigned_abs).unwrap_or_default(), ..Sizes::of_journal(&journal) }
}
