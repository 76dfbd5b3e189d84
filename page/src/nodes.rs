//! The machines that share a database.

use maud::{Markup, html};
use store::nodes::Node;

use crate::table::cards;
use crate::time::time;
use crate::words::{number, state, words};

/// All of them, as `supervisor nodes` lists them.
pub(crate) fn nodes(nodes: &[Node]) -> Markup {
    let columns = ["Node", "State", "Chats", "Running", "Heard of"];
    let rows = html! {
        @for node in nodes {
            tr {
                th scope="row" { (words(&node.name)) @if node.leads { " " small { "leads" } } }
                td { (state(&node.state)) }
                td { (number(node.chats)) }
                td { (number(node.running)) }
                td { (time(node.seen_at_ms)) }
            }
        }
    };
    cards("Machines that share the database", &columns, &rows)
}
