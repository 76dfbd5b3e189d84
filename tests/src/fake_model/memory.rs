//! What a model that thinks remembers of its replies, to tell whether a request brings their reasoning back.
//!
//! A real server proves that with signatures; here the reply itself is remembered, by the IDs of its calls.

use std::collections::HashMap;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::{House, ModelReply, Said, Usage};

pub(super) struct Memory {
    pub(super) house: House,
    /// The replies with a thought, by the numbers of their requests.
    replies: HashMap<usize, Said>,
}

/// A response that is no reply.
#[derive(Debug)]
pub(super) struct Refusal {
    status: u16,
    body: Value,
}

impl Memory {
    pub(super) fn new(house: House) -> Self {
        Self { house, replies: HashMap::new() }
    }

    pub(super) fn saying(&mut self, reply: &ModelReply, usage: Usage, model: &str, number: usize) -> Said {
        let (text, calls, is_cut) = reply.said();
        let said = Said {
            text: text.to_owned(),
            calls: calls.to_vec(),
            thought: reply.thought().map(str::to_owned),
            is_cut,
            usage,
            house: self.house,
            model: model.to_owned(),
            number,
        };
        if said.thought.is_some() {
            self.replies.insert(number, said.clone());
        }
        said
    }

    /// The reply with this call, if the same model thought before it.
    pub(super) fn thought_with(&self, call_id: &Value, model: &Value) -> Option<&Said> {
        let number = call_id.as_str()?.split('_').nth(1)?.parse().ok()?;
        self.replies.get(&number).filter(|said| *model == said.model)
    }

    /// The reply to this request, if there was a thought before it.
    pub(super) fn reply(&self, number: usize) -> Option<&Said> {
        self.replies.get(&number)
    }

    /// The reply in which a signature came.
    pub(super) fn signed(&self, signature: &Value) -> Option<&Said> {
        let number = signature.as_str()?.trim_end_matches('=').split('/').nth_back(1)?.parse().ok()?;
        self.replies.get(&number)
    }
}

impl Refusal {
    /// As OpenAI and most others word it.
    pub(super) fn of_openai(message: &str, param: Option<&str>) -> Self {
        let kind = "invalid_request_error";
        Self {
            status: 400,
            body: json!({"error": {"message": message, "type": kind, "param": param, "code": null}}),
        }
    }

    pub(super) fn of_anthropic(message: &str) -> Self {
        let error = json!({"type": "invalid_request_error", "message": message});
        Self { status: 400, body: json!({"type": "error", "error": error}) }
    }

    pub(super) fn of_google(message: &str) -> Self {
        let error = json!({"code": 400, "message": message, "status": "INVALID_ARGUMENT"});
        Self { status: 400, body: json!({"error": error}) }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).expect("it is a status");
        (status, axum::Json(self.body)).into_response()
    }
}
