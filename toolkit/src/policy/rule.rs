//! One rule: what it is about, and what it decides.

use std::collections::BTreeMap;

use globset::Glob;
use protocol::hash::sha256;
use protocol::{Annotations, Risk};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::below::{self, PathGlobs};
use super::host;
use super::lists::{empty, globs};
use super::part::Part;
use super::touches::{Circumstance, CommandLine, Fit, SimpleCommand};
use super::{Caller, Decision, Facts};

/// The names of annotations in rules.
pub const ANNOTATIONS: [&str; 4] = ["read_only", "destructive", "idempotent", "open_world"];

/// The channel of every session that belongs to no other.
pub(super) const HTTP: &str = "http";

/// The names of channels in rules.
pub const CHANNELS: [&str; 4] = ["telegram", "local", "page", HTTP];

/// The names of tokens in rules.
pub const TOKENS: [&str; 2] = [Caller::Token.name(), Caller::Anonymous.name()];

/// A rule as it is written.
#[derive(Debug, Clone, Serialize, Deserialize)]
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
    paths: Option<PathGlobs>,
    commands: Option<Vec<Vec<String>>>,
    hosts: Option<Vec<Glob>>,
    sessions: Option<Vec<Glob>>,
    reason: String,
    origin: String,
}

/// A rule that asks about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AskingRule {
    /// Where it is written.
    pub rule: String,
    /// The SHA-256 of what it says. A yes holds for no other rule that later stands in its place.
    pub digest: String,
    /// The calls that it asks about, in words.
    pub about: String,
    /// The same: which of the tool's calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Whether a yes may cover further calls. It may not where the call does not show all that it runs.
    pub can_last: bool,
}

/// What a rule says about what calls name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Condition {
    /// What is compared.
    pub kind: ConditionKind,
    /// With what: one has to match, of arguments (`name=value`) each.
    pub any_of: Vec<String>,
}

/// What a rule compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConditionKind {
    /// How commands begin.
    Commands,
    /// Globs of paths.
    Paths,
    /// Globs of hosts.
    Hosts,
    /// Circumstances.
    Circumstances,
    /// Arguments and their values.
    Arguments,
}

impl Rule {
    /// A rule from the text at `origin`, for the tools with these names.
    ///
    /// # Errors
    /// The fault, and the right form.
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
            paths: spec.paths.as_deref().map(PathGlobs::new).transpose()?,
            commands: prefixes(spec.commands.as_deref())?,
            hosts: globs(spec.hosts.as_deref().map(hosts_as_matched).as_deref(), "hosts")?,
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

    /// The reason that the caller gets.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Where it is written.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Its globs of paths: below a root, or, if they begin with a slash, from the root of the file system.
    pub(super) fn paths(&self) -> &[Glob] {
        self.paths.as_ref().map(|paths| &*paths.all).unwrap_or_default()
    }

    /// Those of them that hold for everything below what they match.
    pub(super) fn trees(&self) -> &[Glob] {
        self.paths.as_ref().map(|paths| &*paths.trees).unwrap_or_default()
    }

