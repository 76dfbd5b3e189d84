//! From the syntax tree to the commands that would run, wherever in the line they stand.
//!
//! Pipelines, lists, substitutions, functions and loops are only ways to reach a command; the reader
//! walks through all of them and keeps in mind what a command finds around it. It decides nothing.

use protocol::ToolError;
use tree_sitter::{Node, Tree};

use super::carrier::{Carried, carried_by, is_transparent};
use super::command::{Command, Input, MULTIPLYING_FUNCTION, Place, REDIRECTION};
use super::parse::{parse, too_complex};
use super::strict;
use super::word::Word;

/// How deep constructs may be nested; code that people write stays below twenty.
const MAX_DEPTH: usize = 200;

/// How often code may stand within code (`bash -c "bash -c …"`).
const MAX_CODE_DEPTH: usize = 6;

/// Everything that a command line would start.
pub(super) struct Line {
    /// The commands, in the order in which they stand.
    pub(super) commands: Vec<Command>,
    /// The grammar did not understand all of it.
    pub(super) broken: bool,
}

/// Reads a command line.
///
/// # Errors
/// As [`parse`], and `COMMAND_DENIED` for a line that is nested too deeply.
pub(super) fn read(code: &str) -> Result<Line, ToolError> {
    let mut reader = Reader { commands: Vec::new(), broken: false, directory: None, code_depth: 0 };
    reader.code(code, Place { alone: true, ..Place::default() })?;
    Ok(Line { commands: reader.commands, broken: reader.broken })
}

struct Reader {
    commands: Vec<Command>,
    broken: bool,
    directory: Option<String>,
    code_depth: usize,
}

/// One text that is being read.
struct Text<'a> {
    source: &'a str,
    /// The node of the only command, if the text has only one.
    alone: Option<usize>,
}

impl Reader {
    fn code(&mut self, code: &str, place: Place) -> Result<(), ToolError> {
        if self.code_depth > MAX_CODE_DEPTH {
            return Err(too_complex());
        }
        self.code_depth += 1;
        let source = join_continued_lines(code);
        let tree = parse(&source)?;
        let editor_chosen = place.editor_chosen || chooses_editor(&source);
        let place = Place { editor_chosen, ..place };
        if tree.root_node().has_error() {
            self.broken = true;
            self.strictly(&source, &tree, &place)?;
        }
        let text = Text { source: &source, alone: only_command(&tree, &source).filter(|_| place.alone) };
        self.node(tree.root_node(), &text, &Place { alone: false, ..place }, 0)?;
        self.code_depth -= 1;
        Ok(())
    }

    /// Reads what could be a command in a text that the grammar did not understand.
    fn strictly(&mut self, source: &str, tree: &Tree, place: &Place) -> Result<(), ToolError> {
        for words in strict::possible_commands(source, tree) {
            self.words(&words, Place { input: Input::Fed, alone: false, ..place.clone() }, 0)?;
        }
        Ok(())
    }

    fn node(
        &mut self,
        node: Node<'_>,
        text: &Text<'_>,
        place: &Place,
        depth: usize,
    ) -> Result<(), ToolError> {
        if depth > MAX_DEPTH {
            return Err(too_complex());
        }
        match node.kind() {
            "pipeline" => self.pipeline(node, text, place, depth),
            "list" => self.list(node, text, place, depth),
            "command" => self.command(node, text, place, depth),
            "redirected_statement" => self.redirected(node, text, place, depth),
            "subshell" | "command_substitution" | "process_substitution" | "function_definition" => {
                self.apart(node, text, place, depth)
            }
            _ => self.children(node, text, place, depth),
        }
    }

    fn children(
        &mut self,
        node: Node<'_>,
        text: &Text<'_>,
        place: &Place,
        depth: usize,
    ) -> Result<(), ToolError> {
        node.named_children(&mut node.walk()).try_for_each(|child| self.node(child, text, place, depth + 1))
    }

    /// `a && b && c` is a list within a list; a long chain is not deep to a reader, nor is it here.
    fn list(
        &mut self,
        node: Node<'_>,
        text: &Text<'_>,
        place: &Place,
        depth: usize,
    ) -> Result<(), ToolError> {
        let mut waiting = vec![node];
        while let Some(node) = waiting.pop() {
            if node.kind() == "list" {
                let parts: Vec<Node<'_>> = node.named_children(&mut node.walk()).collect();
                waiting.extend(parts.into_iter().rev());
            } else {
                self.node(node, text, place, depth + 1)?;
            }
        }
        Ok(())
    }

