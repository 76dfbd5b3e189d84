//! From a command line to the commands that would run.
//!
//! Pipelines, lists, substitutions, functions and loops are only ways to reach a command; the walk goes
//! through all of them, and through code within code (`bash -c '…'`), and records each command's context.
//! Nothing is decided here.

use protocol::ToolError;
use tree_sitter::Node;

use super::command::{Command, Context};
use super::parse::{parse, too_complex};
use super::single_command::{SingleCommand, single_command};
use super::values::Values;
use super::word::{UNKNOWN, Word};
use super::wrappers::{Wrapped, runs_unseen_code, sets_variables, up_to_script, wrapped_by};

/// How deep constructs may nest; code that people write stays below twenty. A wrapper (`env nice …`) counts
/// as 10 levels and code within code (`bash -c "…"`) as 30, because each costs a copy or a parse.
const MAX_DEPTH: usize = 200;

/// What a command line would start.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// The commands, wrapped ones before those that wrap them.
    pub(super) commands: Vec<Command>,
    /// The only command, if the line is nothing else.
    pub(super) single: Option<SingleCommand>,
    /// The current directory, as far as the line says it.
    directory: Option<String>,
    /// Something would run that is not among the commands: the grammar did not understand all of the line, or
    /// what it runs comes from elsewhere.
    pub(super) is_opaque: bool,
    /// An assignment or a function may change what the commands do, or a redirection writes a file.
    pub(super) has_side_effects: bool,
    /// Every word of the line and of code within it, wherever it stands.
    pub(super) words: Vec<Word>,
    /// What its variables hold.
    pub(super) values: Values,
    /// Scripts that shells are given, which could be code or an option instead.
    scripts: Vec<Word>,
}

/// Reads a command line.
///
/// # Errors
/// As [`parse`], and `COMMAND_DENIED` for a line that is nested too deeply.
pub(super) fn read(line: &str) -> Result<Line, ToolError> {
    let mut read = Line::default();
    let editor_chosen = ["EDITOR=", "VISUAL=", "editor="].iter().any(|name| line.contains(name));
    read.code(line, &Context { editor_chosen, ..Context::default() }, 0)?;
    read.is_opaque |= read.scripts.iter().any(|script| !read.values.is_file(script));
    Ok(read)
}

impl Line {
    /// Reads the line itself, or the code that `bash -c` and the like run.
    fn code(&mut self, code: &str, context: &Context, depth: usize) -> Result<(), ToolError> {
        if depth > MAX_DEPTH {
            return Err(too_complex());
        }
        // The grammar would read `re\⏎boot` as two words.
        let source = code.replace("\\\n", "");
        let tree = parse(&source)?;
        self.is_opaque |= tree.root_node().has_error();
        if depth == 0 {
            self.single = single_command(&tree, &source);
        }
        Walk { line: self, source: &source }.node(tree.root_node(), context, depth)
    }

    /// Adds a command and those that it wraps.
    fn command(&mut self, words: &[Word], context: Context, depth: usize) -> Result<(), ToolError> {
        if depth > MAX_DEPTH {
            return Err(too_complex());
        }
        let context = Context { directory: self.directory.clone(), ..context };
        self.is_opaque |= words.first().is_some_and(|word| !word.is_literal());
        let Some(command) = Command::new(words, context) else { return Ok(()) };
        self.is_opaque |= runs_unseen_code(&command);
        self.scripts.extend_from_slice(up_to_script(&command));
        if sets_variables(&command) {
            self.values.forget();
        }
        if command.name == "cd" {
            self.change_directory(&command);
        }
        for wrapped in wrapped_by(&command) {
            match wrapped {
                Wrapped::Command(words) => self.command(&words, command.context.clone(), depth + 10)?,
                Wrapped::Code(code) => self.code(&code, &command.context, depth + 30)?,
            }
        }
        self.commands.push(command);
        Ok(())
    }

    fn change_directory(&mut self, cd: &Command) {
        let target = cd.arguments.iter().find(|word| !word.text().starts_with('-'));
        self.directory = match (target.map_or("~", Word::text), &self.directory) {
            (path, _) if path.starts_with(['/', '~', UNKNOWN]) => Some(path.to_owned()),
            (path, before) => before.as_ref().map(|before| format!("{before}/{path}")),
        };
    }
}

