//! What a provider's protocol is beside HTTP: where a request goes, what it has, and how a reply is read.

use reqwest::RequestBuilder;
use serde_json::Value;

use super::{ReplyBuilder, RequestError, Settings};
use crate::model::{Origin, Request};

/// A provider. It may remember what its server takes.
pub(in crate::model) trait Protocol: Send + Sync {
    /// The model that is asked where no setting names one.
    fn default_model(&self) -> &'static str;

    /// The path of requests below the base address, for a model of this name.
    fn path(&self, model: &str) -> String;

    /// Puts the key into a request.
    fn sign(&self, request: RequestBuilder, settings: &Settings) -> RequestBuilder;

    /// The body of a request. Reasoning from `origin` goes back in it.
    fn body(&self, settings: &Settings, origin: &Origin, request: Request<'_>) -> Value;

    fn reply_builder(&self) -> Box<dyn ReplyBuilder>;

    /// Takes out of a refused body what the server may not take, or adds what it may lack; false if nothing
    /// is left to try.
    fn amend(&self, _refused: &RequestError, _body: &mut Value) -> bool {
        false
    }

    /// Notes what the server takes: it has accepted this body after so many refusals.
    fn accepted(&self, _body: &Value, _refusals: usize) {}

    /// Notes what a reply, whose reasoning is this, shows about the model.
    fn replied(&self, _reasoning: &Value) {}

    /// What to do about a refusal of this body.
    fn remedy(&self, _refused: &RequestError, _body: &Value) -> Option<&'static str> {
        None
    }
}

/// The type that an event, an item or a block names.
pub(in crate::model) fn kind(value: &Value) -> &str {
    value["type"].as_str().unwrap_or_default()
}

/// Puts a value at a place in a body, if there is one.
pub(in crate::model) fn put(body: &mut Value, place: &[&str], value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        let field = place.iter().fold(body, |inner, name| &mut inner[*name]);
        *field = value.into();
    }
}
