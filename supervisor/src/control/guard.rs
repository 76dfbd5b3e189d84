//! Who may send requests: checks the token, the Host and the Origin.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName};
use axum::middleware::Next;
use axum::response::Response;

use super::Control;
use super::error::ControlError;

pub(crate) async fn require_token(
    State(control): State<Arc<Control>>,
    request: Request,
    next: Next,
) -> Result<Response, ControlError> {
    let given = text_of(request.headers(), &AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
    if given.is_some_and(|token| control.token.matches(token.trim())) {
        Ok(next.run(request).await)
    } else {
        Err(ControlError::Unauthorized)
    }
}

/// Requires one of our own names as Host, and no foreign Origin.
pub(crate) async fn require_own_host(
    State(control): State<Arc<Control>>,
    request: Request,
    next: Next,
) -> Result<Response, ControlError> {
    let host = text_of(request.headers(), &HOST).unwrap_or("");
    let origin =
        request.headers().contains_key(ORIGIN).then(|| text_of(request.headers(), &ORIGIN).unwrap_or(""));
    let (ip, port) = (control.address.ip(), control.address.port());
    if !is_own(host, ip, port) {
        return Err(ControlError::ForeignHost(format!("Host {host:?}")));
    }
    match origin {
        Some(origin) if !origin.strip_prefix("http://").is_some_and(|origin| is_own(origin, ip, port)) => {
            Err(ControlError::ForeignHost(format!("Origin {origin:?}")))
        }
        Some(_) | None => Ok(next.run(request).await),
    }
}

/// Whether an authority is a loopback name or our listening address, with our port.
fn is_own(authority: &str, ip: IpAddr, port: u16) -> bool {
    let Ok(authority) = authority.parse::<Authority>() else { return false };
    let host = authority.host().trim_matches(['[', ']']);
    let is_ours = host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|named| named.is_loopback() || named == ip);
    is_ours && authority.port_u16().unwrap_or(80) == port
}

fn text_of<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_names_and_our_own_address_with_our_port_are_ours() {
        let ip: IpAddr = "127.0.0.1".parse().unwrap();
        for own in ["127.0.0.1:8700", "localhost:8700", "LOCALHOST:8700", "[::1]:8700"] {
            assert!(is_own(own, ip, 8700), "{own}");
        }
        for foreign in
            ["", "127.0.0.1", "127.0.0.1:80", "evil.example:8700", "localhost.evil.example:8700", "a b"]
        {
            assert!(!is_own(foreign, ip, 8700), "{foreign}");
        }
    }
}
