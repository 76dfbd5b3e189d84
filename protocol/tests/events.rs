//! Events as they are written: one committed row for each type and shape, which databases hold by now.

use std::collections::BTreeSet;

use protocol::event::TYPES;
use protocol::{Event, EventBody};
use serde_json::{Value, json};

const ROWS: &str = include_str!("data/events.jsonl");

#[test]
fn every_type_reads_and_writes_its_row() {
    let mut seen = BTreeSet::new();
    for row in ROWS.lines() {
        let event: Event = serde_json::from_str(row).unwrap();
        assert!(!matches!(event.body, EventBody::Unknown { .. }), "{row}");
        let written = serde_json::to_value(&event).unwrap();
        assert_eq!(written, serde_json::from_str::<Value>(row).unwrap());
        seen.insert(event.body.event_type().to_owned());
    }
    assert_eq!(seen, TYPES.iter().map(|name| (*name).to_owned()).collect(), "each type has a row");
}

#[test]
fn an_event_of_a_newer_version_is_kept_as_it_came() {
    for (event_type, payload) in [
        ("approval.granted", json!({"by": "ann", "scope": {"task": true}})),
        ("task.done", json!({"attempt": 1, "cost": 0.5})),
        ("task.done", json!({"attempt": "first"})),
        ("task.done", json!({})),
        ("task.done", json!([1])),
        ("tool_call.failed", json!({"tool_name": "ls", "error": "gone"})),
        ("reply.sent", json!({"message_id": 1, "part": 2})),
    ] {
        let row = json!({
            "id": "e", "parent_id": null, "task_id": "t", "time_ms": 1,
            "type": event_type, "payload": payload,
        });
        let event: Event = serde_json::from_value(row.clone()).unwrap();
        assert!(matches!(event.body, EventBody::Unknown { .. }), "{row}");
        assert_eq!(event.body.event_type(), event_type);
        assert_eq!(serde_json::to_value(&event).unwrap(), row);
    }
}

#[test]
fn a_fact_that_is_null_may_be_absent() {
    let row = EventBody::new("reply.sent".to_owned(), json!({"message_id": null}));
    assert_eq!(row.payload(), json!({}));
}
