//! The two habits of every HTTP request here: a client without surprises, and an answer that is bounded.
//!
//! No ambient proxy and no redirect: both would carry a key or a token to somebody else.

use std::time::Duration;

use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Client, Request, StatusCode, redirect};

/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Why an answer could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// Sending or receiving failed, or took too long.
    #[error("{}", with_causes(.0))]
    Transport(#[from] reqwest::Error),
    /// The answer is longer than anybody needs.
    #[error("the answer is longer than {0} bytes")]
    TooLong(usize),
}

/// What a server answered, whole.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// How long it asks to wait, if it does.
    pub retry_after: Option<Duration>,
    /// The body.
    pub body: Vec<u8>,
}

/// A client whose requests end after `timeout` at the latest.
pub fn client(timeout: Duration) -> Result<Client, HttpError> {
    let client = Client::builder()
        .no_proxy()
        .redirect(redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(timeout)
        .user_agent(concat!("autonous-agent-worker/", env!("CARGO_PKG_VERSION")));
    Ok(client.build()?)
}

/// Sends a request and takes the answer, whose body has at most `max_bytes`.
pub async fn exchange(client: &Client, request: Request, max_bytes: usize) -> Result<Answer, HttpError> {
    let mut response = client.execute(request).await?;
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > max_bytes {
            return Err(HttpError::TooLong(max_bytes));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Answer { status: response.status(), retry_after: retry_after(response.headers()), body })
}

/// Reads `Retry-After` where it is in seconds; its other form, a date, is not honoured.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: f64 = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// An error with the causes below it, in one line; reqwest's own text stops at the first.
fn with_causes(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(below) = cause {
        text = format!("{text}: {below}");
        cause = below.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_read_in_seconds_and_nothing_else_is_a_wait() {
        for (value, expected) in [
            ("2", Some(2000)),
            (" 0 ", Some(0)),
            ("1.5", Some(1500)),
            ("-1", None),
            ("inf", None),
            ("1e300", None),
            ("Wed, 21 Oct 2015 07:28:00 GMT", None),
        ] {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, value.parse().unwrap())]);
            assert_eq!(retry_after(&headers).map(|wait| wait.as_millis()), expected, "{value}");
        }
    }
}
