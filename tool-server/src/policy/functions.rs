//! Functions that start themselves without end.

use tree_sitter::Node;

/// The name of a function whose body starts it twice at once: the shape of a fork bomb. A function that
/// walks a tree calls itself too, but one call after the other.
pub(super) fn multiplies<'a>(function: Node<'_>, source: &'a str) -> Option<&'a str> {
    let name = &source[function.child_by_field_name("name")?.byte_range()];
    let calls = |node: &Node<'_>| node.kind() == "command" && source[node.byte_range()].trim() == name;
    let body = function.child_by_field_name("body")?;
    let twice_at_once = |statement: Node<'_>| {
        let stages = statement.named_children(&mut statement.walk()).filter(calls).count();
        statement.kind() == "pipeline" && stages > 1
    };
    body.named_children(&mut body.walk()).any(twice_at_once).then_some(name)
}
