//! The one case in which a reading command is refused: the whole line is one simple command, or
//! `cd X &&` that command.

use tree_sitter::{Node, Tree};

use super::word::Word;

/// A simple command without assignments, redirections or expansions: all of its words are literal.
#[derive(Debug)]
pub(super) struct SingleCommand {
    /// The directory in `cd X &&`.
    pub(super) directory: Option<Word>,
    pub(super) words: Vec<Word>,
}

/// The only command of a line, if the line has only one.
pub(super) fn single_command(tree: &Tree, source: &str) -> Option<SingleCommand> {
    let root = tree.root_node();
    // Unnamed children are separators; `&` makes a difference.
    let code = |node: &Node<'_>| node.kind() != "comment" && node.kind() != "\n";
    let statements: Vec<Node<'_>> = root.children(&mut root.walk()).filter(code).collect();
    let [statement] = statements.as_slice() else { return None };
    let parts: Vec<Node<'_>> = statement.children(&mut statement.walk()).collect();
    match (statement.kind(), parts.as_slice()) {
        ("command", _) => Some(SingleCommand { directory: None, words: literal_words(*statement, source)? }),
        ("list", [cd, and, command]) if and.kind() == "&&" => match literal_words(*cd, source)?.as_slice() {
            [name, directory] if name.text() == "cd" && !directory.text().starts_with('-') => {
                let words = literal_words(*command, source)?;
                Some(SingleCommand { directory: Some(directory.clone()), words })
            }
            _ => None,
        },
        _ => None,
    }
}

fn literal_words(command: Node<'_>, source: &str) -> Option<Vec<Word>> {
    if command.kind() != "command" || command.has_error() {
        return None;
    }
    let literal = |node: Node<'_>| {
        let is_word = !node.kind().ends_with("_redirect") && node.kind() != "variable_assignment";
        Some(Word::of(node, source)).filter(|word| is_word && word.is_literal())
    };
    command.named_children(&mut command.walk()).map(literal).collect()
}
