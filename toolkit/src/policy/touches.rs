//! What a call would touch, as far as its tool can tell before it runs.

use std::path::PathBuf;

/// What a call names, beside its arguments' plain values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Touches {
    /// What its paths lead to. A path that leads nowhere is left to the tool, which refuses it.
    pub paths: Vec<TouchedPath>,
    /// Whether it also reads what lies below these paths. The tool leaves out what a rule denies there
    /// ([`Call::hides`](crate::Call::hides)).
    pub reads_below: bool,
    /// What it would run.
    pub commands: Option<CommandLine>,
    /// The hosts that it would reach.
    pub hosts: Vec<String>,
    /// The chats that it would write to beside its own, such as `telegram:12`.
    pub recipients: Vec<String>,
    /// Its circumstances.
    pub circumstances: Vec<Circumstance>,
}

impl Touches {
    /// Neither files nor commands nor other machines.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// The hosts and chats that it would reach.
    pub(crate) fn reached(self) -> Vec<String> {
        [self.hosts, self.recipients].concat()
    }
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
    /// It writes to a contact for the first time from its chat at this address.
    NewContact,
    /// Its task has read what neither its people nor the operator wrote.
    SeenOutside,
    /// It may leave files that other programs execute.
    ControlFiles,
}

impl Circumstance {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::SendsData,
        Self::NewHost,
        Self::OtherChat,
        Self::NewContact,
        Self::SeenOutside,
        Self::ControlFiles,
    ];

    /// The name that rules use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SendsData => "sends_data",
            Self::NewHost => "new_host",
            Self::OtherChat => "other_chat",
            Self::NewContact => "new_contact",
            Self::SeenOutside => "seen_outside",
            Self::ControlFiles => "control_files",
        }
    }
}

/// Whether a rule is about something. The order is that of how sure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    No,
    /// The call does not show enough to tell.
    Perhaps,
    Surely,
}

impl From<bool> for Fit {
    fn from(fits: bool) -> Self {
        if fits { Self::Surely } else { Self::No }
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

    /// Whether the first words are these, could be, or are not.
    pub(super) fn fit(&self, prefix: &[String]) -> Fit {
        let ways = [Some(&self.words), self.without_options.as_ref()];
        ways.into_iter().flatten().map(|words| fit(words, prefix)).max().unwrap_or(Fit::No)
    }
}

fn fit(words: &[Option<String>], prefix: &[String]) -> Fit {
    let mut wanted = prefix.iter();
    for word in words {
        // What only the shell knows may become several words.
        let Some(word) = word else { return if wanted.len() > 0 { Fit::Perhaps } else { Fit::Surely } };
        match wanted.next() {
            None => return Fit::Surely,
            Some(wanted) if wanted != word => return Fit::No,
            Some(_) => {}
        }
    }
    Fit::from(wanted.len() == 0)
}
