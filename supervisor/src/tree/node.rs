//! The tree: each event below the event that it happened under.

use std::collections::HashMap;

use protocol::{Event, EventBody, EventId};
use serde::Serialize;
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Node {
    #[serde(flatten)]
    pub event: Event,
    /// The events below it, in order.
    pub children: Vec<Node>,
}

/// Real trees have five levels: process, agent, turn, tool call, and its end.
const MAX_DEPTH: usize = 200;

/// Builds trees from events, in whatever order these were stored. An event whose parent is missing becomes a
/// root, and so does one in a cycle or absurdly deep: callers of the tool server may name any parent.
pub fn grow(events: Vec<Event>) -> Vec<Node> {
    let parents: Parents = events.iter().map(|event| (event.id.clone(), event.parent_id.clone())).collect();
    let mut below: HashMap<Option<EventId>, Vec<Event>> = HashMap::new();
    for event in events {
        let parent = event.parent_id.clone().filter(|parent| has_root(parent, &parents));
        below.entry(parent).or_default().push(event);
    }
    nodes_under(None, &mut below)
}

type Parents = HashMap<EventId, Option<EventId>>;

/// Whether an event is among the known ones, and its ancestors end in a root.
fn has_root(event: &EventId, parents: &Parents) -> bool {
    let ancestors = std::iter::successors(Some(event), |id| parents.get(*id)?.as_ref());
    parents.contains_key(event) && ancestors.take(MAX_DEPTH).count() < MAX_DEPTH
}

fn nodes_under(parent: Option<EventId>, below: &mut HashMap<Option<EventId>, Vec<Event>>) -> Vec<Node> {
    let events = below.remove(&parent).unwrap_or_default();
    let node = |event: Event| {
        let children = nodes_under(Some(event.id.clone()), below);
        Node { event, children }
    };
    events.into_iter().map(node).collect()
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

    #[must_use]
    pub fn without_payload(mut self) -> Self {
        let event_type = self.event.body.event_type().to_owned();
        self.event.body = EventBody::Unknown { event_type, payload: Value::Null };
        self.children = self.children.into_iter().map(Self::without_payload).collect();
        self
    }
}
