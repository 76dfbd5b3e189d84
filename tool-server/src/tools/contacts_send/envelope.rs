//! The text that a contact gets, with the IDs by which both sides refer to it.

use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use jiff::Timestamp;
use protocol::{EventId, ToolError};
use serde_json::{Map, Value};
use toolkit::arguments::invalid;

/// The topic of every message.
pub(super) const TOPIC: &str = "chat.message";

/// Base64url, padded or not.
const BASE64URL: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A message to a contact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Envelope {
    pub(super) message_id: String,
    pub(super) text: String,
    /// In RFC 3339.
    pub(super) sent_at: String,
    /// A UUID of version 7.
    pub(super) session_id: String,
    pub(super) reply_to: Option<String>,
}

/// What a call says about its message.
pub(super) struct Given<'a> {
    pub(super) text: Option<&'a str>,
    pub(super) base64: Option<&'a str>,
    pub(super) session_id: Option<&'a str>,
    pub(super) reply_to: Option<&'a str>,
}

impl Envelope {
    /// The message of a call; a new one has the call's ID.
    pub(super) fn of(given: &Given<'_>, call: &EventId, now: Timestamp) -> Result<Self, ToolError> {
        let filled = |text: &&str| !text.trim().is_empty();
        match (given.text.filter(filled), given.base64.filter(filled)) {
            (Some(_), Some(_)) => {
                Err(invalid("`message_text` and `message_base64` exclude each other: give one of them."))
            }
            (None, None) => Err(invalid("`message_text` is missing: say what to send.")
                .with_hint("An envelope goes into `message_base64` instead.")),
            (Some(text), None) => Self::new(text, given, call, now),
            (None, Some(base64)) => {
                for (field, value) in [("session_id", given.session_id), ("reply_to", given.reply_to)] {
                    if value.is_some() {
                        let message = format!("`{field}` goes with `message_text` only.");
                        return Err(invalid(message).with_hint("The envelope has its own."));
                    }
                }
                Self::decode(base64)
            }
        }
    }

    fn new(text: &str, given: &Given<'_>, call: &EventId, now: Timestamp) -> Result<Self, ToolError> {
        let session_id = match given.session_id {
            Some(id) if is_uuid_v7(id) => id.to_owned(),
            Some(_) => return Err(not_a_session("`session_id`")),
            None => EventId::new().as_str().to_owned(),
        };
        Ok(Self {
            message_id: call.as_str().to_owned(),
            text: text.to_owned(),
            sent_at: now.to_string(),
            session_id,
            reply_to: given.reply_to.map(str::to_owned),
        })
    }

    fn decode(base64: &str) -> Result<Self, ToolError> {
        let wrong = |what: &str| invalid(format!("`message_base64` {what}."));
        let bytes = BASE64URL.decode(base64.trim()).map_err(|_| wrong("is no base64url"))?;
        let fields: Map<String, Value> =
            serde_json::from_slice(&bytes).map_err(|_| wrong("holds no JSON object"))?;
        let field = |name: &str| match fields.get(name) {
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(text.clone()),
            Some(Value::String(_)) => Err(wrong(&format!("has an envelope with an empty `{name}`"))),
            Some(_) => Err(wrong(&format!("has an envelope whose `{name}` is no string"))),
            None => Err(wrong(&format!("has an envelope without `{name}`"))),
        };
        let (message_id, text) = (field("message_id")?, field("text")?);
        let (sent_at, session_id) = (field("sent_at")?, field("session_id")?);
        if sent_at.parse::<Timestamp>().is_err() {
            return Err(wrong("has an envelope whose `sent_at` is no time in RFC 3339"));
        }
        if !is_uuid_v7(&session_id) {
            return Err(not_a_session("the `session_id` of the envelope in `message_base64`"));
        }
        let reply_to = fields.contains_key("reply_to").then(|| field("reply_to")).transpose()?;
        Ok(Self { message_id, text, sent_at, session_id, reply_to })
    }
}

