//! Small parts of spans: attributes, IDs, times, and what a failure is.

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Status;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use protocol::hash::sha256;

use super::trace_parent::bytes;

pub(super) fn text(key: &str, value: &str) -> KeyValue {
    attribute(key, Value::StringValue(value.to_owned()))
}

pub(super) fn number(key: &str, value: u64) -> KeyValue {
    attribute(key, Value::IntValue(i64::try_from(value).unwrap_or(i64::MAX)))
}

/// A list of one text.
pub(super) fn list(key: &str, value: &str) -> KeyValue {
    let value = AnyValue { value: Some(Value::StringValue(value.to_owned())) };
    attribute(key, Value::ArrayValue(ArrayValue { values: vec![value] }))
}

fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

/// The ID of a trace or span for the ID of a task or event.
pub(super) fn id<const N: usize>(of: &str) -> [u8; N] {
    let hash = sha256(of.as_bytes());
    hash.get(..2 * N).and_then(|digits| bytes(digits).ok()).unwrap_or([1; N])
}

/// A time of an event, in nanoseconds since the epoch.
pub(super) fn nanoseconds(time_ms: i64) -> u64 {
    u64::try_from(time_ms).unwrap_or_default().saturating_mul(1_000_000)
}

pub(super) fn failed(why: &str) -> Option<Status> {
    Some(Status { message: why.to_owned(), code: StatusCode::Error.into() })
}
