//! One command as bash would run it: its word, its arguments, and its context.
//!
//! This is all that a rule sees. It holds no reference to the syntax tree, so a rule reads as a sentence
//! about a command and not as a walk over nodes.

use super::arguments::{Arguments, listed};
use super::word::Word;

/// A command with its context.
#[derive(Debug, Clone)]
pub(super) struct Command {
    /// The program or builtin, without the directory of a system program.
    pub(super) name: String,
    /// The word as it was written, quotes resolved.
    pub(super) spelled: String,
    pub(super) arguments: Vec<Word>,
    pub(super) context: Context,
}

/// Where a command stands in the line.
#[derive(Debug, Clone, Default)]
pub(super) struct Context {
    /// Its input or output is connected to another command or to a file.
    pub(super) piped: bool,
    /// The here-document or here-string on its input.
    pub(super) here_text: Option<String>,
    /// The line chooses the editor itself (`GIT_EDITOR=true git …`).
    pub(super) editor_chosen: bool,
    /// The directory that a `cd` before it made current, as far as the line says it.
    pub(super) directory: Option<String>,
}

impl Command {
    /// The command that a list of words makes, if its first word is known.
    pub(super) fn new(words: &[Word], context: Context) -> Option<Self> {
        let (first, arguments) = words.split_first()?;
        let spelled = first.known()?.to_owned();
        // `/usr/bin/vim` is `vim`; `./reboot` is a program of the project, which no rule is about.
        let is_system = ["/bin/", "/sbin/", "/usr/", "/opt/"].iter().any(|at| spelled.starts_with(at));
        let base = spelled.rsplit('/').next().filter(|_| is_system);
        let name = base.unwrap_or(&spelled).to_owned();
        Some(Self { name, spelled, arguments: arguments.to_vec(), context })
    }

    /// Whether one of these is an argument, or an option among bundled ones such as `-bn1`.
    pub(super) fn has(&self, options: &str) -> bool {
        self.arguments.iter().any(|argument| listed(options, argument.text()))
            || Arguments::of(&self.arguments, "").has(options)
    }

    /// Whether it only asks the program about itself. A later `--help` may belong to a wrapped command.
    pub(super) fn asks_for_help(&self) -> bool {
        self.arguments.first().is_some_and(|first| listed("--version --help", first.text()))
    }

    /// The subcommand of git and what follows it, past the options of git itself.
    pub(super) fn git_subcommand(&self) -> Option<(&str, &[Word])> {
        let valued = "-C -c --git-dir --work-tree --namespace --exec-path --config-env";
        let (name, rest) = Arguments::of(&self.arguments, valued).rest.split_first()?;
        Some((name.known()?, rest))
    }
}
