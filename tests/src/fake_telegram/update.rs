//! Updates as Telegram sends them, including some that a bot does not expect.

use serde_json::{Value, json};

#[derive(Debug, Clone, Copy)]
pub struct Chat {
    /// The chat's ID; in a private chat also the user's. Groups have negative ones.
    pub id: i64,
}

/// In a text, this character is sent as half of another one: `\ud83d` without its second half.
pub const HALF_A_CHARACTER: char = '\u{e000}';

/// The chat that test systems allow.
pub const ADA: Chat = Chat { id: 4711 };

/// A group that a test allows as well.
pub const GROUP: Chat = Chat { id: -77 };

/// A chat that no test allows.
pub const STRANGER: Chat = Chat { id: 666 };

impl Chat {
    pub fn text(self, text: &str) -> Value {
        self.text_at(text, now_seconds())
    }

    /// A text message with the time it was sent, in seconds since the Unix epoch.
    pub fn text_at(self, text: &str, date: i64) -> Value {
        json!({"message": self.message(date, &json!({"text": text}))})
    }

    /// A message with these fields, which replace or complete those of a plain one.
    pub fn with(self, fields: &Value) -> Value {
        json!({"message": self.message(now_seconds(), fields)})
    }

    pub fn photo(self) -> Value {
        let size = json!({"file_id": "f", "file_unique_id": "u", "width": 1, "height": 1, "file_size": 1});
        self.with(&json!({"photo": [size]}))
    }

    pub fn saying(self, fields: &Value) -> Value {
        self.with(fields)
    }

    /// A message whose largest photo has this file ID.
    pub fn photo_of(self, id: &str, caption: &str) -> Value {
        let size = |id: &str, edge: u32| {
            json!({
                "file_id": id, "file_unique_id": id, "width": edge, "height": edge, "file_size": edge,
            })
        };
        self.with(&json!({"photo": [size("thumbnail", 90), size(id, 1280)], "caption": caption}))
    }

    /// A document of this size.
    pub fn document(self, id: &str, name: &str, media_type: &str, size: usize) -> Value {
        let document = json!({
            "file_id": id, "file_unique_id": id, "file_name": name, "mime_type": media_type,
            "file_size": size,
        });
        self.with(&json!({"document": document}))
    }

    pub fn edited(self, text: &str) -> Value {
        let now = now_seconds();
        json!({"edited_message": self.message(now, &json!({"text": text, "edit_date": now}))})
    }

    /// What a group says when it becomes a supergroup.
    pub fn became(self, supergroup: i64) -> Value {
        self.with(&json!({"migrate_to_chat_id": supergroup}))
    }

    pub fn unknown_kind(self) -> Value {
        json!({"telepathy_received": {"chat": {"id": self.id}, "thought": "blue"}})
    }

    pub(super) fn json(self) -> Value {
        match self.id {
            id @ ..0 => json!({"id": id, "type": "group", "title": "A group"}),
            id => json!({"id": id, "type": "private", "first_name": "Ada"}),
        }
    }

    fn message(self, date: i64, content: &Value) -> Value {
        let chat = self.json();
        let mut message = json!({
            "message_id": 1,
            "date": date,
            "chat": chat,
            "from": {"id": self.id.abs(), "is_bot": false, "first_name": "Ada", "language_code": "en"},
        });
        for (name, value) in content.as_object().into_iter().flatten() {
            message[name] = value.clone();
        }
        message
    }
}

/// The IDs of chats, as a setting lists them.
pub fn listed(ids: impl IntoIterator<Item = i64>) -> String {
    ids.into_iter().map(|id| id.to_string()).collect::<Vec<_>>().join(",")
}

/// The current time in seconds since the Unix epoch, as Telegram counts it.
pub fn now_seconds() -> i64 {
    protocol::now_ms() / 1000
}
