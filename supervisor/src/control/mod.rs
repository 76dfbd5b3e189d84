//! The control port: requests about tasks and messages, and the health of the supervisor.
//!
//! Every route except `/livez` and `/readyz` needs the control token, and no route accepts a foreign Host or
//! Origin, so that a web page cannot reach it by DNS rebinding.

pub(crate) mod body;
pub(crate) mod error;
pub(crate) mod guard;
pub(crate) mod health;
pub(crate) mod outbox;
pub(crate) mod retention;
pub(crate) mod tasks;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use process::Secret;
use protocol::EventId;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::cancel_signal::CancelSignal;
use crate::channel::Channels;
use crate::children::ChildrenStates;
use crate::store::Store;
use error::ControlError;

const MAX_BODY_BYTES: usize = 1024 * 1024;

#[derive(Debug)]
pub(crate) struct Control {
    /// Required by all but the health routes.
    pub token: Secret,
    pub address: SocketAddr,
    pub store: Store,
    /// The tool server's journal.
    pub journal: PathBuf,
    /// This run's `process.started`.
    pub run: EventId,
    pub children: ChildrenStates,
    /// Sent when a task is cancelled.
    pub cancel_signal: CancelSignal,
    /// They format replies and send what comes to `POST /outbox`.
    pub channels: Channels,
    /// Ends long polls.
    pub stop: CancellationToken,
}

/// Serves until `stop`. `channel_routes` are those of channels that receive on this port.
pub(crate) async fn serve(
    listener: TcpListener,
    control: Control,
    channel_routes: Router<Arc<Control>>,
) -> std::io::Result<()> {
    let stop = control.stop.clone();
    axum::serve(listener, router(Arc::new(control), channel_routes))
        .with_graceful_shutdown(stop.cancelled_owned())
        .await
}

fn router(control: Arc<Control>, channel_routes: Router<Arc<Control>>) -> Router {
    let with_token = Router::new()
        .merge(channel_routes)
        .route("/tasks/requeue", post(tasks::requeue_many))
        .route("/tasks/{task_id}/requeue", post(tasks::requeue))
        .route("/tasks/{task_id}/cancel", post(tasks::cancel))
        .route("/prune", post(retention::post_prune))
        .route("/outbox", post(outbox::post_outbox).layer(DefaultBodyLimit::max(outbox::MAX_BODY_BYTES)))
        .route("/outbox/{outbox_id}", get(outbox::get_outbox))
        .layer(from_fn_with_state(control.clone(), guard::require_token));
    Router::new()
        .merge(with_token)
        .route("/livez", get(health::livez))
        .route("/readyz", get(health::readyz))
        .fallback(async || ControlError::NoSuchRoute)
        .method_not_allowed_fallback(async || ControlError::MethodNotAllowed)
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(from_fn_with_state(control.clone(), guard::require_own_host))
        .with_state(control)
}
