//! Who may see the page: those with a session; and what a browser may do with it.
//!
//! The cookie is sent by requests of our own site alone (`SameSite=Strict`), but other ports of this host
//! belong to the same site. So a request that changes something must also name its origin, and the control
//! port refuses every origin but its own.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Redirect, Response};

use super::Page;
use super::error::PageError;

/// The name of the cookie.
pub(super) const COOKIE: &str = "autonous_session";

/// Only our own files run, are loaded or are asked, and no other page shows ours in a frame.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
     connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const SIGN_IN_HINT: &str = "Sign in and do it again.";
const ORIGIN_HINT: &str = "Use the buttons of the page itself.";

pub(super) async fn require_session(
    State(page): State<Arc<Page>>,
    request: Request,
    next: Next,
) -> Result<Response, PageError> {
    let is_reading = matches!(*request.method(), Method::GET | Method::HEAD);
    let is_signed_in = match cookie(request.headers()) {
        Some(cookie) => page.sessions.holds(cookie).await?,
        None => false,
    };
    if !is_signed_in {
        if is_reading {
            return Ok(Redirect::to("/sign-in").into_response());
        }
        let message = "You are not signed in, so nothing was done.".to_owned();
        return Err(PageError::Refused(StatusCode::UNAUTHORIZED, message, SIGN_IN_HINT));
    }
    if !is_reading && !comes_from_the_page(request.headers()) {
        tracing::warn!(path = request.uri().path(), "refused an action that does not come from the page");
        let message = "This request does not come from the page, so nothing was done.".to_owned();
        return Err(PageError::Refused(StatusCode::FORBIDDEN, message, ORIGIN_HINT));
    }
    Ok(next.run(request).await)
}

/// Whether a browser says that our own page sent the request. Which origin is ours is checked before.
pub(super) fn comes_from_the_page(headers: &HeaderMap) -> bool {
    let is_same_origin = |site: &HeaderValue| site.as_bytes() == b"same-origin";
    headers.contains_key(header::ORIGIN) && headers.get("sec-fetch-site").is_none_or(is_same_origin)
}

/// What the request's cookie of a session says, if it has one.
pub(super) fn cookie(headers: &HeaderMap) -> Option<&str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs = all.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE).map(|(_, value)| value)
}

/// Adds what browsers must keep to.
pub(super) async fn with_policy(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    for name in ["cross-origin-opener-policy", "cross-origin-resource-policy"] {
        headers.insert(name, HeaderValue::from_static("same-origin"));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cookie_is_found_among_others() {
        let found = |line: &'static str| {
            let headers = HeaderMap::from_iter([(header::COOKIE, HeaderValue::from_static(line))]);
            cookie(&headers).map(str::to_owned)
        };
        assert_eq!(found("a=b; autonous_session=x; c=d").as_deref(), Some("x"));
        assert_eq!(found("not_autonous_session=x; autonous_sessions=y"), None);
    }
}
