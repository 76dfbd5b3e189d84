//! Whether a call may run, must be asked for, or is denied: rules in order, of which the first match decides
//! about each part of the call, and the strictest of these decisions about all of it.
//!
//! Deciding is a pure function of the rules and of what the call touches. Where a rule cannot tell, it is
//! read in the strict sense: a rule that asks or denies counts if it could be about a part; one that allows,
//! only if it certainly is.

mod below;
mod current;
pub mod file;
mod globs;
mod host;
mod lists;
mod part;
mod rule;
mod touches;
mod verdict;

use std::cell::OnceCell;
use std::collections::BTreeSet;

use globset::Candidate;
use protocol::{Annotations, Risk, SessionId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use below::Below;
pub use current::CurrentPolicy;
use globs::Globs;
pub use rule::{ANNOTATIONS, AskingRule, CHANNELS, Condition, ConditionKind, Rule, RuleSpec, TOKENS};
pub use touches::{Circumstance, CommandLine, SimpleCommand, TouchedPath, Touches};
pub use verdict::Verdict;

/// What happens to a call, the strictest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It runs.
    Allow,
    /// It runs once a person has approved it.
    Ask,
    /// It does not run.
    Deny,
}

impl Decision {
    /// The name that rules use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// Who calls, by the token that was presented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// The holder of the server's token.
    Token,
    /// Anybody: the server has no token.
    Anonymous,
}

impl Caller {
    /// By the digest of the token that was presented, if one was.
    pub(crate) const fn of(token_sha256: Option<&str>) -> Self {
        if token_sha256.is_some() { Self::Token } else { Self::Anonymous }
    }

    /// The name that rules use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Token => "caller",
            Self::Anonymous => "none",
        }
    }
}

/// A call, as rules see it.
pub struct Subject<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// The worst that a call of the tool can do.
    pub risk: Risk,
    /// What holds for the tool.
    pub annotations: Annotations,
    /// The arguments, valid for the tool.
    pub arguments: &'a Value,
    /// Whose call it is.
    pub session: &'a SessionId,
    /// Who calls.
    pub caller: Caller,
    touches: &'a dyn Fn() -> Touches,
    touched: OnceCell<Touches>,
}

impl<'a> Subject<'a> {
    /// A call. What it touches is found out only if a rule asks.
    pub fn new(
        (tool, risk, annotations): (&'a str, Risk, Annotations),
        arguments: &'a Value,
        session: &'a SessionId,
        caller: Caller,
        touches: &'a dyn Fn() -> Touches,
    ) -> Self {
        Self { tool, risk, annotations, arguments, session, caller, touches, touched: OnceCell::new() }
    }

    fn touched(&self) -> &Touches {
        self.touched.get_or_init(self.touches)
    }
}

/// A call with the facts that are worked out once for all rules.
struct Facts<'s> {
    policy: &'s Policy,
    subject: &'s Subject<'s>,
    /// The channel that the session belongs to.
    channel: &'static str,
    /// The rules whose globs match the session.
    sessions: OnceCell<Vec<usize>>,
    /// The same for each path.
    paths: OnceCell<Vec<Vec<usize>>>,
    /// The rules that hold for all that lies below each path.
    trees: OnceCell<Vec<Vec<usize>>>,
    /// The same for each host.
    hosts: OnceCell<Vec<Vec<usize>>>,
}

impl<'s> Facts<'s> {
    fn of(policy: &'s Policy, subject: &'s Subject<'s>) -> Self {
        let of_session = subject.session.channel();
        let channel = CHANNELS.into_iter().find(|channel| Some(*channel) == of_session).unwrap_or(rule::HTTP);
        let (sessions, paths, trees, hosts) = Default::default();
        Self { policy, subject, channel, sessions, paths, trees, hosts }
    }

    /// Whether the call has parts that are commands.
    fn runs_commands(&self) -> bool {
        let line = self.subject.touched().commands.as_ref();
        line.is_some_and(|line| !line.commands.is_empty() || !line.is_understood)
    }

    fn sessions(&self) -> &[usize] {
        let session = || [Candidate::new(self.subject.session.as_str())];
        self.sessions.get_or_init(|| self.policy.sessions.matching(&session()))
    }

    fn paths(&self) -> &[Vec<usize>] {
        let rules = |path: &TouchedPath| self.policy.paths.of_path(path);
        self.paths.get_or_init(|| self.subject.touched().paths.iter().map(rules).collect())
    }

    fn trees(&self) -> &[Vec<usize>] {
        let rules = |path: &TouchedPath| self.policy.trees.of_path(path);
        self.trees.get_or_init(|| self.subject.touched().paths.iter().map(rules).collect())
    }

    fn hosts(&self) -> &[Vec<usize>] {
        let rules = |host: String| self.policy.hosts.matching(&[Candidate::new(&host)]);
        let hosts = || self.subject.touched().hosts.iter().flat_map(|host| host::meant_by(host));
        self.hosts.get_or_init(|| hosts().map(rules).collect())
    }
}

/// The rules, in order.
#[derive(Debug, Default)]
pub struct Policy {
    rules: Vec<Rule>,
    looking: Looking,
    paths: Globs,
    /// Of the globs of paths those that hold for all that lies below, too.
    trees: Globs,
    hosts: Globs,
    sessions: Globs,
}

/// For calls of which tools a rule looks at what they touch.
#[derive(Debug, Default)]
enum Looking {
    /// Of any.
    Always,
    /// Of none.
    #[default]
    Never,
    /// Of these.
    For(BTreeSet<String>),
}

impl Looking {
    fn of(rules: &[Rule]) -> Self {
        let looking: Vec<Option<&[String]>> =
            rules.iter().filter(|rule| rule.looks_at_touches()).map(Rule::tools).collect();
        if looking.is_empty() {
            return Self::Never;
        }
        let named: Option<Vec<&[String]>> = looking.into_iter().collect();
        named.map_or(Self::Always, |tools| Self::For(tools.concat().into_iter().collect()))
    }
}

impl Policy {
    /// These rules. A call that none of them matches is allowed.
    pub fn new(rules: Vec<Rule>) -> Self {
        Self {
            looking: Looking::of(&rules),
            paths: Globs::of(rules.iter().map(Rule::paths)),
            trees: Globs::of(rules.iter().map(Rule::trees)),
            hosts: Globs::of(rules.iter().map(Rule::hosts)),
            sessions: Globs::of(rules.iter().map(Rule::sessions)),
            rules,
        }
    }

    /// The rules, in order.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Whether a decision about a call of this tool may look at files or parse a command line.
    pub(crate) fn looks_at_touches(&self, tool: &str) -> bool {
        match &self.looking {
            Looking::Always => true,
            Looking::Never => false,
            Looking::For(tools) => tools.contains(tool),
        }
    }

    /// Whether some rule keeps calls of this tool from some hosts.
    pub(crate) fn restricts_hosts(&self, tool: &str) -> bool {
        self.rules.iter().any(|rule| rule.restricts_hosts(tool))
    }

    /// What the rules say about a call.
    pub fn decide(&self, subject: &Subject<'_>) -> Verdict {
        verdict::judge((0..).zip(&self.rules), &Facts::of(self, subject))
    }
}

#[cfg(test)]
mod tests;
