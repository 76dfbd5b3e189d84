//! HTTP clients without redirects, which would carry a key or a token to somebody else, and responses of
//! bounded size. Only a model's server is asked through a proxy, and only over https, where the proxy sees
//! neither the key nor the conversation.

use std::io::{self, ErrorKind};
use std::time::{Duration, SystemTime};

use models::PROXY;
use process::error_chain;
use reqwest::header::{HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Client, ClientBuilder, NoProxy, Request, StatusCode, Url, redirect};
use settings::{SettingError, Source};

/// TCP asks again after one and three seconds. With the question for the model's size before it, a task says
/// within five seconds that a server drops its packets.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(3500);

#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    // Its own message stops at the first cause.
    #[error("{}", error_chain(.0))]
    Transport(#[from] reqwest::Error),
    #[error("the response is longer than {0} bytes")]
    TooLong(usize),
}

#[derive(Debug)]
pub(crate) struct HttpResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// A client whose requests end after `timeout` at the latest.
pub(crate) fn client(timeout: Duration) -> Result<Client, HttpError> {
    Ok(builder().timeout(timeout).build()?)
}

/// A client for a model's server, whose requests last until they are dropped.
pub(crate) fn model_client(proxy: Option<&Proxy>) -> Result<Client, HttpError> {
    let builder = builder();
    let builder = match proxy {
        Some(Proxy(proxy)) => builder.proxy(proxy.clone()),
        None => builder,
    };
    Ok(builder.build()?)
}

/// A proxy for https addresses. Its address may have a password in it, so it does not print.
#[derive(Clone)]
pub struct Proxy(reqwest::Proxy);

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Proxy(***)")
    }
}

impl Proxy {
    /// The proxy of `HTTPS_PROXY`, for all addresses but those of `NO_PROXY`; none without it.
    pub(crate) fn read(source: &Source) -> Result<Option<Self>, SettingError> {
        let set = PROXY.into_iter().find_map(|name| Some((name, source.secret(name)?)));
        let Some((name, value)) = set else { return Ok(None) };
        let refused = |expected: &str| SettingError::new(name, "***", expected);
        let text = value.expose().trim();
        let text = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let url = text.parse::<Url>().ok().filter(|url| url.has_host());
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https"));
        let url =
            url.ok_or_else(|| refused("the http or https URL of a proxy, such as http://proxy:3128"))?;
        let proxy = reqwest::Proxy::https(url).map_err(|_| refused("the URL of a proxy"))?;
        let except = ["NO_PROXY", "no_proxy"].into_iter().find_map(|name| source.text(name));
        Ok(Some(Self(proxy.no_proxy(except.and_then(NoProxy::from_string)))))
    }
}

/// Sends a request and reads the response, whose body has at most `max_bytes`.
pub(crate) async fn send(
    client: &Client,
    request: Request,
    max_bytes: usize,
) -> Result<HttpResponse, HttpError> {
    let mut response = client.execute(request).await?;
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > max_bytes {
            return Err(HttpError::TooLong(max_bytes));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(HttpResponse { status: response.status(), headers: response.headers().clone(), body })
}

/// The wait in `retry-after-ms`, which is finer, or else in `Retry-After`, as seconds or a date.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).map(str::trim);
    let finer = text("retry-after-ms").and_then(|ms| ms.parse::<f64>().ok()).map(|ms| ms / 1000.0);
    match finer {
        Some(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        None => wait(text(RETRY_AFTER.as_str())?, SystemTime::now()),
    }
}

/// A date in the past asks for no wait.
fn wait(value: &str, now: SystemTime) -> Option<Duration> {
    if let Ok(seconds) = value.parse() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

fn builder() -> ClientBuilder {
    Client::builder()
        .no_proxy()
        .redirect(redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .user_agent(concat!("autonous-agent-worker/", env!("CARGO_PKG_VERSION")))
}

/// Why no connection was made, in few words.
pub(crate) fn cause(error: &reqwest::Error) -> String {
    let causes: Vec<_> = anyhow::Chain::new(error).collect();
    let kind = causes.iter().rev().find_map(|cause| Some(cause.downcast_ref::<io::Error>()?.kind()));
    let words = match kind {
        Some(ErrorKind::ConnectionRefused) => "connection refused",
        Some(ErrorKind::HostUnreachable) => "no route to the host",
        Some(ErrorKind::NetworkUnreachable) => "no network leads there",
        _ if error.is_timeout() => "no answer",
        _ => return causes.last().map_or_else(String::new, ToString::to_string),
    };
    words.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_parsed_in_seconds_or_as_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_445_412_420);
        for (value, expected) in [
            ("2", Some(2000)),
            ("0", Some(0)),
            ("1.5", Some(1500)),
            ("-1", None),
            ("inf", None),
            ("1e300", None),
            ("Wed, 21 Oct 2015 07:28:00 GMT", Some(60_000)),
            ("Wed, 21 Oct 2015 07:00:00 GMT", Some(0)),
            ("soon", None),
        ] {
            assert_eq!(wait(value, now).map(|wait| wait.as_millis()), expected, "{value}");
        }
    }

    #[test]
    fn the_finer_wait_has_precedence() {
        let name = |name: &'static str| reqwest::header::HeaderName::from_static(name);
        let mut headers = HeaderMap::from_iter([(RETRY_AFTER, " 2 ".parse().unwrap())]);
        assert_eq!(retry_after(&headers), Some(Duration::from_secs(2)));
        headers.insert(name("retry-after-ms"), "1500".parse().unwrap());
        assert_eq!(retry_after(&headers), Some(Duration::from_millis(1500)));
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }
}
