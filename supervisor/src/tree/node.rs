//! The tree itself: events under what they happened under.

use std::collections::HashMap;

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

/// No honest tree is deeper: process, agent, turn, tool call, and its end.
const DEEPEST: usize = 200;

/// Puts events under what they happened under, whichever was stored first. One whose parent is not among
/// them stands at the top, and so does one that lies in a circle or absurdly deep: a foreign caller may
/// name any parent.
pub fn grow(records: Vec<Record>) -> Vec<Node> {
    let parents: HashMap<String, Option<String>> =
        records.iter().map(|record| (record.id.clone(), record.parent_id.clone())).collect();
    let mut below: HashMap<Option<String>, Vec<Record>> = HashMap::new();
    for record in records {
        let parent = record.parent_id.clone().filter(|parent| reaches_the_top(parent, &parents));
        below.entry(parent).or_default().push(record);
    }
    nodes_under(None, &mut below)
}

/// Whether an event is among the known ones, and the way up from it ends.
fn reaches_the_top(event: &str, parents: &HashMap<String, Option<String>>) -> bool {
    let way_up = std::iter::successors(Some(event), |id| parents.get(*id)?.as_deref());
    parents.contains_key(event) && way_up.take(DEEPEST).count() < DEEPEST
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
