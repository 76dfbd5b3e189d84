//! The lines that a person types, with editing and a history.

use std::path::Path;

use rustyline::completion::Completer;
use rustyline::config::Configurer as _;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Editor, Helper};

use super::super::error::CommandError;
use super::super::print_error;

const PROMPT: &str = "> ";

/// Ends a line that the next one continues.
pub(super) const GOES_ON: char = '\\';

const HISTORY_ENTRIES: usize = 1000;

/// The editor of a conversation's lines.
pub(super) struct Lines<'a> {
    editor: Editor<Continued, FileHistory>,
    history: &'a Path,
}

impl<'a> Lines<'a> {
    pub(super) fn open(history: &'a Path) -> Result<Self, CommandError> {
        let config = Config::builder().max_history_size(HISTORY_ENTRIES).map_err(CommandError::Keys)?;
        let config = config.auto_add_history(true).build();
        let mut editor = Editor::with_config(config).map_err(CommandError::Keys)?;
        editor.set_helper(Some(Continued));
        // The first time there is none.
        let _ = editor.load_history(history);
        Ok(Self { editor, history })
    }

    /// A short answer, which is no message and not kept; none when somebody does not answer.
    pub(super) fn ask(&mut self, prompt: &str) -> Result<Option<String>, CommandError> {
        self.editor.set_auto_add_history(false);
        let line = self.editor.readline(prompt);
        self.editor.set_auto_add_history(true);
        match line {
            Ok(line) => Ok(Some(line)),
            Err(ReadlineError::Eof | ReadlineError::Interrupted) => Ok(None),
            Err(error) => Err(CommandError::Keys(error)),
        }
    }

    /// The next message; none when somebody leaves.
    pub(super) fn next(&mut self) -> Result<Option<String>, CommandError> {
        let mut is_leaving = false;
        loop {
            match self.editor.readline(PROMPT) {
                Ok(line) if line.trim().is_empty() => {}
                Ok(line) => {
                    // Without it, only the history of this conversation is lost.
                    let _ = self.editor.append_history(self.history);
                    // Without the marks that its lines go on.
                    return Ok(Some(line.replace("\\\n", "\n")));
                }
                Err(ReadlineError::Eof) => return Ok(None),
                Err(ReadlineError::Interrupted) if is_leaving => return Ok(None),
                Err(ReadlineError::Interrupted) => {
                    is_leaving = true;
                    print_error("Nothing runs. Ctrl-C again, or Ctrl-D, leaves.");
                }
                Err(error) => return Err(CommandError::Keys(error)),
            }
        }
    }
}

/// Reads on while a line ends in [`GOES_ON`].
struct Continued;

impl Helper for Continued {}
impl Completer for Continued {
    type Candidate = String;
}
impl Hinter for Continued {
    type Hint = String;
}
impl Highlighter for Continued {}
impl Validator for Continued {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let goes_on = context.input().ends_with(GOES_ON);
        Ok(if goes_on { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}
