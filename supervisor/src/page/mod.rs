//! The page at the control port: what happens, to look at and to act on, in a browser.
//!
//! The crate `page` makes the HTML; here are the routes, who may ask, and the reading for each view. A view
//! reads the database and the tool server, never the other way round: nothing depends on the page, and
//! `AUTONOUS_PAGE=false` leaves the control port without it.
//!
//! Each request but those to sign in needs the cookie of a session (`sessions.rs`), and one that changes
//! something also names our own page as its origin (`guard.rs`).

mod actions;
mod approvals;
mod calls;
mod error;
mod files;
mod guard;
pub(crate) mod kept_outputs;
pub mod links;
pub(crate) mod live;
mod now;
mod outlook;
mod read;
pub mod sessions;
mod show;
mod sign_in;
mod talk;
mod tasks;
mod tools;
mod upload;

use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{get, post};
use axum::{Extension, Router};

use crate::channels::page::MOST_BYTES;
use crate::control::Control;
use kept_outputs::KeptOutputs;
use live::Live;
use sessions::Sessions;

/// What the page has beside the rest of the control port.
#[derive(Debug)]
pub(crate) struct Page {
    pub sessions: Sessions,
    pub live: Live,
    pub outputs: Arc<KeptOutputs>,
}

/// The routes for programs with the control token; they say so where the page is switched off.
pub(crate) fn for_programs(page: Option<Arc<Page>>) -> Router<Arc<Control>> {
    Router::new()
        .route("/session/link", post(links::post_link))
        .route("/session/end-all", post(links::post_end_all))
        .layer(Extension(page))
}

/// The views at routes that programs use as well.
pub(crate) fn for_browsers(control: &Arc<Control>, page: &Arc<Page>) -> Router {
    Router::new()
        .route("/approvals", get(approvals::get_approvals))
        .route("/approvals/{id}", get(approvals::get_approval))
        .layer(from_fn_with_state(Arc::clone(page), guard::require_session))
        .layer(from_fn(guard::with_policy))
        .with_state(Arc::clone(control))
}

/// The routes of the page.
pub(crate) fn routes(page: &Arc<Page>) -> Router<Arc<Control>> {
    let open = Router::new()
        .route("/sign-in", get(sign_in::get_sign_in))
        .route("/session", get(sign_in::follow_link).post(sign_in::post_session))
        .route("/assets/{name}", get(sign_in::get_asset))
        .route("/favicon.ico", get(sign_in::get_icon));
    let upload = Router::new()
        .route("/chat/{chat}", get(talk::get_chat).post(talk::post_message))
        .layer(DefaultBodyLimit::max(MOST_BYTES));
    let kept = Router::new()
        .merge(upload)
        .route("/", get(now::get_now))
        .route("/chat", get(talk::get_chats))
        .route("/chat/open", get(talk::open_chat))
        .route("/page-files/{id}", get(talk::get_file))
        .route("/tasks", get(tasks::get_tasks))
        .route("/tasks/{id}", get(tasks::get_task))
        .route("/calls/{id}", get(calls::get_call))
        .route("/calls/{id}/output", get(calls::get_output))
        .route("/files", get(files::get_files))
        .route("/files/raw", get(files::get_raw))
        .route("/tools", get(tools::get_tools))
        .route("/tools/{name}/try", post(tools::post_try))
        .route("/usage", get(outlook::get_usage))
        .route("/schedules", get(outlook::get_schedules))
        .route("/settings", get(outlook::get_settings))
        .route("/session/end", post(sign_in::post_end))
        .route("/live/{view}", get(live::get_live))
        .route("/live/{view}/{id}", get(live::get_live_of))
        .route("/act/tasks/{id}/cancel", post(actions::cancel))
        .route("/act/tasks/{id}/requeue", post(actions::requeue))
        .route("/act/approvals/{id}", post(approvals::decide))
        .route("/act/undo", post(actions::undo))
        .route("/act/resend", post(actions::resend))
        .route("/act/schedules/cancel", post(actions::cancel_schedule))
        .layer(from_fn_with_state(Arc::clone(page), guard::require_session));
    // POST /tools/{name} is a call of the tool server with the token.
    let tool = get(tools::get_tool).layer(from_fn_with_state(Arc::clone(page), guard::require_session));
    let kept = kept.route("/tools/{name}", tool);
    Router::new()
        .merge(open)
        .merge(kept)
        .layer(from_fn(guard::with_policy))
        .layer(Extension(Arc::clone(page)))
}