    pub(super) fn has_paths(&self) -> bool {
        self.paths.is_some()
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

    /// It, as a rule that asks about calls of this tool.
    pub(super) fn asking(&self, tool: &str, can_last: bool) -> AskingRule {
        let spec = serde_json::to_vec(&self.spec).expect("a rule was read from text");
        let conditions = self.conditions();
        let about = in_words(tool, &conditions);
        AskingRule { rule: self.origin.clone(), digest: sha256(&spec), about, conditions, can_last }
    }

    /// What it says about what calls name.
    fn conditions(&self) -> Vec<Condition> {
        let spec = &self.spec;
        let lists = [
            (ConditionKind::Commands, &spec.commands),
            (ConditionKind::Paths, &spec.paths),
            (ConditionKind::Hosts, &spec.hosts),
            (ConditionKind::Circumstances, &spec.circumstances),
        ];
        let lists = lists.into_iter().filter_map(|(kind, list)| Some((kind, list.clone()?)));
        let written = |(name, value): (&String, &Value)| format!("{name}={value}");
        let arguments = spec.arguments.iter().flatten().map(written).collect::<Vec<_>>();
        let arguments = (!arguments.is_empty()).then_some((ConditionKind::Arguments, arguments));
        lists.chain(arguments).map(|(kind, any_of)| Condition { kind, any_of }).collect()
    }

    /// Whether it may be about a call, as rule `number`, whatever the call touches.
    pub(super) fn is_about(&self, number: usize, facts: &Facts<'_>) -> bool {
        let subject = facts.subject;
        self.may_match_tool(subject.tool)
            && self.spec.risk.as_ref().is_none_or(|risks| risks.contains(&subject.risk))
            && self.has_annotation(subject.annotations)
            && is_listed(&self.spec.tokens, subject.caller.name())
            && is_listed(&self.spec.channels, facts.channel)
            && (self.sessions.is_none() || has(facts.sessions(), number))
            && self.has_arguments(subject.arguments)
    }

    /// Whether it has a condition about parts of this kind.
    pub(super) fn is_about_kind(&self, part: Part<'_>) -> bool {
        match part {
            Part::Whole => false,
            Part::Path(_) => self.paths.is_some(),
            Part::Host(_) => self.hosts.is_some(),
            Part::Circumstance(_) => self.spec.circumstances.is_some(),
            Part::Command(_) | Part::Unseen => self.commands.is_some(),
        }
    }

    /// Whether it is about a call, if its paths are.
    pub(super) fn matches_beside_paths(&self, number: usize, facts: &Facts<'_>) -> bool {
        self.is_about(number, facts)
            && (!self.looks_at_touches() || self.fit_beside_paths(number, Part::Whole, facts) != Fit::No)
    }

    /// Whether it is about one part of a call. Its conditions about other kinds of parts look at all of them.
    pub(super) fn fit(&self, number: usize, part: Part<'_>, facts: &Facts<'_>) -> Fit {
        let is_about = |path: &usize| self.is_about_path(number, *path, facts);
        let paths = self.paths.is_none()
            || match part {
                Part::Path(path) => is_about(&path),
                _ => {
                    let all: Vec<usize> = (0..facts.subject.touched().paths.len()).collect();
                    self.enough(&all, is_about)
                }
            };
        if paths { self.fit_beside_paths(number, part, facts) } else { Fit::No }
    }

    /// It works out what the call touches only if it has a condition about that: to follow paths takes longer
    /// than all rules.
    fn fit_beside_paths(&self, number: usize, part: Part<'_>, facts: &Facts<'_>) -> Fit {
        let touched = || facts.subject.touched();
        let is_special = |special: &Circumstance| is_listed(&self.spec.circumstances, special.name());
        let circumstances = self.spec.circumstances.is_none()
            || match part {
                Part::Circumstance(special) => is_special(&special),
                _ => self.enough(&touched().circumstances, is_special),
            };
        let hosts = self.hosts.is_none()
            || match part {
                Part::Host(rules) => has(rules, number),
                _ => self.enough(facts.hosts(), |rules| has(rules, number)),
            };
        if !(circumstances && hosts) {
            return Fit::No;
        }
        let Some(prefixes) = &self.commands else { return Fit::Surely };
        let Some(line) = &touched().commands else { return Fit::No };
        match part {
            Part::Command(command) => self.fit_command(prefixes, command, line),
            Part::Unseen => self.fit_unseen(),
            Part::Whole | Part::Path(_) | Part::Host(_) | Part::Circumstance(_) => {
                self.fit_line(prefixes, line)
            }
        }
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

    /// Whether it is about one path of a call. What lies below a path that is searched must be allowed with
    /// it. It is asked about with it, too, while the search itself leaves out denied paths below it.
    fn is_about_path(&self, number: usize, path: usize, facts: &Facts<'_>) -> bool {
        let touched = facts.subject.touched();
        let is_named = || has(&facts.paths()[path], number);
        match self.spec.decision {
            Decision::Allow if touched.reads_below => has(&facts.trees()[path], number),
            Decision::Ask if touched.reads_below => {
                let is_below = |glob: &Glob| below::may_match_below(glob.glob(), &touched.paths[path]);
                is_named() || self.paths().iter().any(is_below)
            }
            Decision::Allow | Decision::Ask | Decision::Deny => is_named(),
        }
    }

    /// One is enough to ask or to deny; to allow, all must match.
    fn enough<T>(&self, touched: &[T], matches: impl Fn(&T) -> bool) -> bool {
        match self.spec.decision {
            Decision::Allow => !touched.is_empty() && touched.iter().all(matches),
            Decision::Ask | Decision::Deny => touched.iter().any(matches),
        }
    }

    /// A permission needs to know all of the command, and that nothing else changes what it does.
    fn fit_command(&self, prefixes: &[Vec<String>], command: &SimpleCommand, line: &CommandLine) -> Fit {
        let fit = prefixes.iter().map(|prefix| command.fit(prefix)).max().unwrap_or(Fit::No);
        match self.spec.decision {
            Decision::Allow => {
                Fit::from(line.is_plain && prefixes.iter().any(|prefix| command.begins_with(prefix)))
            }
            Decision::Ask | Decision::Deny => fit,
        }
    }

    /// Commands that the line does not show could be what it asks about or denies.
    fn fit_unseen(&self) -> Fit {
        match self.spec.decision {
            Decision::Allow => Fit::No,
            Decision::Ask | Decision::Deny => Fit::Perhaps,
        }
    }

    /// The whole line: one of its commands is enough to ask or to deny; to allow, all must match.
    fn fit_line(&self, prefixes: &[Vec<String>], line: &CommandLine) -> Fit {
        let unseen = (!line.is_understood).then(|| self.fit_unseen());
        let seen = line.commands.iter().map(|command| self.fit_command(prefixes, command, line));
        let all = seen.chain(unseen);
        let fit = if self.spec.decision == Decision::Allow { all.min() } else { all.max() };
        fit.unwrap_or(Fit::No)
    }
}

fn is_listed(list: &Option<Vec<String>>, name: &str) -> bool {
    list.as_ref().is_none_or(|list| list.iter().any(|listed| listed == name))
}

/// Whether a rule is among those whose globs match.
fn has(matching: &[usize], number: usize) -> bool {
    matching.binary_search(&number).is_ok()
}

fn hosts_as_matched(patterns: &[String]) -> Vec<String> {
    patterns.iter().map(|pattern| host::pattern(pattern)).collect()
}

/// The calls of a tool that conditions are about.
fn in_words(tool: &str, conditions: &[Condition]) -> String {
    let mut words = format!("calls of `{tool}`");
    for Condition { kind, any_of } in conditions {
        words.push_str(match kind {
            ConditionKind::Commands => " with commands that begin with ",
            ConditionKind::Paths => " with paths like ",
            ConditionKind::Hosts => " with hosts like ",
            ConditionKind::Circumstances => " in the circumstance ",
            ConditionKind::Arguments => " with ",
        });
        let between = if *kind == ConditionKind::Arguments { "` and `" } else { "` or `" };
        words.push_str(&format!("`{}`", any_of.join(between)));
    }
    words
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
