//! Drafts of messages (<https://core.telegram.org/bots/api#sendmessagedraft>): shown for a while in a private
//! chat, and no messages.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::answers::{refusal, result};
use super::entities;

/// More in a second in one chat are too many; Telegram names no number.
const MOST_IN_A_SECOND: usize = 3;
/// What leaves evenly arrives less so.
const A_SECOND: Duration = Duration::from_millis(900);

/// A draft that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    pub chat_id: i64,
    pub topic: Option<i64>,
    /// Drafts with one number take each other's place.
    pub id: i64,
    pub text: String,
    pub entities: Value,
    pub at: Instant,
}

/// Accepts a draft, or answers as Telegram would refuse it.
pub(super) fn take(drafts: &mut Vec<Draft>, parameters: &Value) -> axum::response::Response {
    match read(parameters) {
        Err(why) => refusal(400, &why, None),
        Ok(draft) if is_too_much(drafts, &draft) => {
            refusal(429, "Too Many Requests: retry after 1", Some(json!({"retry_after": 1})))
        }
        Ok(draft) => {
            drafts.push(draft);
            result(&Value::Bool(true))
        }
    }
}

fn read(parameters: &Value) -> Result<Draft, String> {
    let chat_id = parameters["chat_id"].as_i64().ok_or("Bad Request: chat not found")?;
    if chat_id < 0 {
        return Err("Bad Request: method is available only for private chats".to_owned());
    }
    let id = parameters["draft_id"].as_i64().filter(|id| *id != 0);
    let id = id.ok_or("Bad Request: invalid draft identifier specified")?;
    let text = parameters["text"].as_str().unwrap_or_default().to_owned();
    entities::check(&text, &parameters["entities"])?;
    let known = ["chat_id", "draft_id", "text", "entities", "parse_mode", "message_thread_id"];
    let mut fields = parameters.as_object().into_iter().flatten();
    if let Some((field, _)) = fields.find(|(field, _)| !known.contains(&field.as_str())) {
        return Err(format!("Bad Request: this test server knows no {field} of a draft"));
    }
    let (topic, entities) = (parameters["message_thread_id"].as_i64(), parameters["entities"].clone());
    Ok(Draft { chat_id, topic, id, text, entities, at: Instant::now() })
}

fn is_too_much(drafts: &[Draft], draft: &Draft) -> bool {
    let is_near = |other: &&Draft| other.chat_id == draft.chat_id && draft.at - other.at < A_SECOND;
    drafts.iter().rev().filter(is_near).count() >= MOST_IN_A_SECOND
}
