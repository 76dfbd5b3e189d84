//! `POST /prune`: deletes old tasks, events and journal files while the supervisor keeps running.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use protocol::now_ms;
use serde::{Deserialize, Serialize};
use store::retention::Pruned;

use super::Control;
use super::body::{self, Body, invalid};
use super::error::ControlError;
use crate::retention::{SHORTEST, prune};
use settings::Span;

const HINT: &str = "Send {\"older_than_seconds\": 2592000}; the minimum is 3600.";

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PruneRequest {
    /// How long ago a task must have ended, in seconds.
    pub older_than_seconds: u64,
}

/// Responds when it is done. It finishes even if the client disconnects.
pub(crate) async fn post_prune(
    State(control): State<Arc<Control>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Pruned>, ControlError> {
    let request: PruneRequest = body::parse(&headers, body, HINT)?;
    let span = Span(Duration::from_secs(request.older_than_seconds));
    if span.0 < SHORTEST {
        return Err(invalid("`older_than_seconds` is less than an hour", HINT));
    }
    let work = tokio::spawn(async move {
        let run = Some(control.run.clone());
        prune(&control.store, &control.journal, run, span.before(now_ms()), |_| ()).await
    });
    let pruned = work.await.map_err(|_| ControlError::PruneFailed)?;
    pruned.map(Json).map_err(|error| {
        tracing::error!(%error, "pruning failed");
        ControlError::PruneFailed
    })
}
