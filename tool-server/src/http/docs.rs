//! Swagger UI, from this binary alone.
//!
//! The page loads nothing from elsewhere; its content security policy enforces that. Opened as
//! `/docs/#token=…` it keeps the token for the session and sends it with each call. A browser never sends a
//! fragment to a server.

use std::sync::{Arc, LazyLock};

use axum::extract::Path;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Redirect, Response};
use protocol::{ErrorCode, ToolError};
use utoipa_swagger_ui::Config;

use super::response;

/// The page may load from and connect to this server only. Swagger UI sets inline styles.
const POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      frame-ancestors 'none'; base-uri 'none'";

/// Starts Swagger UI with our document and the token of the fragment.
const INITIALIZER: &str = include_str!("initializer.js");

static FILES: LazyLock<Arc<Config<'static>>> = LazyLock::new(|| Arc::new(Config::from("/openapi.json")));

pub(super) async fn redirect() -> Redirect {
    Redirect::permanent("/docs/")
}

pub(super) async fn index() -> Response {
    serve("index.html")
}

pub(super) async fn file(Path(file): Path<String>) -> Response {
    serve(&file)
}

fn serve(file: &str) -> Response {
    let mut response = match utoipa_swagger_ui::serve(file, Arc::clone(&FILES)) {
        _ if file == "swagger-initializer.js" => {
            ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], INITIALIZER).into_response()
        }
        Ok(Some(found)) => ([(header::CONTENT_TYPE, found.content_type)], found.bytes).into_response(),
        Ok(None) | Err(_) => {
            let error = ToolError::new(ErrorCode::UnknownTool, "No such file in the docs.")
                .with_hint("The page is at GET /docs/.");
            return response::error_response("", error);
        }
    };
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    response
}
