//! One rule: what it is about, and what it decides.

use std::collections::BTreeMap;

use globset::{Glob, GlobBuilder, GlobSetBuilder};
use protocol::{Annotations, Risk};
use serde::Deserialize;
use serde_json::Value;

use super::touches::{Circumstance, CommandLine};
use super::{Caller, Decision, Facts};

/// The names of annotations in rules.
pub const ANNOTATIONS: [&str; 4] = ["read_only", "destructive", "idempotent", "open_world"];

/// The channel of every session that belongs to no other.
pub(super) const HTTP: &str = "http";

/// The names of channels in rules.
pub const CHANNELS: [&str; 3] = ["telegram", "local", HTTP];

/// The names of tokens in rules.
pub const TOKENS: [&str; 2] = [Caller::Token.name(), Caller::Anonymous.name()];

/// A rule as it is written.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleSpec {
    tools: Option<Vec<String>>,
    risk: Option<Vec<Risk>>,
    annotations: Option<Vec<String>>,
    paths: Option<Vec<String>>,
    commands: Option<Vec<String>>,
    hosts: Option<Vec<String>>,
    circumstances: Option<Vec<String>>,
    sessions: Option<Vec<String>>,
    channels: Option<Vec<String>>,
    tokens: Option<Vec<String>>,
    arguments: Option<BTreeMap<String, Value>>,
    decision: Decision,
    reason: Option<String>,
}

/// A rule that can be used. A part that is absent matches every call.
#[derive(Debug)]
pub struct Rule {
    spec: RuleSpec,
    paths: Option<Vec<Glob>>,
    commands: Option<Vec<Vec<String>>>,
    hosts: Option<Vec<Glob>>,
    sessions: Option<Vec<Glob>>,
    reason: String,
    origin: String,
}

impl Rule {
    /// A rule from what is written at `origin`, for the tools with these names.
    ///
    /// # Errors
    /// What is wrong with it, and what would be right.
    pub fn new(spec: RuleSpec, origin: String, tools: &[&str]) -> Result<Self, String> {
        let named = |list: &Option<Vec<String>>, key: &str, known: &[&str]| match list {
            Some(names) if names.is_empty() => Err(empty(key)),
            Some(names) => match names.iter().find(|name| !known.contains(&name.as_str())) {
                None => Ok(()),
                Some(name) => {
                    Err(format!("`{key}` names {name:?}, which does not exist: use {}", known.join(", ")))
                }
            },
            None => Ok(()),
        };
        named(&spec.tools, "tools", tools)?;
        named(&spec.circumstances, "circumstances", &Circumstance::ALL.map(Circumstance::name))?;
        named(&spec.annotations, "annotations", &ANNOTATIONS)?;
        named(&spec.channels, "channels", &CHANNELS)?;
        named(&spec.tokens, "tokens", &TOKENS)?;
        if spec.risk.as_ref().is_some_and(Vec::is_empty) {
            return Err(empty("risk"));
        }
        if spec.arguments.as_ref().is_some_and(BTreeMap::is_empty) {
            return Err(empty("arguments"));
        }
        let rule = Self {
            paths: globs(spec.paths.as_deref(), "paths")?,
            commands: prefixes(spec.commands.as_deref())?,
            hosts: globs(spec.hosts.as_deref(), "hosts")?,
            sessions: globs(spec.sessions.as_deref(), "sessions")?,
            reason: spec.reason.clone().unwrap_or_else(|| format!("a rule of the operator ({origin})")),
            spec,
            origin,
        };
        Ok(rule)
    }

    /// What it decides.
    pub fn decision(&self) -> Decision {
        self.spec.decision
    }

    /// What the caller is told.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Where it is written.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Its globs of paths: below a root, or, if they begin with a slash, from the root of the file system.
    pub(super) fn paths(&self) -> &[Glob] {
        self.paths.as_deref().unwrap_or_default()
    }

    /// Its globs of hosts.
    pub(super) fn hosts(&self) -> &[Glob] {
        self.hosts.as_deref().unwrap_or_default()
    }

    /// Its globs of sessions.
    pub(super) fn sessions(&self) -> &[Glob] {
        self.sessions.as_deref().unwrap_or_default()
    }

    /// The tools that it is about; none if it is about all.
    pub(super) fn tools(&self) -> Option<&[String]> {
        self.spec.tools.as_deref()
    }

    pub(super) fn may_match_tool(&self, tool: &str) -> bool {
        self.spec.tools.as_ref().is_none_or(|tools| tools.iter().any(|name| name == tool))
    }

    pub(super) fn looks_at_touches(&self) -> bool {
        self.looks_at_names() || self.spec.circumstances.is_some()
    }

    /// Whether it is about what calls name, beyond what the tool says is special about them.
    pub(super) fn looks_at_names(&self) -> bool {
        self.paths.is_some() || self.commands.is_some() || self.hosts.is_some()
    }

