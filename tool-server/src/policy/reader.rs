//! From the syntax tree to the commands that would run, wherever in the line they stand.
//!
//! Pipelines, lists, substitutions, functions and loops are only ways to reach a command; the reader
//! walks through all of them and keeps in mind what a command finds around it. It decides nothing.

use protocol::ToolError;
use tree_sitter::{Node, Tree};

use super::alone::only_command;
use super::carrier::{Carried, carried_by, is_transparent};
use super::command::{Command, Input, MULTIPLYING_FUNCTION, Place, REDIRECTION};
use super::functions::multiplies;
use super::parse::{parse, too_complex};
use super::strict;
use super::word::Word;

/// How deep constructs may be nested; code that people write stays below twenty.
const MAX_DEPTH: usize = 200;

/// How often code may stand within code (`bash -c "bash -c …"`).
const MAX_CODE_DEPTH: usize = 6;

/// How many commands may carry one another (`env nice timeout 5 …`).
const MAX_CARRIED: usize = 20;

/// What a command line would start, as far as it has been read.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// The commands, in the order in which they stand.
    pub(super) commands: Vec<Command>,
    /// The grammar did not understand all of it.
    pub(super) broken: bool,
    /// The current directory, as far as the line says it.
    directory: Option<String>,
    code_depth: usize,
}

/// Reads a command line.
///
/// # Errors
/// As [`parse`], and `COMMAND_DENIED` for a line that is nested too deeply.
pub(super) fn read(code: &str) -> Result<Line, ToolError> {
    let mut line = Line::default();
    line.code(code, Place { alone: true, ..Place::default() })?;
    Ok(line)
}

impl Line {
    /// Reads shell code: the line itself, or what `bash -c` and its kin carry.
    fn code(&mut self, code: &str, place: Place) -> Result<(), ToolError> {
        if self.code_depth > MAX_CODE_DEPTH {
            return Err(too_complex());
        }
        self.code_depth += 1;
        let source = join_continued_lines(code);
        let tree = parse(&source)?;
        let place = Place { editor_chosen: place.editor_chosen || chooses_editor(&source), ..place };
        if tree.root_node().has_error() {
            self.broken = true;
            self.strictly(&source, &tree, &place)?;
        }
        let alone = only_command(&tree, &source).filter(|_| place.alone);
        let mut walk = Walk { line: self, source: &source, alone, depth: 0 };
        walk.node(tree.root_node(), &Place { alone: false, ..place })?;
        self.code_depth -= 1;
        Ok(())
    }

    /// Reads what could be a command in a text that the grammar did not understand.
    fn strictly(&mut self, source: &str, tree: &Tree, place: &Place) -> Result<(), ToolError> {
        for words in strict::possible_commands(source, tree) {
            self.command(&words, Place { input: Input::Fed, alone: false, ..place.clone() }, 0)?;
        }
        Ok(())
    }

