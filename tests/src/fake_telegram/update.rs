//! Updates as Telegram sends them, including some that a bot does not expect.

use serde_json::{Value, json};

#[derive(Debug, Clone, Copy)]
pub struct Chat {
    /// The chat's ID; in a private chat also the user's.
    pub id: i64,
}

/// The chat that test systems allow.
pub const ADA: Chat = Chat { id: 4711 };

impl Chat {
    pub fn text(self, text: &str) -> Value {
        self.text_at(text, now_seconds())
    }

    /// A text message with the time it was sent, in seconds since the Unix epoch.
    pub fn text_at(self, text: &str, date: i64) -> Value {
        json!({"message": self.message(date, &json!({"text": text}))})
    }

    pub fn photo(self) -> Value {
        let size = json!({"file_id": "f", "file_unique_id": "u", "width": 1, "height": 1, "file_size": 1});
        json!({"message": self.message(now_seconds(), &json!({"photo": [size]}))})
    }

    pub fn edited(self, text: &str) -> Value {
        let now = now_seconds();
        json!({"edited_message": self.message(now, &json!({"text": text, "edit_date": now}))})
    }

    pub fn unknown_kind(self) -> Value {
        json!({"telepathy_received": {"chat": {"id": self.id}, "thought": "blue"}})
    }

    fn message(self, date: i64, content: &Value) -> Value {
        let mut message = json!({
            "message_id": 1,
            "date": date,
            "chat": {"id": self.id, "type": "private", "first_name": "Ada"},
            "from": {"id": self.id, "is_bot": false, "first_name": "Ada", "language_code": "en"},
        });
        for (name, value) in content.as_object().into_iter().flatten() {
            message[name] = value.clone();
        }
        message
    }
}

/// The current time in seconds since the Unix epoch, as Telegram counts it.
pub fn now_seconds() -> i64 {
    protocol::now_ms() / 1000
}
