//! What a call would touch, as far as its tool can tell before it runs.

use std::path::PathBuf;

/// What a call names, beside its arguments' plain values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Touches {
    /// What its paths lead to. A path that leads nowhere is left to the tool, which refuses it.
    pub paths: Vec<TouchedPath>,
    /// What it would run.
    pub commands: Option<CommandLine>,
    /// The hosts that it would reach.
    pub hosts: Vec<String>,
    /// What is special about it.
    pub circumstances: Vec<Circumstance>,
}

/// What may be special about a call, as only its tool can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Circumstance {
    /// It sends data to a host, beyond asking for a page.
    SendsData,
    /// It asks a host that the operator has not listed.
    NewHost,
    /// It sends something into another chat than its own.
    OtherChat,
    /// It writes to a contact that nobody of its chat has written to before.
    NewContact,
}

impl Circumstance {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::SendsData, Self::NewHost, Self::OtherChat, Self::NewContact];

    /// The name that rules use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SendsData => "sends_data",
            Self::NewHost => "new_host",
            Self::OtherChat => "other_chat",
            Self::NewContact => "new_contact",
        }
    }
}

/// A path with its links resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TouchedPath {
    /// From the root of the file system, with its slash.
    pub path: PathBuf,
    /// Below the root that it is in.
    pub beneath: PathBuf,
}

/// The simple commands of a command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// Every command that the line starts, also in pipelines, substitutions and code within code.
    pub commands: Vec<SimpleCommand>,
    /// Whether these are all: nothing was beyond the parser, and no code comes from elsewhere.
    pub is_understood: bool,
    /// Whether nothing but these commands counts: no assignment changes what they do, and no redirection
    /// writes a file.
    pub is_plain: bool,
}

/// A command, word by word; none for a word that only the running shell knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SimpleCommand {
    /// The words as they would be run.
    pub words: Vec<Option<String>>,
    /// The same without the options before a subcommand (`git -C x push` is `git push`).
    pub without_options: Option<Vec<Option<String>>>,
}

impl SimpleCommand {
    /// Whether the first words are certainly these.
    pub(super) fn begins_with(&self, prefix: &[String]) -> bool {
        let same = |(word, wanted): (&Option<String>, &String)| word.as_ref() == Some(wanted);
        self.words.len() >= prefix.len() && self.words.iter().zip(prefix).all(same)
    }

    /// Whether the first words are these or could be.
    pub(super) fn could_begin_with(&self, prefix: &[String]) -> bool {
        [Some(&self.words), self.without_options.as_ref()].into_iter().flatten().any(|words| {
            let fits =
                |(word, wanted): (&Option<String>, &String)| word.as_ref().is_none_or(|word| word == wanted);
            // What only the shell knows may become several words.
            let reaches = words.len() >= prefix.len() || words.iter().any(Option::is_none);
            reaches && words.iter().zip(prefix).take_while(|(word, _)| word.is_some()).all(fits)
        })
    }
}
