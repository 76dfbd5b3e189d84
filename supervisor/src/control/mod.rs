//! The control port: requests about tasks and messages, and the health of the supervisor.
//!
//! Every route except `/livez`, `/readyz` and those of the page needs the control token, or the one that only
//! reads where `reading.rs` says that it suffices, and no route accepts a foreign Host or
//! Origin, so that a web page cannot reach it by DNS rebinding.

pub(crate) mod approvals;
pub(crate) mod body;
pub mod chats;
pub mod error;
pub(crate) mod guard;
pub(crate) mod health;
pub mod journal;
mod metrics;
pub mod nodes;
pub(crate) mod outbox;
mod reading;
pub mod retention;
pub mod status;
pub mod tasks;
pub(crate) mod tools;
pub mod undo;
mod waiting;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use channel::Channels;
use futures_util::FutureExt as _;
use http_port::{Access, Bounds, Routes};
use process::Secret;
use protocol::EventId;
use store::Store;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::approvals::client::Approvals;
use crate::journal::Journal;
use crate::metrics::Meters;
use crate::monitor::Monitor;
use crate::readers::Readers;
use crate::reception::Inbound;
use crate::tool_files::ToolFiles;
use crate::undo::Undoer;
use crate::words::Words;
use error::ControlError;

/// Who asked, in the events.
const BY: &str = "control";

const MAX_BODY_BYTES: usize = 1024 * 1024;

/// How long running requests may take at shutdown.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Control {
    /// The token is required by all but the health routes.
    pub access: Access,
    /// The token with which clients only read, if there is one.
    pub read_token: Option<Secret>,
    pub store: Store,
    /// They read it past the writer.
    pub readers: Arc<Readers>,
    /// What received messages go through.
    pub inbound: Inbound,
    /// The tool server's journal.
    pub journal: PathBuf,
    /// What reads it.
    pub follower: Journal,
    /// Reverts the file changes of tasks.
    pub undoer: Undoer,
    /// This run's `process.started`.
    pub run: EventId,
    pub monitor: Arc<Monitor>,
    /// They format replies and send what comes to `POST /outbox`.
    pub channels: Channels,
    /// Makes the calls that come in here.
    pub tool_server: ToolFiles,
    /// The tool server's approvals.
    pub approvals: Approvals,
    /// What the models of the running tasks write.
    pub words: Words,
    /// What is counted.
    pub meters: Meters,
    /// Whether that is read without the token.
    pub has_public_metrics: bool,
    /// Ends long polls.
    pub stop: CancellationToken,
}

/// What others have on this port.
#[derive(Debug, Default)]
pub(crate) struct Others {
    /// For programs with the control token.
    pub with_token: Router<Arc<Control>>,
    /// They decide themselves who may ask.
    pub open: Router<Arc<Control>>,
    /// What answers a `GET` without a token, at the routes that programs and browsers share.
    pub browsers: Option<Router>,
}

/// Serves until `stop`.
pub(crate) async fn serve(listener: TcpListener, control: Arc<Control>, others: Others) {
    let stop = control.stop.clone().cancelled_owned().map(|()| PATIENCE);
    let bounds = Bounds::for_open_files(process::open_files::limit());
    let routes = routes(&control, others);
    http_port::serve(listener, None, routes, bounds, stop).await;
}

fn routes(control: &Arc<Control>, others: Others) -> Routes {
    let when_full = Router::new().route("/livez", get(health::livez)).fallback(async || ControlError::NoRoom);
    let (all, when_full) = (guarded(all(control, others), control), guarded(when_full, control));
    Routes { all, when_full, metrics: Some(control.meters.all.clone()) }
}

fn all(control: &Arc<Control>, others: Others) -> Router<Arc<Control>> {
    let Others { with_token: of_others, open: open_to_others, browsers } = others;
    let metrics = || Router::new().route("/metrics", get(metrics::get_metrics));
    let (open, kept) =
        if control.has_public_metrics { (metrics(), Router::new()) } else { (Router::new(), metrics()) };
    let with_token = Router::new()
        .merge(of_others)
        .merge(kept)
        .route("/tasks/requeue", post(tasks::requeue_many))
        .route("/tasks/{task_id}/requeue", post(tasks::requeue))
        .route("/tasks/{task_id}/cancel", post(tasks::cancel))
        .route("/undo", post(undo::post_undo))
        .route("/tools/{name}", post(tools::post_tool))
        .route("/approvals/stream", get(approvals::stream))
        .route("/status", get(status::get_status))
        .route("/chats", get(chats::get_chats))
        .route("/chats/move", post(nodes::post_move))
        .route("/nodes", get(nodes::get_nodes))
        .route("/nodes/drain", post(nodes::post_drain))
        .route("/nodes/resume", post(nodes::post_resume))
        .route("/pair", post(chats::post_pair))
        .route("/unpair", post(chats::post_unpair))
        .route("/prune", post(retention::post_prune))
        .route("/journal/accept", post(journal::post_accept))
        .route("/outbox", post(outbox::post_outbox).layer(DefaultBodyLimit::max(outbox::MAX_BODY_BYTES)))
        .route("/outbox/resend", post(outbox::post_resend))
        .route("/outbox/{outbox_id}", get(outbox::get_outbox))
        .layer(from_fn_with_state(control.clone(), guard::require_token));
    let by_whom = (Arc::clone(control), browsers);
    let shared = Router::new()
        .route("/approvals", get(approvals::list))
        .route("/approvals/{id}", get(approvals::one).post(approvals::decide))
        .layer(from_fn_with_state(by_whom, guard::require_token_or_browser));
    Router::new()
        .merge(with_token)
        .merge(shared)
        .merge(open)
        .merge(open_to_others)
        .route("/livez", get(health::livez))
        .route("/readyz", get(health::readyz))
        .fallback(async || ControlError::NoSuchRoute)
        .method_not_allowed_fallback(async || ControlError::MethodNotAllowed)
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
}

fn guarded(routes: Router<Arc<Control>>, control: &Arc<Control>) -> Router {
    let own_host = from_fn_with_state(Arc::clone(control), guard::require_own_host);
    routes.layer(own_host).with_state(Arc::clone(control))
}
