//! Streamable HTTP: the current revision without sessions, and the older ones with them.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{Caller, Handler};

/// The header with the ID of a session, in the revisions that have them.
const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// The most sessions at once. Each takes a task and its channels.
const MAX_SESSIONS: usize = 256;

/// How long a session is kept without a message. Most clients do not open another one by themselves.
const MAX_IDLE: Duration = Duration::from_secs(3600);

type Service = StreamableHttpService<Arc<Handler>, LocalSessionManager>;
type Answer = Response<BoxBody<Bytes, Infallible>>;

/// MCP over HTTP.
pub struct HttpFace {
    sessions: Arc<LocalSessionManager>,
    calls: Service,
    /// The same for streams on which clients only listen: they end with [`HttpFace::close`].
    listening: Service,
    closing: CancellationToken,
}

impl std::fmt::Debug for HttpFace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpFace").finish_non_exhaustive()
    }
}

impl HttpFace {
    /// The face of a handler.
    pub fn new(handler: Handler) -> Self {
        let handler = Arc::new(handler);
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(MAX_IDLE);
        let sessions = Arc::new(sessions);
        // Who sent a request, and how much, is checked before it comes here.
        let checked = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_max_request_body_bytes(usize::MAX)
            .with_json_response(true);
        let closing = CancellationToken::new();
        let service = |config| {
            let handler = Arc::clone(&handler);
            StreamableHttpService::new(move || Ok(Arc::clone(&handler)), Arc::clone(&sessions), config)
        };
        let listening = service(checked.clone().with_cancellation_token(closing.clone()));
        Self { calls: service(checked), listening, sessions, closing }
    }

    /// Answers a request whose body has been read. None if it would open one session too many.
    pub async fn answer(&self, mut request: Request<()>, body: Vec<u8>, caller: Caller) -> Option<Answer> {
        let caller = match request.headers().get(SESSION_ID) {
            Some(id) => caller.in_protocol_session(id.as_bytes()),
            None => caller,
        };
        request.extensions_mut().insert(caller);
        if request.method() != Method::POST {
            let is_end = request.method() == Method::DELETE;
            let mut answer = self.listening.handle(request.map(|()| Full::<Bytes>::default())).await;
            // Clients take another status for a failure.
            if is_end && answer.status() == StatusCode::ACCEPTED {
                *answer.status_mut() = StatusCode::NO_CONTENT;
            }
            return Some(answer);
        }
        if may_open_session(request.headers()) && self.sessions.sessions.read().await.len() >= MAX_SESSIONS {
            return None;
        }
        let body = Bytes::from(body);
        let answer = self.calls.handle(request.map(|()| Full::new(body.clone()))).await;
        // The type of the body has been checked, so it is not JSON or no message.
        Some(match answer.status() {
            StatusCode::UNSUPPORTED_MEDIA_TYPE => not_a_message(&body),
            _ => answer,
        })
    }

    /// Ends the streams on which clients only listen: the server ends.
    pub fn close(&self) {
        self.closing.cancel();
    }
}

/// Without the ID of a session, in a revision that has them or in none.
fn may_open_session(headers: &HeaderMap) -> bool {
    let revision = headers.get("mcp-protocol-version").and_then(|value| value.to_str().ok());
    !headers.contains_key(SESSION_ID) && revision.is_none_or(|revision| revision < "2026-07-28")
}

fn not_a_message(body: &[u8]) -> Answer {
    let (code, message) = match serde_json::from_slice::<Value>(body) {
        Err(error) => (-32700, format!("Parse error: {error}.")),
        Ok(Value::Array(_)) => (-32600, "Invalid request: send one message at a time.".to_owned()),
        Ok(_) => (-32600, "Invalid request: it is no message of MCP.".to_owned()),
    };
    let body = json!({"jsonrpc": "2.0", "id": null, "error": {"code": code, "message": message}});
    let mut answer = Response::new(Full::new(Bytes::from(body.to_string())).boxed());
    *answer.status_mut() = StatusCode::BAD_REQUEST;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}