/// `2>&1`, `> /dev/null` and every `<` write none.
fn writes_a_file(redirect: &str) -> bool {
    let redirect = redirect.trim_start_matches(|c: char| c.is_ascii_digit());
    let to = redirect.trim_start_matches(['>', '|', '&']).trim();
    !redirect.starts_with('<') && to != "/dev/null" && !matches!(to, "1" | "2" | "-")
        || redirect.starts_with("<>")
}

struct Walk<'a> {
    line: &'a mut Line,
    source: &'a str,
}

impl Walk<'_> {
    fn node(&mut self, node: Node<'_>, context: &Context, depth: usize) -> Result<(), ToolError> {
        if depth > MAX_DEPTH {
            return Err(too_complex());
        }
        let piped = || Context { piped: true, ..context.clone() };
        self.line.has_side_effects |= match node.kind() {
            "variable_assignment" | "declaration_command" | "function_definition" => true,
            "file_redirect" => writes_a_file(&self.source[node.byte_range()]),
            _ => false,
        };
        self.note(node);
        match node.kind() {
            "command" => self.command(node, context, depth),
            // `a && b && c` is a list within a list, but a long chain is not deep to a reader.
            "list" => self.children(node, context, depth - 1),
            "pipeline" => self.children(node, &piped(), depth),
            "redirected_statement" => {
                let mut inner = context.clone();
                let redirects = node.children_by_field_name("redirect", &mut node.walk()).collect::<Vec<_>>();
                redirects.into_iter().for_each(|redirect| self.redirect(redirect, &mut inner));
                self.children(node, &inner, depth)
            }
            "subshell" => self.scope(node, context, depth),
            // Its caller decides what a function reads and where its output goes.
            "command_substitution" | "process_substitution" | "function_definition" => {
                self.scope(node, &piped(), depth)
            }
            _ => self.children(node, context, depth),
        }
    }

    /// Notes words and what variables hold.
    fn note(&mut self, node: Node<'_>) {
        match node.kind() {
            "word"
            | "string"
            | "raw_string"
            | "ansi_c_string"
            | "translated_string"
            | "concatenation"
            | "number"
            | "simple_expansion"
            | "expansion"
            | "command_substitution"
            | "process_substitution" => self.line.words.push(Word::of(node, self.source)),
            "variable_assignment" | "for_statement" => self.line.values.note(node, self.source),
            // These set variables to numbers, or ask for something that is no plain variable.
            "c_style_for_statement" | "array" | "subscript" => self.line.values.forget(),
            "compound_statement" if self.source[node.byte_range()].starts_with("((") => {
                self.line.values.forget();
            }
            "declaration_command" if self.source[node.byte_range()].contains(" -n") => {
                self.line.values.forget();
            }
            _ => {}
        }
    }

    fn children(&mut self, node: Node<'_>, context: &Context, depth: usize) -> Result<(), ToolError> {
        node.named_children(&mut node.walk()).try_for_each(|child| self.node(child, context, depth + 1))
    }

    /// A part whose `cd` does not change the directory of what comes after it.
    fn scope(&mut self, node: Node<'_>, context: &Context, depth: usize) -> Result<(), ToolError> {
        let before = self.line.directory.clone();
        self.children(node, context, depth)?;
        self.line.directory = before;
        Ok(())
    }

    fn command(&mut self, node: Node<'_>, context: &Context, depth: usize) -> Result<(), ToolError> {
        let mut own = context.clone();
        let mut words = Vec::new();
        for child in node.named_children(&mut node.walk()) {
            match child.kind() {
                "variable_assignment" => {}
                kind if kind.ends_with("_redirect") => self.redirect(child, &mut own),
                _ => words.push(Word::of(child, self.source)),
            }
        }
        self.line.command(&words, own, depth)?;
        self.children(node, context, depth)
    }

    fn redirect(&self, redirect: Node<'_>, context: &mut Context) {
        context.piped = true;
        let parts: Vec<Node<'_>> = redirect.named_children(&mut redirect.walk()).collect();
        let body = parts.iter().find(|part| part.kind() == "heredoc_body");
        context.here_text = match redirect.kind() {
            "heredoc_redirect" => body.map(|body| self.source[body.byte_range()].to_owned()),
            "herestring_redirect" => parts.first().map(|word| Word::of(*word, self.source).as_code()),
            _ => return,
        };
    }
}
