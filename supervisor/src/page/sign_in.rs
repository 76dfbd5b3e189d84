//! Signing in and out, and the files that every page needs.

use std::sync::Arc;

use ::page::assets;
use ::page::sign_in::{Failure, sign_in};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse as _, Redirect, Response};
use axum::{Extension, Form};
use maud::html;
use serde::Deserialize;

use super::Page;
use super::error::PageError;
use super::guard::{COOKIE, comes_from_the_page, cookie};
use super::sessions::{Admission, LIFE};
use crate::control::Control;

/// A year, in seconds: the address of a file changes with its content.
const FOR_LONG: &str = "private, max-age=31536000, immutable";

#[derive(Deserialize)]
pub(super) struct Token {
    token: String,
}

#[derive(Deserialize)]
pub(super) struct Once {
    once: String,
}

pub(super) async fn get_sign_in() -> Response {
    show(StatusCode::OK, None)
}

/// Signs in with the control token.
pub(super) async fn post_session(
    State(control): State<Arc<Control>>,
    Extension(page): Extension<Arc<Page>>,
    headers: HeaderMap,
    Form(Token { token }): Form<Token>,
) -> Result<Response, PageError> {
    let sessions = &page.sessions;
    if !comes_from_the_page(&headers) {
        let message = "This request does not come from the page.".to_owned();
        return Err(PageError::Refused(StatusCode::FORBIDDEN, message, "Open the page and sign in there."));
    }
    match sessions.attempt(|| control.access.is_token(token.trim())) {
        Admission::Admitted => {
            tracing::info!("somebody signed in at the page with the control token");
            let set = set_cookie(&sessions.begin().await?, &headers);
            Ok(([(header::SET_COOKIE, set)], Redirect::to("/")).into_response())
        }
        Admission::Wrong => {
            tracing::warn!("a wrong token at the page");
            Ok(show(StatusCode::UNAUTHORIZED, Some(Failure::Token)))
        }
        Admission::TooMany => Ok(show(StatusCode::TOO_MANY_REQUESTS, Some(Failure::TooMany))),
    }
}

/// Signs in with the link of `supervisor open`. The page that answers leads on by itself: a browser that came
/// from another site would not send the new cookie with a redirect.
pub(super) async fn follow_link(
    Extension(page): Extension<Arc<Page>>,
    headers: HeaderMap,
    once: Result<Query<Once>, QueryRejection>,
) -> Result<Response, PageError> {
    let sessions = &page.sessions;
    if !once.is_ok_and(|Query(Once { once })| sessions.follow_link(&once)) {
        tracing::warn!("a link to sign in at the page was used before, is too old, or was never made");
        return Ok(show(StatusCode::UNAUTHORIZED, Some(Failure::Link)));
    }
    tracing::info!("somebody signed in at the page with a link");
    let set = set_cookie(&sessions.begin().await?, &headers);
    let leads_on = html! {
        (maud::DOCTYPE)
        html lang="en" {
            head { meta charset="utf-8"; meta http-equiv="refresh" content="0; url=/"; title { "Signed in" } }
            body { a href="/" { "Go on" } }
        }
    };
    Ok(([(header::SET_COOKIE, set)], Html(leads_on.into_string())).into_response())
}

pub(super) async fn post_end(
    Extension(page): Extension<Arc<Page>>,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    if let Some(cookie) = cookie(&headers) {
        page.sessions.end(cookie).await?;
    }
    let gone = format!("{COOKIE}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0");
    Ok(([(header::SET_COOKIE, gone)], Redirect::to("/sign-in")).into_response())
}

pub(super) async fn get_asset(Path(name): Path<String>) -> Result<Response, PageError> {
    let asset = assets::named(&name).ok_or_else(|| PageError::missing("file"))?;
    let headers = [(header::CONTENT_TYPE, asset.media_type), (header::CACHE_CONTROL, FOR_LONG)];
    Ok((headers, asset.content).into_response())
}

/// Browsers ask for it where a page names none.
pub(super) async fn get_icon() -> Response {
    ([(header::CONTENT_TYPE, assets::ICON.media_type)], assets::ICON.content).into_response()
}

fn show(status: StatusCode, failure: Option<Failure>) -> Response {
    (status, Html(sign_in(failure).into_string())).into_response()
}

/// Over TLS, which a proxy before us has, the cookie goes nowhere else.
fn set_cookie(value: &str, headers: &HeaderMap) -> String {
    let says_tls = |name: &str, begins: &str| {
        headers.get(name).and_then(|value| value.to_str().ok()).is_some_and(|value| value.starts_with(begins))
    };
    let is_tls = says_tls("origin", "https://") || says_tls("x-forwarded-proto", "https");
    let secure = if is_tls { "; Secure" } else { "" };
    format!("{COOKIE}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={}{secure}", LIFE.as_secs())
}
