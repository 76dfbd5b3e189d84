//! Views and files as responses.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{Html, IntoResponse as _, Response};
use page::{Frame, Markup, Place, document, encoded};

/// A view that stays as it is while somebody looks.
pub(super) fn still(title: &str, place: Place, view: &Markup) -> Html<String> {
    shown(&Frame { title, place, live: None, notice: None }, view)
}

pub(super) fn shown(frame: &Frame<'_>, view: &Markup) -> Html<String> {
    Html(document(frame, view).into_string())
}

/// A file that a browser saves under this name and never shows.
pub(super) fn to_save(name: &str, length: Option<HeaderValue>, body: Body) -> Response {
    let named = HeaderValue::from_str(&format!("attachment; filename*=UTF-8''{}", encoded(name)));
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::CONTENT_DISPOSITION, named.unwrap_or(HeaderValue::from_static("attachment")));
    headers.extend(length.map(|length| (header::CONTENT_LENGTH, length)));
    (headers, body).into_response()
}
