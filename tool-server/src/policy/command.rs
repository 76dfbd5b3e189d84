//! One command as bash would run it: its word, its arguments, and where it stands in the line.
//!
//! This is all that a rule sees. It has no reference to the syntax tree, so that a rule reads as a
//! sentence about a command and not as a walk over nodes.

use super::word::{UNKNOWN, Word};

/// The pseudo-word of a redirection that writes; its one argument is the target.
pub(super) const REDIRECTION: &str = ">";

/// The pseudo-word of a function that starts itself more than once.
pub(super) const MULTIPLYING_FUNCTION: &str = "()";

/// A command with its surroundings.
#[derive(Debug, Clone)]
pub(super) struct Command {
    /// The program's or builtin's name, without the directory of a system program.
    pub(super) name: String,
    /// The word as it would be shown to whoever wrote it.
    pub(super) spelled: String,
    /// What follows the word.
    pub(super) arguments: Vec<Word>,
    /// Where it stands.
    pub(super) place: Place,
    /// The directory that a `cd` in the same line made current; unknown like a word where the line does
    /// not say it.
    pub(super) directory: Option<String>,
}

/// Where a command stands in the line.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    /// What it finds on its standard input.
    pub(super) input: Input,
    /// Its output goes to another command or into a file.
    pub(super) captured: bool,
    /// The whole line is this one simple command, or `cd X &&` it.
    pub(super) alone: bool,
    /// The line chooses the editor itself (`GIT_EDITOR=true git …`).
    pub(super) editor_chosen: bool,
}

/// What a command finds on its standard input.
#[derive(Debug, Clone, Default)]
pub(super) enum Input {
    /// Nothing: commands are started with an empty input.
    #[default]
    Empty,
    /// Something that is not known.
    Fed,
    /// This text, from a here-document or a here-string.
    Text(String),
}

impl Input {
    /// Whether there is something to read.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }
}

impl Command {
    /// The command that a list of words makes, if its first word is known.
    pub(super) fn new(words: &[Word], place: Place, directory: Option<String>) -> Option<Self> {
        let (first, arguments) = words.split_first()?;
        let spelled = first.known()?.to_owned();
        let name = program_name(&spelled).to_owned();
        Some(Self { name, spelled, arguments: arguments.to_vec(), place, directory })
    }

    /// Whether one of the arguments is exactly one of these.
    pub(super) fn says(&self, texts: &[&str]) -> bool {
        self.arguments.iter().any(|argument| texts.contains(&argument.text()))
    }

    /// Whether it is only asked who it is. A later `--help` may be meant for a command that it carries.
    pub(super) fn asks_for_help(&self) -> bool {
        self.arguments.first().is_some_and(|first| matches!(first.text(), "--version" | "--help"))
    }

    /// Whether an argument has a part that only the running shell knows.
    pub(super) fn has_unknown(&self) -> bool {
        self.arguments.iter().any(|argument| argument.text().contains(UNKNOWN))
    }
}

/// `/usr/bin/vim` is `vim`; `./reboot` is the project's own program and none of the rules' business.
fn program_name(word: &str) -> &str {
    const SYSTEM: [&str; 4] = ["/bin/", "/sbin/", "/usr/", "/opt/"];
    match word.rsplit_once('/') {
        Some((_, name)) if SYSTEM.iter().any(|place| word.starts_with(place)) => name,
        _ => word,
    }
}
