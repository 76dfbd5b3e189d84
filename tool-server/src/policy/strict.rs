//! Lines that the grammar does not understand, read by the letter.
//!
//! Either bash would refuse such a line too, or the grammar has a gap. Nobody can say from here which, so
//! every word that could be a command's is taken for one: quotes are dropped, and each separator begins
//! a new command even where it may stand in a string. A line in which none of them is refused goes to
//! bash, which says itself what is wrong with the syntax.

use std::ops::Range;

use tree_sitter::Tree;

use super::word::{UNKNOWN, Word};

/// Words after which another command begins.
const KEYWORDS: [&str; 12] =
    ["if", "then", "else", "elif", "do", "while", "until", "!", "{", "}", "time", "in"];

/// Everything in the text that could be a command.
pub(super) fn possible_commands(source: &str, tree: &Tree) -> Vec<Vec<Word>> {
    let mut from = 0;
    let mut commands = Vec::new();
    for body in here_documents(tree) {
        commands.extend(commands_in(source.get(from..body.start).unwrap_or_default()));
        from = body.end;
    }
    commands.extend(commands_in(source.get(from..).unwrap_or_default()));
    commands
}

/// Where the bodies of here-documents lie: they are somebody's input and no commands.
fn here_documents(tree: &Tree) -> Vec<Range<usize>> {
    let mut bodies = Vec::new();
    let mut cursor = tree.walk();
    loop {
        if cursor.node().kind() == "heredoc_body" {
            bodies.push(cursor.node().byte_range());
        } else if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return bodies;
            }
        }
    }
}

fn commands_in(text: &str) -> impl Iterator<Item = Vec<Word>> {
    let parts = text.split(['\n', ';', '&', '|', '(', ')', '`']);
    parts.flat_map(|part| {
        let words: Vec<&str> = part.split_whitespace().collect();
        let starts = words.split(|word| KEYWORDS.contains(word)).map(command).collect::<Vec<_>>();
        starts.into_iter().filter(|words| !words.is_empty())
    })
}

fn command(words: &[&str]) -> Vec<Word> {
    words.iter().skip_while(|word| is_assignment(word)).map(|word| plain(word)).collect()
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

fn plain(word: &str) -> Word {
    let word = word.replace("${HOME}", "~").replace("$HOME", "~").replace(['"', '\'', '\\'], "");
    match word.split_once('$') {
        Some((known, _)) => Word::new(format!("{known}{UNKNOWN}")),
        None => Word::new(word),
    }
}
