//! The webhook that a bot sets at the fake Telegram.

use protocol::now_ms;
use serde_json::{Value, json};

/// What a bot has set.
#[derive(Debug, Default)]
pub(super) struct Webhook {
    pub(super) url: String,
    pub(super) secret: Option<String>,
    last_error: Option<(i64, String)>,
    /// How often it was set.
    pub(super) times: usize,
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

    /// A delivery failed.
    pub(super) fn failed(&mut self, why: String) {
        self.last_error = Some((now_ms() / 1000, why));
    }

    /// What `getWebhookInfo` answers while so many updates wait.
    pub(super) fn info(&self, waiting: usize) -> Value {
        let mut info = json!({
            "url": self.url, "has_custom_certificate": false, "pending_update_count": waiting,
        });
        if let Some((date, message)) = &self.last_error {
            info["last_error_date"] = (*date).into();
            info["last_error_message"] = message.as_str().into();
        }
        info
    }
}
