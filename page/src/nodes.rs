//! The machines that share a database.

use maud::{Markup, html};
use store::nodes::Node;

use crate::time::time;
use crate::words::{number, state, words};

/// All of them, as `supervisor nodes` lists them.
pub(crate) fn nodes(nodes: &[Node]) -> Markup {
    html! {
        div.scroll tabindex="0" {
            table.cards {
                caption.unseen { "Machines that share the database" }
                thead { tr {
                    th scope="col" { "Node" } th scope="col" { "State" } th scope="col" { "Chats" }
                    th scope="col" { "Running" } th scope="col" { "Heard of" }
                } }
                tbody {
                    @for node in nodes {
                        tr {
                            th scope="row" { (words(&node.name)) @if node.leads { " " small { "leads" } } }
                            td { (state(&node.state)) }
                            td { (number(node.chats)) }
                            td { (number(node.running)) }
                            td { (time(node.seen_at_ms)) }
                        }
                    }
                }
            }
        }
    }
}