    /// Notes a command, and whatever it carries.
    fn command(&mut self, words: &[Word], place: Place, carried: usize) -> Result<(), ToolError> {
        if carried > MAX_CARRIED {
            return Err(too_complex());
        }
        let Some(command) = Command::new(words, place, self.directory.clone()) else { return Ok(()) };
        self.follow(&command);
        let mut place = command.place.clone();
        place.alone &= is_transparent(&command.name);
        for part in carried_by(&command) {
            match part {
                Carried::Command(words) => self.command(&words, place.clone(), carried + 1)?,
                Carried::Code(code) => self.code(&code, place.clone())?,
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
}

/// The walk through one text's tree.
struct Walk<'a> {
    line: &'a mut Line,
    source: &'a str,
    /// The node of the only command, if the text has only one.
    alone: Option<usize>,
    depth: usize,
}

impl Walk<'_> {
    fn node(&mut self, node: Node<'_>, place: &Place) -> Result<(), ToolError> {
        if self.depth > MAX_DEPTH {
            return Err(too_complex());
        }
        self.depth += 1;
        match node.kind() {
            "command" => self.command(node, place)?,
            "pipeline" => self.pipeline(node, place)?,
            "list" => self.list(node, place)?,
            "redirected_statement" => self.redirected(node, place)?,
            "subshell" | "command_substitution" | "process_substitution" | "function_definition" => {
                self.apart(node, place)?;
            }
            _ => self.children(node, place)?,
        }
        self.depth -= 1;
        Ok(())
    }

    fn children(&mut self, node: Node<'_>, place: &Place) -> Result<(), ToolError> {
        node.named_children(&mut node.walk()).try_for_each(|child| self.node(child, place))
    }

    fn command(&mut self, node: Node<'_>, place: &Place) -> Result<(), ToolError> {
        let mut own = Place { alone: self.alone == Some(node.id()), ..place.clone() };
        let mut words = Vec::new();
        for child in node.named_children(&mut node.walk()) {
            match child.kind() {
                "variable_assignment" => {}
                kind if kind.ends_with("_redirect") => self.redirection(child, &mut own),
                _ => words.push(Word::of(child, self.source)),
            }
        }
        self.line.command(&words, own, 0)?;
        self.children(node, place)
    }

    fn pipeline(&mut self, node: Node<'_>, place: &Place) -> Result<(), ToolError> {
        let last = node.named_child_count().saturating_sub(1);
        for (index, child) in node.named_children(&mut node.walk()).enumerate() {
            let mut stage = place.clone();
            stage.captured |= index < last;
            if index > 0 {
                stage.input = Input::Fed;
            }
            self.node(child, &stage)?;
        }
        Ok(())
    }

    /// `a && b && c` is a list within a list; a long chain is not deep to a reader, nor is it here.
    fn list(&mut self, node: Node<'_>, place: &Place) -> Result<(), ToolError> {
        let mut waiting = vec![node];
        while let Some(node) = waiting.pop() {
            if node.kind() == "list" {
                let parts: Vec<Node<'_>> = node.named_children(&mut node.walk()).collect();
                waiting.extend(parts.into_iter().rev());
            } else {
                self.node(node, place)?;
            }
        }
        Ok(())
    }

    /// A part that changes no directory for what comes after it.
    fn apart(&mut self, node: Node<'_>, place: &Place) -> Result<(), ToolError> {
        let before = self.line.directory.clone();
        let mut place = place.clone();
        match node.kind() {
            "subshell" => {}
            // Whoever calls a function decides what it reads and where its output goes.
            "function_definition" => {
                self.function(node);
                place = Place { input: Input::Fed, captured: true, ..place };
            }
            _ => place.captured = true,
        }
        self.children(node, &place)?;
        self.line.directory = before;
        Ok(())
    }

    fn function(&mut self, node: Node<'_>) {
        let Some(name) = multiplies(node, self.source) else { return };
        let command = Command::new(&[Word::new(MULTIPLYING_FUNCTION)], Place::default(), None);
        let spelled = format!("{name}()");
        self.line.commands.extend(command.map(|command| Command { spelled, ..command }));
    }

    fn redirected(&mut self, node: Node<'_>, place: &Place) -> Result<(), ToolError> {
        let mut inner = place.clone();
        for redirect in node.children_by_field_name("redirect", &mut node.walk()) {
            self.redirection(redirect, &mut inner);
            // What follows a here-document's start on its line is no part of the command, yet it runs.
            self.node(redirect, &Place { input: Input::Fed, ..place.clone() })?;
        }
        match node.child_by_field_name("body") {
            Some(body) => self.node(body, &inner),
            None => Ok(()),
        }
    }

    /// Notes what a redirection means for its command, and where it writes.
    fn redirection(&mut self, redirect: Node<'_>, place: &mut Place) {
        let text = |node: Node<'_>| self.source[node.byte_range()].to_owned();
        let parts: Vec<Node<'_>> = redirect.named_children(&mut redirect.walk()).collect();
        match redirect.kind() {
            "heredoc_redirect" => {
                place.captured |= parts.iter().any(|part| part.kind() == "pipeline");
                let body = parts.iter().find(|part| part.kind() == "heredoc_body");
                place.input = body.map_or(Input::Fed, |body| Input::Text(text(*body)));
            }
            "herestring_redirect" => {
                let word = parts.first().map(|word| Word::of(*word, self.source).as_code());
                place.input = word.map_or(Input::Fed, Input::Text);
            }
            _ if text(redirect).contains('>') => {
                place.captured |= text(redirect).starts_with(['>', '&', '1']);
                let target = redirect.child_by_field_name("destination");
                let target = target.map_or_else(Word::unknown, |target| Word::of(target, self.source));
                let words = [Word::new(REDIRECTION), target];
                self.line.commands.extend(Command::new(&words, place.clone(), None));
            }
            _ => place.input = Input::Fed,
        }
    }
}

/// Whether the line names the editor that git and others are to use.
fn chooses_editor(source: &str) -> bool {
    ["EDITOR=", "VISUAL=", "editor="].iter().any(|name| source.contains(name))
}

/// Joins `/work\⏎space`, which the grammar would read as two words.
fn join_continued_lines(code: &str) -> String {
    let mut joined = String::with_capacity(code.len());
    for line in code.split_inclusive('\n') {
        let within_a_word = |line: &&str| {
            let escaped = line.ends_with('\\');
            // In a comment the end of the line is the end.
            !escaped && !line.contains('#') && line.ends_with(|last: char| !last.is_whitespace())
        };
        joined.push_str(line.strip_suffix("\\\n").filter(within_a_word).unwrap_or(line));
    }
    joined
}
