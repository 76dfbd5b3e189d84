//! The walk through a syntax tree, to each command in it.
//!
//! Pipelines, lists, substitutions, functions and loops are only ways to reach a command; the walk goes
//! through all of them and keeps in mind what a command finds around it. It decides nothing.

use protocol::ToolError;
use tree_sitter::Node;

use super::command::{Command, Input, MULTIPLYING_FUNCTION, Place, REDIRECTION};
use super::functions::multiplies;
use super::parse::too_complex;
use super::reader::Line;
use super::word::Word;

/// How deep constructs may be nested; code that people write stays below twenty.
const MAX_DEPTH: usize = 200;

/// The walk through one text's tree.
pub(super) struct Walk<'a> {
    line: &'a mut Line,
    source: &'a str,
    /// The node of the only command, if the text has only one.
    alone: Option<usize>,
    depth: usize,
}

impl<'a> Walk<'a> {
    /// A walk that has not begun; `alone` is the node of the only command, if the text has only one.
    pub(super) fn new(line: &'a mut Line, source: &'a str, alone: Option<usize>) -> Self {
        Self { line, source, alone, depth: 0 }
    }

    /// Walks through a node and all below it.
    ///
    /// # Errors
    /// `COMMAND_DENIED` where it is nested too deeply.
    pub(super) fn node(&mut self, node: Node<'_>, place: &Place) -> Result<(), ToolError> {
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
