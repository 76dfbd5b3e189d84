//! The tree as text: one event per line, at most 80 columns.

use protocol::{Event, visible};
use serde_json::Value;

use super::Node;
use crate::terminal::width::fitted;

/// The fields of a payload that are shown first.
const FIRST_FIELDS: &[&str] = &[
    "tool_name",
    "arguments",
    "child",
    "model_name",
    "attempt",
    "exit_code",
    "error",
    "reason",
    "text",
    "output_text",
    "latency_ms",
];

pub(crate) fn render(trees: &[Node], columns: usize) -> String {
    let mut lines = Vec::new();
    for tree in trees {
        add(tree, "", "", columns, &mut lines);
    }
    lines.join("\n")
}

/// An event in one line, without its place in the tree.
pub(crate) fn line(event: &Event) -> String {
    let facts = facts(&event.body.payload());
    let gap = if facts.is_empty() { "" } else { "  " };
    format!("{}{gap}{facts}", event.body.event_type())
}

fn add(node: &Node, own: &str, rest: &str, columns: usize, lines: &mut Vec<String>) {
    let line = format!("{} {own}{}", clock(node.event.time_ms), line(&node.event));
    lines.push(fitted(&visible::escaped(&line), columns));
    let last = node.children.len().saturating_sub(1);
    for (number, child) in node.children.iter().enumerate() {
        let (branch, trunk) = if number == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        add(child, &format!("{rest}{branch}"), &format!("{rest}{trunk}"), columns, lines);
    }
}

pub(crate) fn clock(time_ms: i64) -> String {
    let ms = time_ms.rem_euclid(86_400_000);
    format!("{:02}:{:02}:{:02}.{:03}", ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60, ms % 1000)
}

fn facts(payload: &Value) -> String {
    let Some(fields) = payload.as_object() else { return String::new() };
    let first = FIRST_FIELDS.iter().filter_map(|name| fields.get_key_value(*name));
    let others = fields.iter().filter(|(name, _)| !FIRST_FIELDS.contains(&name.as_str()));
    let facts: Vec<String> = first
        .chain(others)
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| format!("{name}={}", word(value)))
        .collect();
    facts.join(" ")
}

/// A value as a word or in quotes, without white space that would break the line.
fn word(value: &Value) -> String {
    match value.as_str() {
        Some(text) if !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c == '"') => {
            text.to_owned()
        }
        Some(_) | None => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use protocol::EventBody;
    use serde_json::json;

    use super::super::node::grow;
    use super::*;
    use crate::terminal::COLUMNS;

    fn event(id: &str, parent: Option<&str>, event_type: &str, payload: Value) -> Event {
        Event {
            id: id.parse().unwrap(),
            parent_id: parent.map(|parent| parent.parse().unwrap()),
            task_id: None,
            body: EventBody::new(event_type.to_owned(), payload),
            time_ms: 3_723_004,
        }
    }

    fn events() -> Vec<Event> {
        let call = json!({"tool_name": "ls", "arguments": {"path": "."}});
        let answer = json!({"output_text": "a b\n", "tool_name": "ls"});
        vec![
            event("p", None, "process.started", json!({"pid": 1})),
            event("a", Some("p"), "agent.started", json!({})),
            event("t", Some("a"), "turn.started", json!({})),
            event("c", Some("t"), "tool_call.started", call),
            event("e", Some("c"), "tool_call.completed", answer),
            event("d", Some("a"), "agent.completed", json!({})),
        ]
    }

    #[test]
    fn each_field_that_is_shown_first_exists_in_a_payload() {
        let rows = include_str!("../../../protocol/tests/data/events.jsonl");
        for name in FIRST_FIELDS {
            assert!(rows.contains(&format!("\"{name}\":")), "{name}");
        }
    }

    #[test]
    fn process_agent_turn_and_tool_call_are_nested() {
        let expected = "\
01:02:03.004 process.started  pid=1
01:02:03.004 └─ agent.started
01:02:03.004    ├─ turn.started
01:02:03.004    │  └─ tool_call.started  tool_name=ls arguments={\"path\":\".\"}
01:02:03.004    │     └─ tool_call.completed  tool_name=ls output_text=\"a b\\n\"
01:02:03.004    └─ agent.completed";
        assert_eq!(render(&grow(events()), COLUMNS), expected);
    }

    #[test]
    fn an_event_that_was_stored_before_its_parent_is_below_it() {
        let mut backwards = events();
        backwards.reverse();
        let trees = grow(backwards);
        assert_eq!(trees.len(), 1);
        assert_eq!(render(&trees, COLUMNS).lines().count(), events().len());
    }

    #[test]
    fn the_tree_can_be_cut_at_a_depth_and_shown_without_payloads() {
        let trees: Vec<Node> = grow(events()).into_iter().map(|tree| tree.cut(2).without_payload()).collect();
        assert_eq!(render(&trees, COLUMNS), "01:02:03.004 process.started\n01:02:03.004 └─ agent.started");
    }

    #[test]
    fn an_event_with_an_unknown_parent_or_in_a_cycle_is_a_root() {
        let trees = grow(vec![
            event("a", Some("gone"), "tool_call.started", json!({})),
            event("b", Some("c"), "tool_call.started", json!({})),
            event("c", Some("b"), "tool_call.started", json!({})),
        ]);
        let tops: Vec<&str> = trees.iter().map(|tree| tree.event.id.as_str()).collect();
        assert_eq!(tops, ["a", "b", "c"]);
    }
}
