//! The bot: its calls, and how to go on after a failed one.

use std::time::Duration;

use teloxide::payloads::GetMe;

use super::api::{Api, CallError, Refusal};
use super::config::TelegramSettings;

/// How long Telegram may hold a request for updates open.
pub(super) const LONG_POLL: Duration = Duration::from_secs(50);

/// No operator corrects a token sooner, and Telegram could take more requests for guessing.
const AFTER_A_REFUSED_TOKEN: Duration = Duration::from_secs(30);

/// Time for the other program to exit: often it is an earlier run of this one.
const AFTER_ANOTHER_RECEIVER: Duration = Duration::from_secs(5);

/// How to go on after an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RetryPolicy {
    /// Try again with growing pauses, none shorter than this: the network, the server, or too many requests.
    Retry {
        at_least: Duration,
    },
    /// Try a few more times: Telegram refuses it, perhaps not for ever.
    RetryLimited,
    /// A person has to act: the token is rejected, or another program uses it.
    NeedsOperator {
        what: &'static str,
        /// The minimum pause.
        pause: Duration,
    },
    /// The group has this number now.
    Moved {
        to: i64,
    },
    Never,
}

/// Creates the client; nothing is sent yet.
pub(super) fn api(settings: &TelegramSettings) -> Result<Api, reqwest::Error> {
    Api::new(&settings.token, settings.api_url.as_ref())
}

/// Why it is unknown who the bot is.
#[derive(Debug, thiserror::Error)]
pub enum Unidentified {
    /// The client could not be made.
    #[error("{0}")]
    Client(String),
    /// Telegram did not say.
    #[error("{0}")]
    Call(String),
}

/// The name of the bot, from one request that sends nothing to anybody.
pub async fn username(settings: &TelegramSettings) -> Result<String, Unidentified> {
    let api = api(settings).map_err(|error| Unidentified::Client(error.without_url().to_string()))?;
    let me = api.call(&GetMe::new()).await.map_err(|error| Unidentified::Call(error.to_string()))?;
    Ok(me.username().to_owned())
}

/// How to go on after an error.
pub(super) fn retry_policy(error: &CallError) -> RetryPolicy {
    let refusal = match error {
        CallError::NoAnswer { .. } => return RetryPolicy::Retry { at_least: Duration::ZERO },
        CallError::Refused(refusal) => refusal,
    };
    match refusal {
        Refusal { migrated_to: Some(to), .. } => RetryPolicy::Moved { to: *to },
        Refusal { retry_after: Some(told), .. } => RetryPolicy::Retry { at_least: *told },
        // Telegram knows no bot by a token of a wrong form.
        Refusal { code: 401 | 404, .. } => RetryPolicy::NeedsOperator {
            what: "Telegram rejects the bot's token (401): correct AUTONOUS_TELEGRAM_TOKEN",
            pause: AFTER_A_REFUSED_TOKEN,
        },
        Refusal { code: 409, .. } => RetryPolicy::NeedsOperator {
            what: "another program receives this bot's updates (409): stop it, or use another bot",
            pause: AFTER_ANOTHER_RECEIVER,
        },
        // The user has blocked the bot, or left; a file is too large.
        Refusal { code: 403 | 413, .. } => RetryPolicy::Never,
        Refusal { code: 400..500, .. } if refusal.code != 429 => RetryPolicy::RetryLimited,
        Refusal { .. } => RetryPolicy::Retry { at_least: Duration::ZERO },
    }
}

/// A pause that doubles with each failure in a row.
pub(super) fn pause(first: Duration, failures: u32, most: Duration) -> Duration {
    first.saturating_mul(2_u32.saturating_pow(failures.min(16))).min(most)
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::http::StatusCode;
    use axum::response::Redirect;
    use process::Secret;
    use tokio::net::TcpListener;

    use super::*;

    async fn served(router: Router) -> Api {
        let telegram = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", telegram.local_addr().unwrap()).parse().unwrap();
        tokio::spawn(async move { axum::serve(telegram, router).await });
        Api::new(&Secret::from("123456:secret"), Some(&url)).unwrap()
    }

    #[tokio::test]
    async fn a_redirect_does_not_take_the_token_to_another_host() {
        let elsewhere = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = format!("http://{}/", elsewhere.local_addr().unwrap());
        let router = Router::new().fallback(move || async move { Redirect::temporary(&target) });
        let api = served(router).await;
        let get_me = GetMe::new();
        tokio::select! {
            answer = api.call(&get_me) => assert!(answer.is_err()),
            _ = elsewhere.accept() => panic!("the client followed the redirect"),
        }
    }

    #[tokio::test]
    async fn an_answer_asks_for_waiting_retrying_a_person_another_chat_or_giving_up() {
        let retry = |seconds| RetryPolicy::Retry { at_least: Duration::from_secs(seconds) };
        let refused = |code: u16, parameters: &str| {
            format!(
                r#"{{"ok": false, "error_code": {code}, "description": "123456:secret",
                    "parameters": {parameters}}}"#
            )
        };
        for (status, body, expected) in [
            (429, refused(429, r#"{"retry_after":7}"#), retry(7)),
            (429, refused(429, "{}"), retry(0)),
            (500, refused(500, "{}"), retry(0)),
            (502, "<html>a proxy's page</html>".to_owned(), retry(0)),
            (429, String::new(), retry(0)),
            (200, "<html>a login page</html>".to_owned(), retry(0)),
            (200, r#"{"ok":true}"#.to_owned(), retry(0)),
            (400, refused(400, r#"{"migrate_to_chat_id":-100123}"#), RetryPolicy::Moved { to: -100_123 }),
            (400, refused(400, "{}"), RetryPolicy::RetryLimited),
            (403, refused(403, "{}"), RetryPolicy::Never),
            (413, "too large".to_owned(), RetryPolicy::Never),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            let answer = body.clone();
            let api = served(Router::new().fallback(move || async move { (status, answer) })).await;
            let error = api.call(&GetMe::new()).await.unwrap_err();
            assert_eq!(retry_policy(&error), expected, "{status} {body}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        for code in [401, 404, 409] {
            let refusal = Refusal { code, description: String::new(), retry_after: None, migrated_to: None };
            let policy = retry_policy(&CallError::Refused(refusal));
            assert!(matches!(policy, RetryPolicy::NeedsOperator { .. }), "{code}");
        }
    }

    #[test]
    fn the_pause_doubles_up_to_its_bound() {
        let (first, most) = (Duration::from_secs(1), Duration::from_secs(60));
        let pauses: Vec<u64> = (0..8).map(|failures| pause(first, failures, most).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(pause(first, u32::MAX, most), most);
    }
}
