//! Whether a call may run, must be asked for, or is denied: rules in order, of which the first match decides.
//!
//! Deciding is a pure function of the rules and of what the call touches. Where a rule cannot tell, it is
//! read in the strict sense: a rule that asks or denies matches if any part of the call fits or could fit;
//! one that allows, only if all of it certainly fits.

pub mod file;
mod globs;
mod rule;
mod touches;

use std::cell::OnceCell;
use std::collections::BTreeSet;

use globset::Candidate;
use protocol::{Annotations, Risk, SessionId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use globs::Globs;
pub use rule::{ANNOTATIONS, CHANNELS, Rule, RuleSpec, TOKENS};
pub use touches::{Circumstance, CommandLine, SimpleCommand, TouchedPath, Touches};

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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

/// A call with what is worked out once for all rules.
struct Facts<'s> {
    policy: &'s Policy,
    subject: &'s Subject<'s>,
    /// The channel that the session belongs to.
    channel: &'static str,
    /// The rules whose globs match the session.
    sessions: OnceCell<Vec<usize>>,
    /// The same for each path.
    paths: OnceCell<Vec<Vec<usize>>>,
    /// The same for each host.
    hosts: OnceCell<Vec<Vec<usize>>>,
}

impl<'s> Facts<'s> {
    fn of(policy: &'s Policy, subject: &'s Subject<'s>) -> Self {
        let prefix = subject.session.as_str().split_once(':').map(|(prefix, _)| prefix);
        let channel = CHANNELS.into_iter().find(|channel| Some(*channel) == prefix).unwrap_or(rule::HTTP);
        let (sessions, paths, hosts) = Default::default();
        Self { policy, subject, channel, sessions, paths, hosts }
    }

    fn sessions(&self) -> &[usize] {
        let session = || [Candidate::new(self.subject.session.as_str())];
        self.sessions.get_or_init(|| self.policy.sessions.matching(&session()))
    }

    fn paths(&self) -> &[Vec<usize>] {
        let rules = |TouchedPath { path, beneath }: &TouchedPath| {
            self.policy.paths.matching(&[Candidate::new(beneath), Candidate::new(path)])
        };
        self.paths.get_or_init(|| self.subject.touched().paths.iter().map(rules).collect())
    }

    fn hosts(&self) -> &[Vec<usize>] {
        let rules = |host: &String| self.policy.hosts.matching(&[Candidate::new(host)]);
        self.hosts.get_or_init(|| self.subject.touched().hosts.iter().map(rules).collect())
    }
}

/// What the rules say about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// What happens.
    pub decision: Decision,
    /// Why, for the caller.
    pub reason: String,
    /// Which rule decided.
    pub rule: String,
}

/// The rules, in order.
#[derive(Debug, Default)]
pub struct Policy {
    rules: Vec<Rule>,
    looking: Looking,
    paths: Globs,
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

    /// The decision of the first rule that matches.
    pub fn decide(&self, subject: &Subject<'_>) -> Verdict {
        let facts = Facts::of(self, subject);
        let mut rules = (0..).zip(&self.rules);
        match rules.find(|(number, rule)| rule.matches(*number, &facts)) {
            Some((_, rule)) => Verdict {
                decision: rule.decision(),
                reason: rule.reason().to_owned(),
                rule: rule.origin().to_owned(),
            },
            None => Verdict {
                decision: Decision::Allow,
                reason: "no rule is about this call".to_owned(),
                rule: "none".to_owned(),
            },
        }
    }
}

#[cfg(test)]
mod tests;