    /// Whether it could keep a call of this tool from some hosts.
    pub(super) fn restricts_hosts(&self, tool: &str) -> bool {
        self.hosts.is_some() && self.may_match_tool(tool) && self.decision() != Decision::Allow
    }

    /// Whether it is about a call, as rule `number`.
    pub(super) fn matches(&self, number: usize, facts: &Facts<'_>) -> bool {
        let subject = facts.subject;
        self.may_match_tool(subject.tool)
            && self.spec.risk.as_ref().is_none_or(|risks| risks.contains(&subject.risk))
            && self.has_annotation(subject.annotations)
            && is_listed(&self.spec.tokens, subject.caller.name())
            && is_listed(&self.spec.channels, facts.channel)
            && (self.sessions.is_none() || has(facts.sessions(), number))
            && self.has_arguments(subject.arguments)
            && (!self.looks_at_touches() || self.matches_touches(number, facts))
    }

    fn has_annotation(&self, annotations: Annotations) -> bool {
        let holds = |name: &String| match name.as_str() {
            "read_only" => annotations.read_only,
            "destructive" => annotations.destructive,
            "idempotent" => annotations.idempotent,
            _ => annotations.open_world,
        };
        self.spec.annotations.as_ref().is_none_or(|names| names.iter().any(holds))
    }

    /// Every named argument has the value, or one of the values.
    fn has_arguments(&self, arguments: &Value) -> bool {
        let has = |(name, wanted): (&String, &Value)| match wanted {
            Value::Array(any) => any.contains(&arguments[name.as_str()]),
            one => arguments[name.as_str()] == *one,
        };
        self.spec.arguments.as_ref().is_none_or(|wanted| wanted.iter().all(has))
    }

    fn matches_touches(&self, number: usize, facts: &Facts<'_>) -> bool {
        let touched = facts.subject.touched();
        let is_mine = |rules: &Vec<usize>| has(rules, number);
        let is_special = |special: &Circumstance| is_listed(&self.spec.circumstances, special.name());
        (self.spec.circumstances.is_none() || self.enough(&touched.circumstances, is_special))
            && (self.paths.is_none() || self.enough(facts.paths(), is_mine))
            && (self.hosts.is_none() || self.enough(facts.hosts(), is_mine))
            && self.commands.as_ref().is_none_or(|prefixes| {
                touched.commands.as_ref().is_some_and(|line| self.matches_line(prefixes, line))
            })
    }

    /// One is enough to ask or to deny; to allow, all must match.
    fn enough<T>(&self, touched: &[T], matches: impl Fn(&T) -> bool) -> bool {
        match self.spec.decision {
            Decision::Allow => !touched.is_empty() && touched.iter().all(matches),
            Decision::Ask | Decision::Deny => touched.iter().any(matches),
        }
    }

    fn matches_line(&self, prefixes: &[Vec<String>], line: &CommandLine) -> bool {
        match self.spec.decision {
            Decision::Allow => {
                let is_listed = |command: &super::SimpleCommand| {
                    prefixes.iter().any(|prefix| command.begins_with(prefix))
                };
                line.is_understood && line.is_plain && self.enough(&line.commands, is_listed)
            }
            Decision::Ask | Decision::Deny => {
                let could_be = |command: &super::SimpleCommand| {
                    prefixes.iter().any(|prefix| command.could_begin_with(prefix))
                };
                !line.is_understood || line.commands.iter().any(could_be)
            }
        }
    }
}

fn is_listed(list: &Option<Vec<String>>, name: &str) -> bool {
    list.as_ref().is_none_or(|list| list.iter().any(|listed| listed == name))
}

/// Whether a rule is among those whose globs match.
fn has(matching: &[usize], number: usize) -> bool {
    matching.binary_search(&number).is_ok()
}

fn empty(key: &str) -> String {
    format!("`{key}` is empty, so the rule would never match: add to it, or leave it out")
}

fn globs(patterns: Option<&[String]>, key: &str) -> Result<Option<Vec<Glob>>, String> {
    let Some(patterns) = patterns else { return Ok(None) };
    if patterns.is_empty() {
        return Err(empty(key));
    }
    let glob = |pattern: &String| {
        let glob = GlobBuilder::new(pattern).literal_separator(true).build();
        let glob = glob.map_err(|error| format!("`{key}` has no valid glob: {error}"))?;
        let tried = GlobSetBuilder::new().add(glob.clone()).build();
        tried.map(|_| glob).map_err(|error| format!("`{key}` cannot be used: {error}"))
    };
    patterns.iter().map(glob).collect::<Result<_, _>>().map(Some)
}

fn prefixes(commands: Option<&[String]>) -> Result<Option<Vec<Vec<String>>>, String> {
    let Some(commands) = commands else { return Ok(None) };
    if commands.is_empty() {
        return Err(empty("commands"));
    }
    let words = |command: &String| command.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let prefixes: Vec<Vec<String>> = commands.iter().map(words).collect();
    if prefixes.iter().any(Vec::is_empty) {
        return Err("`commands` has a command without words".to_owned());
    }
    Ok(Some(prefixes))
}
