//! Which requests are let in: for our own host, not from a foreign web page, with the token.
//!
//! A web page can make a browser send requests here under its own host name if that resolves to this machine
//! (DNS rebinding). Host and Origin reveal that, so both are compared with our own names.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::Response;
use process::Secret;
use protocol::{ErrorCode, ToolError};
use toolkit::arguments::elide;

use super::response;

/// The names and the token that requests are checked against.
#[derive(Debug)]
pub struct Access {
    token: Option<Secret>,
    hosts: Vec<String>,
}

impl Access {
    /// Loopback names with the port of `address`, the address itself, and `more` names (a port is optional).
    pub fn new(token: Option<Secret>, address: SocketAddr, more: &[String]) -> Self {
        let port = address.port();
        let mut hosts = vec![
            format!("127.0.0.1:{port}"),
            format!("localhost:{port}"),
            format!("[::1]:{port}"),
            address.to_string(),
        ];
        if port == 80 {
            hosts.extend(["127.0.0.1", "localhost", "[::1]"].map(str::to_owned));
        }
        hosts.extend(
            more.iter().flat_map(|host| [host.to_lowercase(), format!("{}:{port}", host.to_lowercase())]),
        );
        Self { token, hosts }
    }

    pub(crate) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    fn is_own(&self, host: &str) -> bool {
        self.hosts.contains(&host.to_lowercase())
    }

    /// The request must name exactly one host, in its header and its target, and it must be ours.
    fn check_host(&self, headers: &HeaderMap, target: Option<&Authority>) -> Result<(), ToolError> {
        let mut named = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (named.next(), named.next()) else {
            return Err(refused("A request must have exactly one Host header.".to_owned()));
        };
        let host = host.to_str().unwrap_or_default();
        for name in std::iter::once(host).chain(target.map(Authority::as_str)) {
            if !self.is_own(name) {
                return Err(refused(format!(
                    "The host {:?} is not one of this server's names.",
                    elide(name, 100)
                )));
            }
        }
        Ok(())
    }

    /// A browser names the page that sends the request; it must be ours.
    fn check_origin(&self, headers: &HeaderMap) -> Result<(), ToolError> {
        for origin in headers.get_all(header::ORIGIN) {
            let origin = origin.to_str().unwrap_or_default();
            let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            if !host.is_some_and(|host| self.is_own(host)) {
                return Err(refused(format!("The origin {:?} is not this server.", elide(origin, 100))));
            }
        }
        Ok(())
    }

    fn check_token(&self, headers: &HeaderMap) -> Result<(), ToolError> {
        let Some(token) = &self.token else { return Ok(()) };
        if headers.get_all(header::AUTHORIZATION).iter().count() != 1 {
            return Err(ToolError::new(ErrorCode::Unauthorized, "The request has no token, or several."));
        }
        match presented_token(headers) {
            Some(presented) if token.matches(presented) => Ok(()),
            _ => Err(ToolError::new(ErrorCode::Unauthorized, "The token is wrong.")),
        }
    }
}

/// The bearer token of a request that has one `Authorization` header.
pub(super) fn presented_token(headers: &HeaderMap) -> Option<&str> {
    let mut sent = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(authorization), None) = (sent.next(), sent.next()) else { return None };
    let (scheme, bearer) = authorization.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| bearer.trim())
}

fn refused(message: String) -> ToolError {
    ToolError::new(ErrorCode::OriginRefused, message)
}

/// Refuses requests for other hosts and from foreign pages, on every route.
pub(super) async fn require_own_host(
    State(access): State<Arc<Access>>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    let checked =
        access.check_host(headers, request.uri().authority()).and_then(|()| access.check_origin(headers));
    match checked {
        Ok(()) => next.run(request).await,
        Err(error) => response::error_response(response::tool_in(request.uri().path()), error),
    }
}

pub(super) async fn require_token(
    State(access): State<Arc<Access>>,
    request: Request,
    next: Next,
) -> Response {
    match access.check_token(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(error) => response::error_response(response::tool_in(request.uri().path()), error),
    }
}