    fn pipeline(
        &mut self,
        node: Node<'_>,
        text: &Text<'_>,
        place: &Place,
        depth: usize,
    ) -> Result<(), ToolError> {
        let last = node.named_child_count().saturating_sub(1);
        for (index, child) in node.named_children(&mut node.walk()).enumerate() {
            let mut stage = place.clone();
            stage.captured |= index < last;
            if index > 0 {
                stage.input = Input::Fed;
            }
            self.node(child, text, &stage, depth + 1)?;
        }
        Ok(())
    }

    /// A part that changes no directory for what comes after it.
    fn apart(
        &mut self,
        node: Node<'_>,
        text: &Text<'_>,
        place: &Place,
        depth: usize,
    ) -> Result<(), ToolError> {
        let before = self.directory.clone();
        let mut place = place.clone();
        match node.kind() {
            "subshell" => {}
            // Whoever calls a function decides what it reads and where its output goes.
            "function_definition" => {
                self.multiplying(node, text.source);
                place = Place { input: Input::Fed, captured: true, ..place };
            }
            _ => place.captured = true,
        }
        self.children(node, text, &place, depth)?;
        self.directory = before;
        Ok(())
    }

    fn redirected(
        &mut self,
        node: Node<'_>,
        text: &Text<'_>,
        place: &Place,
        depth: usize,
    ) -> Result<(), ToolError> {
        let mut inner = place.clone();
        for redirect in node.children_by_field_name("redirect", &mut node.walk()) {
            self.redirection(redirect, text.source, &mut inner);
            // What follows a here-document's start on its line is no part of the command, yet it runs.
            let after = Place { input: Input::Fed, ..place.clone() };
            self.node(redirect, text, &after, depth + 1)?;
        }
        match node.child_by_field_name("body") {
            Some(body) => self.node(body, text, &inner, depth + 1),
            None => Ok(()),
        }
    }

    /// Notes what a redirection means for the command, and where it writes.
    fn redirection(&mut self, redirect: Node<'_>, source: &str, place: &mut Place) {
        let text = &source[redirect.byte_range()];
        match redirect.kind() {
            "heredoc_redirect" => {
                let body = redirect.named_children(&mut redirect.walk()).find(|n| n.kind() == "heredoc_body");
                place.input =
                    body.map_or(Input::Fed, |body| Input::Text(source[body.byte_range()].to_owned()));
                place.captured |= has_child(redirect, "pipeline");
            }
            "herestring_redirect" => {
                place.input = redirect
                    .named_child(0)
                    .map_or(Input::Fed, |word| Input::Text(Word::of(word, source).as_code()));
            }
            _ if text.contains('>') => {
                place.captured |= text.starts_with(['>', '&', '1']);
                let target =
                    redirect.child_by_field_name("destination").map(|target| Word::of(target, source));
                let words =
                    [Some(Word::new(REDIRECTION)), target].map(|word| word.unwrap_or(Word::unknown()));
                self.commands.extend(Command::new(&words, place.clone(), None));
            }
            _ => place.input = Input::Fed,
        }
    }

    fn command(
        &mut self,
        node: Node<'_>,
        text: &Text<'_>,
        place: &Place,
        depth: usize,
    ) -> Result<(), ToolError> {
        let mut own = place.clone();
        own.alone = text.alone == Some(node.id());
        let mut words = Vec::new();
        for child in node.named_children(&mut node.walk()) {
            match child.kind() {
                "variable_assignment" => {}
                kind if kind.ends_with("_redirect") => self.redirection(child, text.source, &mut own),
                _ => words.push(Word::of(child, text.source)),
            }
        }
        self.words(&words, own, 0)?;
        self.children(node, text, &Place { alone: false, ..place.clone() }, depth)
    }

    /// Notes a command, and whatever it carries.
    fn words(&mut self, words: &[Word], place: Place, carried: usize) -> Result<(), ToolError> {
        if carried > MAX_DEPTH {
            return Err(too_complex());
        }
        let Some(command) = Command::new(words, place, self.directory.clone()) else { return Ok(()) };
        self.follow(&command);
        let mut inner = command.place.clone();
        inner.alone &= is_transparent(&command.name);
        for part in carried_by(&command) {
            match part {
                Carried::Command(words) => self.words(&words, inner.clone(), carried + 1)?,
                Carried::Code(code) => self.code(&code, inner.clone())?,
            }
        }
        self.commands.push(command);
        Ok(())
    }

