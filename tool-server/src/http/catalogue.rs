//! `GET /tools`: the catalogue, with a tag that says whether it is still the same.
//!
//! It is made at the start and never changes while the server runs. A caller that comes back with the tag
//! is told that nothing changed, and every answer to a call carries the tag, so that a caller notices a
//! server that was started anew with other tools. The same tools always give the same bytes and tag.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use protocol::ToolSpec;
use serde_json::json;

use super::App;

/// The header of every answer to a call, with the tag of the catalogue that the call was judged by.
pub(super) const TAG_HEADER: &str = "x-catalogue-tag";

/// The catalogue as it is sent.
#[derive(Debug, Clone)]
pub struct Catalogue {
    body: Bytes,
    tag: HeaderValue,
}

impl Catalogue {
    /// The catalogue of these tools, which are sorted by name.
    pub fn new(tools: &[&ToolSpec]) -> Result<Self, serde_json::Error> {
        let body = serde_json::to_vec(&json!({ "tools": tools }))?;
        let hash = protocol::hash::sha256(&body);
        let tag = HeaderValue::try_from(format!("\"{hash}\"")).expect("hex digits in quotes are a header");
        Ok(Self { body: Bytes::from(body), tag })
    }

    /// The tag.
    pub(super) fn tag(&self) -> HeaderValue {
        self.tag.clone()
    }
}

/// Sends the catalogue, or says that the caller has it already.
pub(super) async fn get(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let tag = [(header::ETAG, app.catalogue.tag())];
    if headers.get(header::IF_NONE_MATCH) == Some(&app.catalogue.tag) {
        return (StatusCode::NOT_MODIFIED, tag).into_response();
    }
    let media_type = [(header::CONTENT_TYPE, "application/json")];
    (tag, media_type, app.catalogue.body.clone()).into_response()
}
