//! The requests for updates: who waits for them, and when. Programs that reach the server by addresses of
//! their own are told apart by them.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::header::HOST;
use protocol::now_ms;

use super::FakeTelegram;
use super::state::{Poll, Shared};

/// Ends the request when it is answered, or its connection has ended.
pub(super) struct Waiting {
    shared: Arc<Shared>,
    index: usize,
}

impl Waiting {
    pub(super) fn begin(shared: &Arc<Shared>, headers: &HeaderMap) -> Self {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default().to_owned();
        let mut state = shared.lock();
        state.polls.push(Poll { host, from_ms: now_ms(), until_ms: None });
        Self { shared: Arc::clone(shared), index: state.polls.len() - 1 }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.shared.lock().polls[self.index].until_ms = Some(now_ms());
    }
}

impl FakeTelegram {
    /// The requests for updates, in the order in which they came.
    pub fn polls(&self) -> Vec<Poll> {
        self.shared.lock().polls.clone()
    }
}
