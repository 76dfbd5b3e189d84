//! Checks that every answer of the tool server is one complete, consistent envelope.

use protocol::{Envelope, ErrorCode, Status};
use serde_json::Value;

use crate::Answer;

const FIELDS: [&str; 7] =
    ["exit_code", "meta", "ok", "stderr", "stdout", "truncated_bytes", "truncated_lines"];

/// The answer's envelope, after checking that it has exactly the fields of the contract, and that they agree
/// with each other and with the HTTP status.
pub fn assert_whole(answer: &Answer) -> Envelope {
    let value = answer.json();
    let envelope = answer.envelope();
    assert_fields(&value);
    assert_eq!(answer.status, envelope.http_status(), "HTTP status and error code disagree: {value}");
    assert_eq!(envelope.ok, envelope.exit_code == 0 && envelope.meta.error.is_none(), "{value}");
    assert_eq!(envelope.meta.error.is_some(), envelope.meta.status == Status::Error, "{value}");
    assert_eq!(answer.header("content-type"), Some("application/json"), "{value}");
    if let Some(error) = &envelope.meta.error {
        assert_eq!(error.class, error.code.class(), "{value}");
        assert_eq!(envelope.exit_code, error.exit_code(), "{value}");
        assert!(
            !error.message.is_empty() && !error.hint.is_empty(),
            "an error without message or hint: {value}"
        );
    }
    envelope
}

pub fn assert_error(answer: &Answer, code: ErrorCode) -> Envelope {
    let envelope = assert_whole(answer);
    let found = envelope.meta.error.as_ref().map(|error| error.code);
    assert_eq!(found, Some(code), "wrong outcome: {}", answer.text());
    envelope
}

fn assert_fields(value: &Value) {
    let object = value.as_object().unwrap_or_else(|| panic!("not an object: {value}"));
    let mut names: Vec<&str> = object.keys().map(String::as_str).collect();
    names.retain(|name| *name != "next_page_cursor");
    names.sort_unstable();
    assert_eq!(names, FIELDS, "{value}");
}
