//! The catalogue that `GET /tools` sends, with a tag that says whether it changed.
//!
//! It is made at the start and never changes while the server runs. Every answer to a call carries the tag,
//! so that a caller notices a server that was restarted with other tools. The same tools always give the
//! same bytes and tag.

use axum::http::HeaderValue;
use bytes::Bytes;
use protocol::ToolSpec;
use serde_json::json;

/// The header of every answer to a call: the tag of the catalogue that the call was checked against.
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

    pub(super) fn body(&self) -> Bytes {
        self.body.clone()
    }

    pub(super) fn tag(&self) -> &HeaderValue {
        &self.tag
    }
}
