//! A fake service with OpenAI's `/audio/transcriptions`: it takes a form with a file and a model, and a key.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::json;

use crate::http::position;
use crate::serving::Serving;

pub const KEY: &str = "sk-FAKE-key-of-a-fake-transcriber";

#[derive(Debug)]
pub struct FakeTranscriber {
    serving: Serving,
    heard: Arc<Mutex<Vec<Vec<u8>>>>,
}

#[derive(Debug, Clone)]
struct Spoken {
    words: &'static str,
    heard: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl FakeTranscriber {
    /// A service that hears these words in every file.
    pub fn hearing(words: &'static str) -> Self {
        let heard = Arc::default();
        let spoken = Spoken { words, heard: Arc::clone(&heard) };
        let router = Router::new().route("/v1/audio/transcriptions", post(transcribe)).with_state(spoken);
        Self { serving: Serving::start(router), heard }
    }

    /// The base address.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.serving.address)
    }

    /// The forms that came.
    pub fn heard(&self) -> Vec<Vec<u8>> {
        self.heard.lock().expect("no handler panics").clone()
    }
}

async fn transcribe(State(spoken): State<Spoken>, headers: HeaderMap, form: Bytes) -> Response {
    if headers.get("authorization").is_none_or(|value| value != &format!("Bearer {KEY}")) {
        return (StatusCode::UNAUTHORIZED, axum::Json(json!({"error": {"message": "no key"}})))
            .into_response();
    }
    let has = |part: &str| position(&form, part.as_bytes()).is_some();
    if !has("name=\"model\"") || !has("name=\"file\"; filename=\"") {
        return (StatusCode::BAD_REQUEST, axum::Json(json!({"error": {"message": "no file"}})))
            .into_response();
    }
    spoken.heard.lock().expect("no handler panics").push(form.to_vec());
    axum::Json(json!({"text": spoken.words})).into_response()
}
