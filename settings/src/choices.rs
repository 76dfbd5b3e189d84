//! The values of settings that are one of a few words, with their words.

use serde::{Deserialize, Serialize};

use crate::provider::Provider;

/// The name of the root for what an agent keeps, in whatever directory it lies.
pub const STATE_ROOT: &str = "state";

/// How the roots are divided between sessions, each of which is one chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Division {
    /// All sessions see the same files.
    #[default]
    Shared,
    /// Each session sees only its own directory of each root.
    PerChat,
}

impl Division {
    /// What it means, in a sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Shared => "all chats see the same files; AUTONOUS_WORKSPACES=per-chat gives each its own",
            Self::PerChat => "each chat sees only its own directory of each root",
        }
    }
}

/// Which sandbox holds commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxMode {
    /// The best that the kernel allows.
    Auto,
    /// Tier A, or no start.
    Full,
    /// Tier B, or no start.
    Landlock,
}

/// Who may use the bot in an allowed group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupMembers {
    /// The listed ones; if no user is set, the group's administrators, too.
    Admins,
    /// The allowed users, those that were paired, and those whose own chat is allowed.
    Listed,
    /// Everybody in the group.
    All,
}

/// Which messages of a group are tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupTrigger {
    /// Those that mention the bot, answer it, or are commands.
    Mention,
    /// All that the bot sees.
    All,
}

/// Where the bot reacts to the messages that it works for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reactions {
    /// In private chats.
    Private,
    /// In groups as well.
    All,
    /// Nowhere.
    Off,
}

/// The service behind web searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SearchService {
    /// The page of DuckDuckGo for browsers without scripts; needs no key.
    DuckDuckGo,
    /// A SearXNG of one's own.
    SearXng,
    /// Brave's interface; needs a key.
    Brave,
    /// Tavily's interface; needs a key.
    Tavily,
}

impl SearchService {
    /// Its base address, if there is one for everybody.
    pub const fn own_address(self) -> Option<&'static str> {
        match self {
            Self::DuckDuckGo => Some("https://html.duckduckgo.com/"),
            Self::SearXng => None,
            Self::Brave => Some("https://api.search.brave.com/"),
            Self::Tavily => Some("https://api.tavily.com/"),
        }
    }
}

/// What answers the worker's requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelProvider {
    /// No model: the message is the tool call.
    Direct,
    /// A script, for tests.
    Scripted,
    /// A server that speaks this provider's protocol.
    Server(Provider),
}

/// How a model calls tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolProtocol {
    /// By its provider's function calling.
    Native,
    /// By JSON in plain replies.
    Json,
}

/// The form of the rules, tools and results that a model gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PromptForm {
    /// Everything.
    Full,
    /// All tools with their usual arguments: for a small window.
    Compact,
    /// A few tools, and results without what a model of few parameters misreads.
    Small,
}

/// How much a model thinks before it replies. Which of them a model knows, its vendor says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "they are the vendors' words")]
pub enum Effort {
    None,
    Minimal,
    Low,
    Medium,
    High,
    Xhigh,
    Max,
}

/// The words of a choice, which settings and messages have for its values.
pub trait Words: Copy + PartialEq + 'static {
    /// All values with their words.
    const WORDS: &'static [(&'static str, Self)];

    /// The word for this value.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, value)| *value == self).map_or("", |(word, _)| word)
    }
}

impl Words for Division {
    const WORDS: &'static [(&'static str, Self)] = &[("shared", Self::Shared), ("per-chat", Self::PerChat)];
}

impl Words for SandboxMode {
    const WORDS: &'static [(&'static str, Self)] =
        &[("auto", Self::Auto), ("full", Self::Full), ("landlock", Self::Landlock)];
}

impl Words for GroupMembers {
    const WORDS: &'static [(&'static str, Self)] =
        &[("admins", Self::Admins), ("listed", Self::Listed), ("all", Self::All)];
}

impl Words for GroupTrigger {
    const WORDS: &'static [(&'static str, Self)] = &[("mention", Self::Mention), ("all", Self::All)];
}

impl Words for Reactions {
    const WORDS: &'static [(&'static str, Self)] =
        &[("private", Self::Private), ("all", Self::All), ("off", Self::Off)];
}

impl Words for SearchService {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("duckduckgo", Self::DuckDuckGo),
        ("searxng", Self::SearXng),
        ("brave", Self::Brave),
        ("tavily", Self::Tavily),
    ];
}

impl Words for ToolProtocol {
    const WORDS: &'static [(&'static str, Self)] = &[("native", Self::Native), ("json", Self::Json)];
}

impl Words for PromptForm {
    const WORDS: &'static [(&'static str, Self)] =
        &[("full", Self::Full), ("compact", Self::Compact), ("small", Self::Small)];
}

impl Words for Effort {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("none", Self::None),
        ("minimal", Self::Minimal),
        ("low", Self::Low),
        ("medium", Self::Medium),
        ("high", Self::High),
        ("xhigh", Self::Xhigh),
        ("max", Self::Max),
    ];
}

impl Words for ModelProvider {
    const WORDS: &'static [(&'static str, Self)] = &{
        let mut words = [("direct", Self::Direct); Provider::ALL.len() + 2];
        words[1] = ("scripted", Self::Scripted);
        let mut index = 0;
        while index < Provider::ALL.len() {
            let provider = Provider::ALL[index];
            words[index + 2] = (provider.name(), Self::Server(provider));
            index += 1;
        }
        words
    };
}
