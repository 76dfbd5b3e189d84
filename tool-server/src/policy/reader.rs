//! From a command line to the commands that would run, those included that other commands carry.
//!
//! Code within code (`bash -c '…'`) is parsed and read like the line itself. Nothing is decided here.

use protocol::ToolError;
use tree_sitter::Tree;

use super::alone::only_command;
use super::carrier::{Carried, carried_by, is_transparent};
use super::command::{Command, Input, Place};
use super::parse::{parse, too_complex};
use super::strict;
use super::walk::Walk;
use super::word::{UNKNOWN, Word};

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
    pub(super) directory: Option<String>,
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
        Walk::new(self, &source, alone).node(tree.root_node(), &Place { alone: false, ..place })?;
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
    ///
    /// # Errors
    /// `COMMAND_DENIED` where commands carry one another, or code stands within code, without end.
    pub(super) fn command(&mut self, words: &[Word], place: Place, carried: usize) -> Result<(), ToolError> {
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
            (Some(None), _) => Some(UNKNOWN.to_string()),
            (Some(Some(path)), _) if path.starts_with(['/', '~']) => Some(path.to_owned()),
            (Some(Some(path)), before) => before.as_ref().map(|before| format!("{before}/{path}")),
        };
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
