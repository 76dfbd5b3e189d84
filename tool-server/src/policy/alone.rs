//! Whether a text is one simple command and nothing else, or `cd X &&` that command.

use tree_sitter::{Node, Tree};

/// The id of that one command's node.
pub(super) fn only_command(tree: &Tree, source: &str) -> Option<usize> {
    let root = tree.root_node();
    let is_code = |node: &Node<'_>| node.kind() != "comment";
    let mut statements: Vec<Node<'_>> = root.named_children(&mut root.walk()).filter(is_code).collect();
    let statement = statements.pop().filter(|_| statements.is_empty())?;
    let command = match statement.kind() {
        "command" => statement,
        "list" => behind_cd(statement, source)?,
        _ => return None,
    };
    is_simple(command).then_some(command.id())
}

fn behind_cd<'tree>(list: Node<'tree>, source: &str) -> Option<Node<'tree>> {
    let parts: Vec<Node<'_>> = list.children(&mut list.walk()).collect();
    let [cd, and, command] = parts.as_slice() else { return None };
    let name = cd.child_by_field_name("name").map(|name| &source[name.byte_range()]);
    (name == Some("cd") && and.kind() == "&&" && command.kind() == "command").then_some(*command)
}

/// No redirection, and no other command within an argument.
fn is_simple(command: Node<'_>) -> bool {
    let mut cursor = command.walk();
    let mut parts = command.named_children(&mut cursor);
    !parts.any(|part| part.kind().ends_with("_redirect") || runs_another(part))
}

/// Goes through all nodes below without recursion, however deep they lie.
fn runs_another(node: Node<'_>) -> bool {
    let mut waiting = vec![node];
    while let Some(node) = waiting.pop() {
        if matches!(node.kind(), "command_substitution" | "process_substitution") {
            return true;
        }
        waiting.extend(node.named_children(&mut node.walk()));
    }
    false
}
