//! Signs of life: chat actions, silent messages with buttons, their removal, and presses of the buttons.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use serde_json::{Value, json};

/// Data of a button may have so many bytes (<https://core.telegram.org/bots/api#inlinekeyboardbutton>).
const MAX_DATA_BYTES: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Signs {
    /// Chats and topics that were shown typing, and when.
    pub(super) typing: Vec<(i64, Option<i64>, Instant)>,
    /// Messages that were deleted, by their numbers.
    pub(super) deleted: HashSet<i64>,
    /// The presses that wait for an answer or have one, by their IDs.
    pub(super) presses: HashMap<String, Option<String>>,
}

impl Signs {
    pub(super) fn act(&mut self, parameters: &Value) -> Result<Value, String> {
        let chat = parameters["chat_id"].as_i64().ok_or("Bad Request: chat not found")?;
        if parameters["action"] != "typing" {
            return Err("Bad Request: wrong parameter action in request".to_owned());
        }
        self.typing.push((chat, parameters["message_thread_id"].as_i64(), Instant::now()));
        Ok(Value::Bool(true))
    }

    /// A press has one answer.
    pub(super) fn answer(&mut self, parameters: &Value) -> Result<Value, String> {
        let id = parameters["callback_query_id"].as_str().unwrap_or_default();
        let text = parameters["text"].as_str().unwrap_or_default().to_owned();
        match self.presses.get_mut(id) {
            Some(answer) if answer.is_none() && text.encode_utf16().count() <= 200 => {
                *answer = Some(text);
                Ok(Value::Bool(true))
            }
            _ => Err("Bad Request: query is too old and response timeout expired or query ID is invalid"
                .to_owned()),
        }
    }
}

/// Whether a new message tells progress: it is silent and has buttons.
pub(super) fn is_progress(parameters: &Value) -> bool {
    parameters["disable_notification"] == true && !parameters["reply_markup"].is_null()
}

/// Checks the buttons below a message.
pub(super) fn check_markup(markup: &Value) -> Result<(), String> {
    let rows = markup["inline_keyboard"].as_array();
    for button in rows.into_iter().flatten().filter_map(Value::as_array).flatten() {
        let data = button["callback_data"].as_str().unwrap_or_default();
        if button["text"].as_str().is_none_or(str::is_empty) || data.is_empty() || data.len() > MAX_DATA_BYTES
        {
            return Err("Bad Request: BUTTON_DATA_INVALID".to_owned());
        }
    }
    Ok(())
}

/// The update of a press by `user` of the button with this data.
pub(super) fn press(id: &str, user: i64, message: &Value, data: &str) -> Value {
    json!({"callback_query": {
        "id": id,
        "from": {"id": user, "is_bot": false, "first_name": "Ada"},
        "message": message,
        "chat_instance": "1",
        "data": data,
    }})
}
