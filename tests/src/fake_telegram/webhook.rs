//! The webhook of the fake Telegram: what `setWebhook` takes, and the deliveries to it.
//!
//! The address that a bot sets is one of the internet, where a proxy ends TLS. A test says where that leads.

use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use protocol::now_ms;
use serde_json::{Value, json};

use super::FakeTelegram;
use super::state::{Shared, State};
use crate::http::Request;

/// The pause before an update is delivered again; Telegram's own grows.
const PAUSE: Duration = Duration::from_millis(100);

/// What a bot has set.
#[derive(Debug, Default)]
pub(super) struct Webhook {
    url: String,
    secret: Option<String>,
    last_error: Option<(i64, String)>,
    /// How often it was set.
    times: usize,
}

impl Webhook {
    pub(super) fn is_set(&self) -> bool {
        !self.url.is_empty()
    }

    /// The rules of <https://core.telegram.org/bots/api#setwebhook>.
    pub(super) fn set(&mut self, parameters: &Value) -> Result<Value, String> {
        let url = parameters["url"].as_str().unwrap_or_default();
        if !url.is_empty() && !url.starts_with("https://") {
            return Err("Bad Request: bad webhook: An HTTPS URL must be provided for webhook".to_owned());
        }
        let secret = parameters["secret_token"].as_str();
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if secret.is_some_and(|secret| secret.len() > 256 || !secret.bytes().all(is_allowed)) {
            return Err("Bad Request: secret token contains unallowed characters".to_owned());
        }
        let connections = parameters["max_connections"].as_u64().unwrap_or(40);
        if !(1..=100).contains(&connections) {
            return Err("Bad Request: max_connections is out of range".to_owned());
        }
        let times = self.times + 1;
        *self = Self { url: url.to_owned(), secret: secret.map(str::to_owned), last_error: None, times };
        Ok(Value::Bool(true))
    }
}

impl State {
    pub(super) fn webhook_info(&self) -> Value {
        let mut info = json!({
            "url": self.webhook.url, "has_custom_certificate": false,
            "pending_update_count": self.waiting.len(),
        });
        if let Some((date, message)) = &self.webhook.last_error {
            info["last_error_date"] = (*date).into();
            info["last_error_message"] = message.as_str().into();
        }
        info
    }
}

impl FakeTelegram {
    /// What the bot has set as its webhook, and how often.
    pub fn webhook(&self) -> (String, usize) {
        let state = self.shared.lock();
        (state.webhook.url.clone(), state.webhook.times)
    }

    /// Sets another address, as another program with the bot's token would.
    pub fn move_webhook(&self, url: &str) {
        self.shared.lock().webhook.url = url.to_owned();
    }

    /// The secret that the bot has set.
    pub fn webhook_secret(&self) -> Option<String> {
        self.shared.lock().webhook.secret.clone()
    }

    /// Delivers updates to this port while a webhook is set: one after the other, each until it is taken.
    pub fn deliver_to(&self, address: SocketAddr) {
        let shared = Arc::downgrade(&self.shared);
        thread::spawn(move || while deliver(&shared, address).is_some() {});
    }
}

/// One attempt; none once the server is gone.
fn deliver(shared: &Weak<Shared>, address: SocketAddr) -> Option<()> {
    let (id, update, secret) = {
        let shared = shared.upgrade()?;
        let state = shared.lock();
        match state.waiting.front().filter(|_| state.webhook.is_set() && !state.is_cut) {
            Some((id, update)) => (*id, update.clone(), state.webhook.secret.clone()),
            None => {
                drop(state);
                drop(shared);
                thread::sleep(PAUSE / 10);
                return Some(());
            }
        }
    };
    let request = Request::post_json("/hook", &update);
    let request = match &secret {
        Some(secret) => request.header("X-Telegram-Bot-Api-Secret-Token", secret),
        None => request,
    };
    let why = match request.try_send(address) {
        Ok(answer) if (200..300).contains(&answer.status) => None,
        Ok(answer) => Some(format!("Wrong response from the webhook: {}", answer.status)),
        Err(error) => Some(error.to_string()),
    };
    let shared = shared.upgrade()?;
    let mut state = shared.lock();
    match why {
        None => {
            state.waiting.retain(|(known, _)| *known != id);
            state.confirmed.insert(id);
        }
        Some(why) => {
            state.webhook.last_error = Some((now_ms() / 1000, why));
            drop(state);
            drop(shared);
            thread::sleep(PAUSE);
        }
    }
    Some(())
}