    /// Keeps track of the current directory as far as the line says it.
    fn follow(&mut self, command: &Command) {
        if command.name != "cd" {
            return;
        }
        let target = command.arguments.iter().find(|word| !word.text().starts_with('-'));
        self.directory = match (target.map(Word::known), &self.directory) {
            (None, _) => Some("~".to_owned()),
            (Some(None), _) => None,
            (Some(Some(path)), _) if path.starts_with(['/', '~']) => Some(path.to_owned()),
            (Some(Some(path)), before) => before.as_ref().map(|before| format!("{before}/{path}")),
        };
    }

    fn multiplying(&mut self, function: Node<'_>, source: &str) {
        let Some(name) = function.child_by_field_name("name").map(|name| &source[name.byte_range()]) else {
            return;
        };
        if multiplies(function, name, source) {
            let words = [Word::new(MULTIPLYING_FUNCTION)];
            let command = Command::new(&words, Place::default(), None);
            self.commands.extend(command.map(|command| Command { spelled: format!("{name}()"), ..command }));
        }
    }
}

fn has_child(node: Node<'_>, kind: &str) -> bool {
    node.named_children(&mut node.walk()).any(|child| child.kind() == kind)
}

/// Whether a function's body starts the function twice at once: the shape of a fork bomb. A function
/// that walks a tree calls itself too, but one call after the other.
fn multiplies(function: Node<'_>, name: &str, source: &str) -> bool {
    let Some(body) = function.child_by_field_name("body") else { return false };
    body.children(&mut body.walk()).any(|statement| {
        let calls = |node: Node<'_>| node.kind() == "command" && source[node.byte_range()].trim() == name;
        statement.kind() == "pipeline"
            && statement.named_children(&mut statement.walk()).filter(|n| calls(*n)).count() > 1
    })
}

/// The id of the one simple command that a text consists of, or that follows its `cd X &&`.
fn only_command(tree: &Tree, source: &str) -> Option<usize> {
    let root = tree.root_node();
    let mut statements =
        root.named_children(&mut root.walk()).filter(|n| n.kind() != "comment").collect::<Vec<_>>();
    let statement = statements.pop().filter(|_| statements.is_empty())?;
    let command = match statement.kind() {
        "command" => statement,
        "list" => follows_cd(statement, source)?,
        _ => return None,
    };
    let simple = !contains(command, &["command_substitution", "process_substitution"], 0);
    let redirected = command.named_children(&mut command.walk()).any(|n| n.kind().ends_with("_redirect"));
    (simple && !redirected).then_some(command.id())
}

fn follows_cd<'tree>(list: Node<'tree>, source: &str) -> Option<Node<'tree>> {
    let parts: Vec<Node<'_>> = list.children(&mut list.walk()).collect();
    let [cd, and, command] = parts.as_slice() else { return None };
    let name = cd.child_by_field_name("name").map(|name| &source[name.byte_range()]);
    (name == Some("cd") && and.kind() == "&&" && command.kind() == "command").then_some(*command)
}

fn contains(node: Node<'_>, kinds: &[&str], depth: usize) -> bool {
    depth > MAX_DEPTH
        || kinds.contains(&node.kind())
        || node.named_children(&mut node.walk()).any(|child| contains(child, kinds, depth + 1))
}

/// Whether the line names the editor that git and others are to use.
fn chooses_editor(source: &str) -> bool {
    ["EDITOR=", "VISUAL=", "editor="].iter().any(|name| source.contains(name))
}

/// Joins `/work\⏎space`, which the grammar would read as two words.
fn join_continued_lines(code: &str) -> String {
    let mut joined = String::with_capacity(code.len());
    for line in code.split_inclusive('\n') {
        let continued = line.strip_suffix("\\\n").filter(|line| {
            let escaped = line.ends_with('\\');
            // In a comment the end of the line is the end.
            !escaped && !line.contains('#') && line.ends_with(|last: char| !last.is_whitespace())
        });
        joined.push_str(continued.unwrap_or(line));
    }
    joined
}
