//! One request and the beginning of its answer, over a connection of its own. Nothing is kept for the next.

use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use url::Url;

use super::connect::{connect, judged_addresses};
use super::tls::Tls;
use crate::messages::FetchError;

/// The most bytes of the answer's headers together.
const MAX_HEAD_BYTES: usize = 64 << 10;

/// The most headers.
const MAX_HEADERS: usize = 128;

/// Who asks, unless the caller says otherwise.
const USER_AGENT: &str = concat!("autonous/", env!("CARGO_PKG_VERSION"));

pub(super) struct Hop<'a> {
    pub(super) method: &'a str,
    pub(super) url: &'a Url,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<&'a [u8]>,
    pub(super) allow_private: bool,
}

pub(super) async fn exchange(hop: &Hop<'_>, tls: &Tls) -> Result<Response<Incoming>, FetchError> {
    let addresses = judged_addresses(hop.url, hop.allow_private).await?;
    let request = request(hop)?;
    let stream = connect(&addresses).await?;
    if hop.url.scheme() == "https" {
        let host = hop.url.host_str().unwrap_or_default();
        let stream = tls.connect(host, stream).await.map_err(|error| {
            FetchError::Unreachable(format!("The encrypted connection to {host} failed: {error}."))
        })?;
        send(stream, request).await
    } else {
        send(stream, request).await
    }
}

async fn send(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> Result<Response<Incoming>, FetchError> {
    let broken =
        |error: hyper::Error| FetchError::Unreachable(format!("The server broke the connection ({error})."));
    let mut builder = http1::Builder::new();
    builder.max_buf_size(MAX_HEAD_BYTES).max_headers(MAX_HEADERS);
    let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(broken)?;
    tokio::spawn(connection);
    sender.send_request(request).await.map_err(|error| {
        if error.is_parse() || error.is_parse_too_large() {
            return FetchError::BadAnswer(format!(
                "The server's answer is not HTTP or its headers are too long ({error})."
            ));
        }
        broken(error)
    })
}

fn request(hop: &Hop<'_>) -> Result<Request<Full<Bytes>>, FetchError> {
    let invalid = |error: http::Error| FetchError::Invalid(format!("The request cannot be sent ({error})."));
    let path = match hop.url.query() {
        Some(query) => format!("{}?{query}", hop.url.path()),
        None => hop.url.path().to_owned(),
    };
    let host = hop.url.host_str().unwrap_or_default().trim_end_matches('.');
    let host = hop.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    let mut request = Request::builder()
        .method(hop.method)
        .uri(path)
        .header(header::HOST, host)
        .header(header::CONNECTION, "close")
        .header(header::ACCEPT_ENCODING, "gzip");
    let given = |name: &str| hop.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
    if !given("user-agent") {
        request = request.header(header::USER_AGENT, USER_AGENT);
    }
    if !given("accept") {
        request = request
            .header(header::ACCEPT, "text/html,application/xhtml+xml,application/json;q=0.9,*/*;q=0.8");
    }
    for (name, value) in &hop.headers {
        request = request.header(name, value);
    }
    let body = hop.body.map_or_else(Bytes::new, Bytes::copy_from_slice);
    request.body(Full::new(body)).map_err(invalid)
}
