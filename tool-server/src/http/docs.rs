//! Swagger UI, from this binary alone.
//!
//! The page loads nothing from elsewhere; its content security policy enforces that. Opened as
//! `/docs/#token=…` it keeps the token for the session and sends it with each call. A browser never sends a
//! fragment to a server.

use std::io::{Cursor, Read as _};

use axum::extract::Path;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Redirect, Response};
use protocol::{ErrorCode, ToolError};
use tokio::task::spawn_blocking;
use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED;
use zip::ZipArchive;

use super::response;

/// The page may load from and connect to this server only. Swagger UI sets inline styles.
const POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      frame-ancestors 'none'; base-uri 'none'";

/// Starts Swagger UI with our document and the token of the fragment.
const INITIALIZER: &str = include_str!("initializer.js");

pub(super) async fn redirect() -> Redirect {
    Redirect::permanent("/docs/")
}

pub(super) async fn index() -> Response {
    file(Path("index.html".to_owned())).await
}

pub(super) async fn file(Path(file): Path<String>) -> Response {
    let kind = content_type(&file);
    // To unpack the largest takes milliseconds.
    let found = match file == "swagger-initializer.js" {
        true => Some(INITIALIZER.as_bytes().to_vec()),
        false => spawn_blocking(move || unpack(&file)).await.ok().flatten(),
    };
    let mut response = match found.zip(kind) {
        Some((bytes, kind)) => ([(header::CONTENT_TYPE, kind)], bytes).into_response(),
        None => {
            let error = ToolError::new(ErrorCode::UnknownTool, "No such file in the docs.")
                .with_hint("The page is at GET /docs/.");
            return response::error_response("", error);
        }
    };
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    response
}

/// A file of the distribution, which the archive has under `swagger-ui-VERSION/dist/`.
fn unpack(file: &str) -> Option<Vec<u8>> {
    let mut archive = ZipArchive::new(Cursor::new(SWAGGER_UI_VENDORED)).ok()?;
    let is_it = |name: &str| {
        name.split_once("/dist/").is_some_and(|(version, path)| !version.contains('/') && path == file)
    };
    let name = archive.file_names().flatten().find(|name| is_it(name))?.into_owned();
    let mut bytes = Vec::new();
    archive.by_name(&name).ok()?.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The types of the files that the page has.
fn content_type(file: &str) -> Option<&'static str> {
    let (_, extension) = file.rsplit_once('.')?;
    Some(match extension {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "png" => "image/png",
        _ => return None,
    })
}
