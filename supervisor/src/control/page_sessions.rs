//! `POST /session/link` and `POST /session/end-all`: who may see the page, for the command line.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};

use super::Control;
use super::error::ControlError;
use crate::page::sessions::Sessions;

/// A link that signs in at the page, once and within five minutes.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Link {
    /// Its path and query.
    pub path: String,
}

/// The sessions that were ended.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Ended {
    pub sessions: usize,
}

pub(super) async fn post_link(State(control): State<Arc<Control>>) -> Result<Json<Link>, ControlError> {
    let code = sessions(&control)?.make_link()?;
    Ok(Json(Link { path: format!("/session?once={code}") }))
}

pub(super) async fn post_end_all(State(control): State<Arc<Control>>) -> Result<Json<Ended>, ControlError> {
    let sessions = sessions(&control)?.end_all().await?;
    Ok(Json(Ended { sessions }))
}

fn sessions(control: &Control) -> Result<&Sessions, ControlError> {
    control.page.as_ref().map(|page| &page.sessions).ok_or(ControlError::PageOff)
}
