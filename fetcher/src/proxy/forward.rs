//! A request in the clear, sent on over a connection of its own, and its answer.
//!
//! The server hears the name that was judged as its `Host`, whatever the client wrote.

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::uri::PathAndQuery;
use http::{Request, Response, StatusCode, Uri};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::target::Target;

/// What the proxy answers with: a text of its own, or what the server sends.
pub(super) type Body = Either<Full<Bytes>, Incoming>;

/// Headers that are for the next program alone (RFC 9110, 7.6.1), beside those that `Connection` names.
const OF_ONE_HOP: [HeaderName; 8] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

pub(super) async fn forward(
    mut request: Request<Incoming>,
    target: &Target,
    server: TcpStream,
) -> Response<Body> {
    let broken = |_| plain(StatusCode::BAD_GATEWAY, "The server broke the connection, or speaks no HTTP.");
    let path = request.uri().path_and_query().cloned();
    *request.uri_mut() = Uri::from(path.unwrap_or_else(|| PathAndQuery::from_static("/")));
    *request.version_mut() = http::Version::HTTP_11;
    keep_end_to_end(request.headers_mut());
    let authority =
        target.url().port().map_or_else(|| target.host(), |port| format!("{}:{port}", target.host()));
    let Ok(host) = HeaderValue::try_from(authority) else {
        return plain(StatusCode::BAD_REQUEST, "The address is not valid.");
    };
    request.headers_mut().insert(header::HOST, host);
    let (mut sender, connection) = match http1::handshake(TokioIo::new(server)).await {
        Ok(connected) => connected,
        Err(error) => return broken(error),
    };
    tokio::spawn(connection);
    match sender.send_request(request).await {
        Ok(response) if response.status() == StatusCode::SWITCHING_PROTOCOLS => {
            plain(StatusCode::BAD_GATEWAY, "The server changed the protocol, which nobody asked for.")
        }
        Ok(mut response) => {
            keep_end_to_end(response.headers_mut());
            response.map(Either::Right)
        }
        Err(error) => broken(error),
    }
}

/// Leaves out what is for one hop. How long a body is says its type, not a header.
fn keep_end_to_end(headers: &mut HeaderMap) {
    let named = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named: Vec<HeaderName> =
        named.flat_map(|value| value.split(',')).filter_map(|name| name.trim().parse().ok()).collect();
    for name in OF_ONE_HOP.iter().chain(named.iter().filter(|name| **name != header::CONTENT_LENGTH)) {
        headers.remove(name);
    }
}

/// A short text.
pub(super) fn plain(status: StatusCode, text: &str) -> Response<Body> {
    let mut response = Response::new(Either::Left(Full::from(format!("{text}\n"))));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
