//! The tree as text: one event per line, at most 80 columns.

use jiff::Timestamp;
use protocol::{Event, visible};
use serde_json::Value;
use settings::quotas::DAY_MS;
use supervisor::tree::Node;

use crate::terminal::width::fitted;

/// The fields of a payload that are shown first.
const FIRST_FIELDS: &[&str] = &[
    "tool_name", "arguments", "child", "model_name", "attempt", "exit_code", "error", "reason", "text",
    "output_text", "latency_ms",
];

/// The trees as lines. A date (UTC) is above each event whose day is not that of the line before, for the
/// first event not that of `now_ms`.
pub(crate) fn render(trees: &[Node], columns: usize, now_ms: i64) -> String {
    let mut shown = Shown { columns, day: now_ms.div_euclid(DAY_MS), lines: Vec::new() };
    for tree in trees {
        shown.add(tree, "", "");
    }
    shown.lines.join("\n")
}

/// An event in one line, without its place in the tree.
pub(crate) fn line(event: &Event) -> String {
    let facts = facts(&event.body.payload());
    let gap = if facts.is_empty() { "" } else { "  " };
    format!("{}{gap}{facts}", event.body.event_type())
}

struct Shown {
    columns: usize,
    /// That of the line before, in days since the epoch.
    day: i64,
    lines: Vec<String>,
}

impl Shown {
    fn add(&mut self, node: &Node, own: &str, rest: &str) {
        let day = node.event.time_ms.div_euclid(DAY_MS);
        if std::mem::replace(&mut self.day, day) != day {
            self.lines.push(date(node.event.time_ms));
        }
        let line = format!("{} {own}{}", clock(node.event.time_ms), line(&node.event));
        self.lines.push(fitted(&visible::escaped(&line), self.columns));
        let last = node.children.len().saturating_sub(1);
        for (number, child) in node.children.iter().enumerate() {
            let (branch, trunk) = if number == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            self.add(child, &format!("{rest}{branch}"), &format!("{rest}{trunk}"));
        }
    }
}

fn date(time_ms: i64) -> String {
    Timestamp::from_millisecond(time_ms)
        .map_or_else(|_| "?".to_owned(), |at| at.strftime("%Y-%m-%d").to_string())
}

pub(crate) fn clock(time_ms: i64) -> String {
    let ms = time_ms.rem_euclid(DAY_MS);
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
    use serde_json::json;

    use super::*;
    use crate::terminal::{COLUMNS, progress};
    use supervisor::tree::grow;

    fn event(id: &str, parent: Option<&str>, event_type: &str, payload: Value) -> Event {
        Event { time_ms: 3_723_004, ..progress::tests::event(id, parent, event_type, payload) }
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
        assert_eq!(render(&grow(events()), COLUMNS, 0), expected);
    }

    #[test]
    fn a_date_is_shown_where_the_day_is_another_than_that_of_the_line_before() {
        let mut later = events();
        later[2..].iter_mut().for_each(|event| event.time_ms += DAY_MS);
        let shown = |now_ms| {
            let text = render(&grow(later.clone()), COLUMNS, now_ms);
            text.lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let clock = "01:02:03.004";
        assert_eq!(shown(0)[..4], [clock, clock, "1970-01-02", clock]);
        assert_eq!(shown(0).len(), events().len() + 1);
        assert_eq!(shown(9 * DAY_MS)[..5], ["1970-01-01", clock, clock, "1970-01-02", clock]);
    }

    #[test]
    fn an_event_that_was_stored_before_its_parent_is_below_it() {
        let mut backwards = events();
        backwards.reverse();
        let trees = grow(backwards);
        assert_eq!(trees.len(), 1);
        assert_eq!(render(&trees, COLUMNS, 0).lines().count(), events().len());
    }

    #[test]
    fn the_tree_can_be_cut_at_a_depth_and_shown_without_payloads() {
        let trees: Vec<Node> = grow(events()).into_iter().map(|tree| tree.cut(2).without_payload()).collect();
        assert_eq!(render(&trees, COLUMNS, 0), "01:02:03.004 process.started\n01:02:03.004 └─ agent.started");
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
