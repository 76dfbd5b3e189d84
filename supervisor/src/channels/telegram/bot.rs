//! The client of Telegram's Bot API.
//!
//! The bot's token is part of every URL, so neither the bot nor its errors are printed unfiltered.

use std::time::Duration;

use process::Secret;
use teloxide::{ApiError, Bot, RequestError};

use crate::config::TelegramSettings;
use crate::error_chain::error_chain;

/// How long Telegram may hold a request for updates open.
pub(crate) const LONG_POLL: Duration = Duration::from_secs(50);

/// A request that takes this much longer than the long poll is dead.
const BEYOND_LONG_POLL: Duration = Duration::from_secs(20);

/// Nobody corrects a token sooner, and Telegram could take more requests for guessing.
const AFTER_A_REFUSED_TOKEN: Duration = Duration::from_secs(30);

/// Time for the other program to exit: often it is an earlier run of this one.
const AFTER_ANOTHER_RECEIVER: Duration = Duration::from_secs(5);

/// How to go on after an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RetryPolicy {
    Wait(Duration),
    /// Try again with growing pauses: a network or server error.
    Retry,
    /// Try a few more times: an error that the client does not know.
    RetryLimited,
    /// A person has to act: the token is rejected, or another program uses it.
    NeedsOperator {
        what: &'static str,
        /// The minimum pause.
        pause: Duration,
    },
    Never,
}

/// A bot, and its token, which is removed from errors.
#[derive(Clone)]
pub(crate) struct TelegramBot {
    pub api: Bot,
    token: Secret,
}

impl TelegramBot {
    /// Creates the client; nothing is sent yet.
    pub(crate) fn new(settings: &TelegramSettings) -> Result<Self, reqwest::Error> {
        let client = reqwest::Client::builder()
            .connect_timeout(Duration::from_secs(10))
            .timeout(LONG_POLL + BEYOND_LONG_POLL)
            .tcp_nodelay(true)
            .no_proxy()
            // The URL holds the token, so neither a redirect nor its Referer may take it to another host.
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .build()?;
        let api = Bot::with_client(settings.token.expose(), client);
        let api = match &settings.api_url {
            Some(url) => api.set_api_url(url.clone()),
            None => api,
        };
        Ok(Self { api, token: settings.token.clone() })
    }

    /// An error as text, without the token.
    pub(crate) fn describe(&self, error: &RequestError) -> String {
        let words = match error {
            // The invalid text may be a proxy's whole web page.
            RequestError::InvalidJson { source, .. } => {
                format!("invalid response, not from Telegram: {source}")
            }
            RequestError::Network(cause) => error_chain(cause.as_ref()),
            RequestError::Api(_)
            | RequestError::MigrateToChatId(_)
            | RequestError::RetryAfter(_)
            | RequestError::Io(_) => error.to_string(),
        };
        words.replace(self.token.expose(), "***")
    }
}

/// How to go on after an error.
pub(crate) fn retry_policy(error: &RequestError) -> RetryPolicy {
    match error {
        RequestError::RetryAfter(seconds) => RetryPolicy::Wait(seconds.duration()),
        RequestError::Network(_) | RequestError::InvalidJson { .. } | RequestError::Io(_) => {
            RetryPolicy::Retry
        }
        RequestError::Api(ApiError::InvalidToken) => RetryPolicy::NeedsOperator {
            what: "Telegram rejects the bot's token (401): correct AUTONOUS_TELEGRAM_TOKEN",
            pause: AFTER_A_REFUSED_TOKEN,
        },
        RequestError::Api(ApiError::TerminatedByOtherGetUpdates) => RetryPolicy::NeedsOperator {
            what: "another program receives this bot's updates (409): stop it, or use another bot",
            pause: AFTER_ANOTHER_RECEIVER,
        },
        // The client has no names for these: a server error, a webhook that is set.
        RequestError::Api(ApiError::Unknown(_)) => RetryPolicy::RetryLimited,
        RequestError::Api(_) | RequestError::MigrateToChatId(_) => RetryPolicy::Never,
    }
}

/// A pause that doubles with each failure in a row.
pub(crate) fn pause(first: Duration, failures: u32, most: Duration) -> Duration {
    first.saturating_mul(2_u32.saturating_pow(failures.min(16))).min(most)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use axum::Router;
    use axum::response::Redirect;
    use teloxide::prelude::Requester;
    use teloxide::types::Seconds;
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_redirect_does_not_take_the_token_to_another_host() {
        let elsewhere = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = format!("http://{}/", elsewhere.local_addr().unwrap());
        let telegram = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = telegram.local_addr().unwrap();
        let router = Router::new().fallback(move || async move { Redirect::temporary(&target) });
        tokio::spawn(async move { axum::serve(telegram, router).await });
        let bot = TelegramBot::new(&TelegramSettings {
            token: Secret::from("123456:secret"),
            api_url: Some(format!("http://{address}").parse().unwrap()),
            allowed_chats: HashSet::new(),
            pending_window: Duration::ZERO,
            pending_max: 1,
            send_max_attempts: 1,
        });
        let request = async { bot.unwrap().api.get_me().await };
        tokio::select! {
            answer = request => assert!(answer.is_err()),
            _ = elsewhere.accept() => panic!("the client followed the redirect"),
        }
    }

    #[test]
    fn an_error_asks_for_waiting_retrying_a_person_or_giving_up() {
        for (error, expected) in [
            (RequestError::RetryAfter(Seconds::from_seconds(7)), RetryPolicy::Wait(Duration::from_secs(7))),
            (RequestError::Api(ApiError::Unknown("odd".to_owned())), RetryPolicy::RetryLimited),
            (RequestError::Api(ApiError::BotBlocked), RetryPolicy::Never),
        ] {
            assert_eq!(retry_policy(&error), expected, "{error}");
        }
        for error in [ApiError::InvalidToken, ApiError::TerminatedByOtherGetUpdates] {
            assert!(matches!(retry_policy(&RequestError::Api(error)), RetryPolicy::NeedsOperator { .. }));
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