fn not_a_session(what: &str) -> ToolError {
    invalid(format!("{what} is no UUID of version 7.")).with_hint("Leave it out to begin a new conversation.")
}

/// As in RFC 9562, 4 and 5.7.
fn is_uuid_v7(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let is_hex = |part: &&str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12])
        && parts.iter().all(is_hex)
        && parts[2].starts_with('7')
        && parts[3].starts_with(['8', '9', 'a', 'b', 'A', 'B'])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: &str = "2026-11-22T09:00:00Z";
    const SESSION: &str = "0197a2a0-0000-7000-8000-000000000001";

    fn encoded(envelope: &Value) -> String {
        BASE64URL.encode(envelope.to_string())
    }

    #[test]
    fn a_text_becomes_an_envelope_of_its_call() {
        let (call, now) = (EventId::new(), NOW.parse().unwrap());
        let given = Given { text: Some("Hello"), base64: None, session_id: None, reply_to: Some("m1") };
        let made = Envelope::of(&given, &call, now).unwrap();
        assert_eq!((made.message_id.as_str(), made.sent_at.as_str()), (call.as_str(), NOW));
        assert!(is_uuid_v7(&made.session_id), "{made:?}");
        assert_eq!(made.reply_to.as_deref(), Some("m1"));
        let given = Given { session_id: Some(SESSION), ..given };
        assert_eq!(Envelope::of(&given, &call, now).unwrap().session_id, SESSION);
    }

    #[test]
    fn what_is_wrong_is_named_by_its_field() {
        let whole = json!({"message_id": "m1", "text": "Hi", "sent_at": NOW, "session_id": SESSION});
        let with = |field: &str, value: Value| {
            let mut envelope = whole.clone();
            envelope[field] = value;
            encoded(&envelope)
        };
        let without = |field: &str| {
            let mut envelope = whole.clone();
            envelope.as_object_mut().unwrap().remove(field);
            encoded(&envelope)
        };
        let check = |text: Option<&str>, base64: Option<&str>, session: Option<&str>, expected: &str| {
            let given = Given { text, base64, session_id: session, reply_to: None };
            let error = Envelope::of(&given, &EventId::new(), Timestamp::now()).unwrap_err();
            assert!(error.message.contains(expected), "{expected}: {error:?}");
        };
        check(None, None, None, "`message_text` is missing");
        check(Some("  "), None, None, "`message_text` is missing");
        check(Some("a"), Some("b"), None, "exclude each other");
        check(Some("a"), None, Some("0197a2a0-0000-4000-8000-000000000001"), "`session_id` is no UUID");
        check(Some("a"), None, Some("chat"), "`session_id` is no UUID");
        check(None, Some("%%%"), None, "no base64url");
        check(None, Some(&BASE64URL.encode("[1]")), None, "no JSON object");
        check(None, Some(&encoded(&whole)), Some(SESSION), "`session_id` goes with `message_text` only");
        for field in ["message_id", "text", "sent_at", "session_id"] {
            check(None, Some(&without(field)), None, &format!("without `{field}`"));
            check(None, Some(&with(field, json!(""))), None, &format!("an empty `{field}`"));
            check(None, Some(&with(field, json!(7))), None, &format!("`{field}` is no string"));
        }
        check(None, Some(&with("sent_at", json!("yesterday"))), None, "`sent_at` is no time");
        check(None, Some(&with("session_id", json!("s1"))), None, "is no UUID of version 7");
        check(None, Some(&with("reply_to", json!(7))), None, "`reply_to` is no string");
        for base64 in [encoded(&whole), encoded(&whole).trim_end_matches('=').to_owned()] {
            let given = Given { text: None, base64: Some(&base64), session_id: None, reply_to: None };
            let decoded = Envelope::of(&given, &EventId::new(), Timestamp::now()).unwrap();
            assert_eq!((decoded.message_id.as_str(), decoded.text.as_str()), ("m1", "Hi"));
        }
    }
}
