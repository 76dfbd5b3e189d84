//! The tree itself: events under what they happened under.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use serde_json::Value;

/// One event, as the table has it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Record {
    /// Its id.
    pub id: String,
    /// What it happened under.
    pub parent_id: Option<String>,
    /// The task it belongs to.
    pub task_id: Option<String>,
    /// What happened.
    #[serde(rename = "type")]
    pub event_type: String,
    /// When.
    pub time_ms: i64,
    /// The facts.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub payload: Value,
}

/// An event and what happened under it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Node {
    /// The event.
    #[serde(flatten)]
    pub record: Record,
    /// What happened under it, in order.
    pub children: Vec<Node>,
}

/// Puts events under what they happened under. One whose parent is not among them, or that is its own
/// ancestor, stands at the top: a foreign caller may name any parent.
pub fn grow(records: Vec<Record>) -> Vec<Node> {
    let known: HashSet<String> = records.iter().map(|record| record.id.clone()).collect();
    let mut seen: HashSet<String> = HashSet::new();
    let mut below: HashMap<Option<String>, Vec<Record>> = HashMap::new();
    for record in records {
        // Parents are stored before their children; a parent that comes later would close a circle.
        let parent =
            record.parent_id.clone().filter(|parent| known.contains(parent) && seen.contains(parent));
        seen.insert(record.id.clone());
        below.entry(parent).or_default().push(record);
    }
    nodes_under(None, &mut below)
}

fn nodes_under(parent: Option<String>, below: &mut HashMap<Option<String>, Vec<Record>>) -> Vec<Node> {
    let records = below.remove(&parent).unwrap_or_default();
    records
        .into_iter()
        .map(|record| {
            let children = nodes_under(Some(record.id.clone()), below);
            Node { record, children }
        })
        .collect()
}

impl Node {
    /// The tree cut below `depth` levels, this one included.
    #[must_use]
    pub fn cut(mut self, depth: u16) -> Self {
        self.children = match depth.checked_sub(1) {
            Some(0) | None => Vec::new(),
            Some(left) => self.children.into_iter().map(|child| child.cut(left)).collect(),
        };
        self
    }

    /// The tree without what the events say.
    #[must_use]
    pub fn without_payload(mut self) -> Self {
        self.record.payload = Value::Null;
        self.children = self.children.into_iter().map(Self::without_payload).collect();
        self
    }
}
