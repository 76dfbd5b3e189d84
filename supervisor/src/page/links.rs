//! `POST /session/link` and `POST /session/end-all`: who may see the page, for programs with the token.

use std::sync::Arc;

use axum::{Extension, Json};
use serde::{Deserialize, Serialize};

use super::Page;
use super::sessions::Sessions;
use crate::control::error::ControlError;

/// A link that signs in at the page, once and within five minutes.
#[derive(Debug, Serialize, Deserialize)]
pub struct Link {
    /// Its path and query.
    pub path: String,
}

/// The sessions that were ended.
#[derive(Debug, Serialize, Deserialize)]
pub struct Ended {
    pub sessions: usize,
}

/// The page; none if it is switched off.
pub(super) type MaybePage = Extension<Option<Arc<Page>>>;

pub(super) async fn post_link(Extension(page): MaybePage) -> Result<Json<Link>, ControlError> {
    let code = sessions(page.as_ref())?.make_link()?;
    Ok(Json(Link { path: format!("/session?once={code}") }))
}

pub(super) async fn post_end_all(Extension(page): MaybePage) -> Result<Json<Ended>, ControlError> {
    let sessions = sessions(page.as_ref())?.end_all().await?;
    Ok(Json(Ended { sessions }))
}

fn sessions(page: Option<&Arc<Page>>) -> Result<&Sessions, ControlError> {
    page.map(|page| &page.sessions).ok_or(ControlError::PageOff)
}
