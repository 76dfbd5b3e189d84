//! What a named token may do, and whose a call is: its session, and the grant of its token.
//!
//! A grant only ever takes away: the operator's rules, the roots and the sandbox hold for its calls as for
//! all others. The server's own token has no grant and may do all of it.

use std::collections::VecDeque;
use std::ops::Deref;
use std::path::{Component, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use globset::{Glob, GlobSet, GlobSetBuilder};
use protocol::hash::sha256;
use protocol::{Annotations, ErrorCode, SessionId, ToolError};
use serde::{Deserialize, Serialize};
use toml::value::Datetime;

use crate::{Slot, locked};

/// The time in which calls are counted.
const MINUTE: Duration = Duration::from_secs(60);

/// The longest name of a token.
const MAX_NAME_BYTES: usize = 40;

/// What a token may do, as it is written. What is absent is not restricted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// What the journal calls it.
    pub name: String,
    /// The SHA-256 of the token, in hexadecimal digits.
    pub sha256: String,
    /// Globs of the tools that it may call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Directories in the roots: all that it reaches of them. Relative paths start at the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roots: Option<Vec<PathBuf>>,
    /// Whether it changes nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
    /// Whether it reaches the web, and its commands what the server's commands reach of the network.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub network: bool,
    /// Globs of the sessions that it may name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<Vec<String>>,
    /// When it expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Datetime>,
    /// How much it may do.
    #[serde(default, skip_serializing_if = "TokenLimits::are_none")]
    pub limits: TokenLimits,
}

/// How much a token may do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenLimits {
    /// Calls in any 60 seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls_per_minute: Option<usize>,
    /// How long its commands may run in a day (UTC), together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_seconds_per_day: Option<u64>,
}

impl TokenLimits {
    fn are_none(&self) -> bool {
        *self == Self::default()
    }
}

fn yes() -> bool {
    true
}

/// What a token may do.
#[derive(Debug)]
pub struct Grant {
    terms: Terms,
    tools: Option<GlobSet>,
    sessions: Option<GlobSet>,
    /// Of what it may call; a part of the tags of its catalogues.
    digest: String,
    /// When it called last, as often as counts.
    calls: Arc<Mutex<VecDeque<Instant>>>,
}

impl Grant {
    /// A grant with these terms.
    ///
    /// # Errors
    /// What in them is not understood, and the right form.
    pub fn new(terms: Terms) -> Result<Self, String> {
        check_name(&terms.name)?;
        for (key, count) in [
            ("tools", terms.tools.as_ref().map(Vec::len)),
            ("roots", terms.roots.as_ref().map(Vec::len)),
            ("sessions", terms.sessions.as_ref().map(Vec::len)),
        ] {
            if count == Some(0) {
                return Err(format!("`{key}` is empty: leave it out, or the token out"));
            }
        }
        let relative = terms.roots.iter().flatten().find(|root| root.is_relative());
        if let Some(root) = relative {
            return Err(format!("`roots` has {root:?}, which is not absolute"));
        }
        let is_above = |root: &&PathBuf| root.components().any(|part| part == Component::ParentDir);
        if let Some(root) = terms.roots.iter().flatten().find(is_above) {
            return Err(format!("`roots` has {root:?}: write the directory itself, without `..`"));
        }
        let tools = terms.tools.as_deref().map(|tools| globs(tools, "tools")).transpose()?;
        let sessions = terms.sessions.as_deref().map(|globs_| globs(globs_, "sessions")).transpose()?;
        let digest = sha256(format!("{:?} {} {}", terms.tools, terms.read_only, terms.network).as_bytes());
        Ok(Self { terms, tools, sessions, digest, calls: Arc::default() })
    }

    /// The same grant of a file that was read again: what was counted counts on.
    #[must_use]
    pub fn counting_on(self, earlier: &Self) -> Self {
        Self { calls: Arc::clone(&earlier.calls), ..self }
    }

    /// What the journal calls its token.
    pub fn name(&self) -> &str {
        &self.terms.name
    }

    /// The directories that it reaches; none if these are all.
    pub fn roots(&self) -> Option<&[PathBuf]> {
        self.terms.roots.as_deref()
    }

    /// Whether it changes nothing.
    pub fn is_read_only(&self) -> bool {
        self.terms.read_only
    }

    /// Whether it reaches a network.
    pub fn has_network(&self) -> bool {
        self.terms.network
    }

    /// How long its commands may run in a day.
    pub fn command_time_per_day(&self) -> Option<Duration> {
        self.terms.limits.command_seconds_per_day.map(Duration::from_secs)
    }

    /// What its catalogues are made from.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Whether it may call a tool, which its catalogues then show.
    pub fn allows(&self, tool: &str, annotations: Annotations, slot: Slot) -> bool {
        self.refusal(tool, annotations, slot).is_none()
    }

    /// Why it may not call a tool. What commands change and reach is the sandbox's matter.
    fn refusal(&self, tool: &str, annotations: Annotations, slot: Slot) -> Option<String> {
        let name = self.name();
        if self.tools.as_ref().is_some_and(|tools| !tools.is_match(tool)) {
            return Some(format!("The token {name:?} may not call `{tool}` (`tools`)."));
        }
        let is_sandboxed = matches!(slot, Slot::Command | Slot::Process);
        if self.terms.read_only && !annotations.read_only && !is_sandboxed {
            return Some(format!(
                "The token {name:?} may only read, and `{tool}` changes things (`read_only`)."
            ));
        }
        if !self.terms.network && annotations.open_world {
            return Some(format!("The token {name:?} has no network, which `{tool}` needs (`network`)."));
        }
        None
    }

    /// Lets a call of a tool in a session pass, and counts it.
    pub(crate) fn check(
        &self,
        (tool, annotations, slot): (&str, Annotations, Slot),
        session: &SessionId,
    ) -> Result<(), ToolError> {
        self.count()?;
        if let Some(message) = self.refusal(tool, annotations, slot) {
            return Err(not_allowed(message).with_hint("GET /tools lists what this token may call."));
        }
        // The session of a client of MCP that names none is new, and no one else's.
        match &self.sessions {
            Some(sessions) if !sessions.is_match(session.as_str()) && !is_of_connection(session) => {
                let named = self.terms.sessions.iter().flatten().map(String::as_str);
                let named = named.collect::<Vec<_>>().join(", ");
                let message =
                    format!("The token {:?} may not use the session {session} (`sessions`).", self.name());
                Err(not_allowed(message).with_hint(format!("Send `X-Session-Id` with one of: {named}.")))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn count(&self) -> Result<(), ToolError> {
        let Some(most) = self.terms.limits.calls_per_minute else { return Ok(()) };
        let mut calls = locked(&self.calls);
        let now = Instant::now();
        while calls.front().is_some_and(|at| now.duration_since(*at) >= MINUTE) || calls.len() > most {
            calls.pop_front();
        }
        if calls.len() < most {
            calls.push_back(now);
            return Ok(());
        }
        let left = calls.front().map_or(MINUTE, |first| MINUTE.saturating_sub(now.duration_since(*first)));
        let message =
            format!("The token {:?} may make {most} calls a minute, and has made them.", self.name());
        Err(ToolError::new(ErrorCode::QuotaExceeded, message).with_retry_after(left.as_secs() + 1))
    }
}

/// Whether a session was made for a connection of MCP. `mcp:` and 32 hex digits or an ID stand for a secret
/// of that client, so a caller cannot name that of another one.
fn is_of_connection(session: &SessionId) -> bool {
    const SHORTEST_SECRET: usize = 26;
    let own = session.as_str().strip_prefix("mcp:");
    own.is_some_and(|own| {
        own.len() >= SHORTEST_SECRET && own.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

fn not_allowed(message: String) -> ToolError {
    ToolError::new(ErrorCode::ToolNotAllowed, message)
}

/// A name that a file, a journal and a header can have.
fn check_name(name: &str) -> Result<(), String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(is_plain) {
        return Err(format!(
            "{name:?} is no name of a token: use 1 to {MAX_NAME_BYTES} letters, digits, `-`, `_` and `.`"
        ));
    }
    Ok(())
}

fn globs(texts: &[String], key: &str) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for text in texts {
        set.add(Glob::new(text).map_err(|error| format!("`{key}` has {text:?}: {error}"))?);
    }
    set.build().map_err(|error| format!("`{key}`: {error}"))
}

/// Whose a call is.
#[derive(Debug, Clone)]
pub struct Scope {
    session: SessionId,
    grant: Option<Arc<Grant>>,
}

impl Scope {
    /// The scope of a call in a session with a token that has a grant, or with the server's own.
    pub fn new(session: SessionId, grant: Option<Arc<Grant>>) -> Self {
        Self { session, grant }
    }

    /// Its session.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// What its token may do; none of the server's own token.
    pub fn grant(&self) -> Option<&Arc<Grant>> {
        self.grant.as_ref()
    }

    /// The name of its token; none of the server's own.
    pub fn token(&self) -> Option<&str> {
        self.grant.as_deref().map(Grant::name)
    }
}

impl Default for Scope {
    fn default() -> Self {
        SessionId::default_session().into()
    }
}

impl From<SessionId> for Scope {
    fn from(session: SessionId) -> Self {
        Self::new(session, None)
    }
}

impl Deref for Scope {
    type Target = SessionId;

    fn deref(&self) -> &SessionId {
        &self.session
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(name: &str) -> Terms {
        Terms {
            name: name.to_owned(),
            sha256: String::new(),
            tools: None,
            roots: None,
            read_only: false,
            network: true,
            sessions: None,
            expires: None,
            limits: TokenLimits::default(),
        }
    }

    #[test]
    fn terms_that_are_not_understood_are_refused() {
        let check = |terms: Terms, part: &str| {
            let error = Grant::new(terms).unwrap_err();
            assert!(error.contains(part), "{error}");
        };
        for name in ["", "a b", "a/b", &"x".repeat(41), "é"] {
            check(terms(name), "no name of a token");
        }
        check(Terms { tools: Some(vec![]), ..terms("a") }, "`tools` is empty");
        check(Terms { tools: Some(vec!["a[".to_owned()]), ..terms("a") }, "`tools` has \"a[\"");
        check(Terms { roots: Some(vec!["src".into()]), ..terms("a") }, "not absolute");
        check(Terms { roots: Some(vec!["/srv/../etc".into()]), ..terms("a") }, "without `..`");
        check(Terms { sessions: Some(vec![]), ..terms("a") }, "`sessions` is empty");
    }

    #[test]
    fn calls_are_counted_within_a_minute_and_beyond_a_reload() {
        let few = || {
            let limits = TokenLimits { calls_per_minute: Some(2), ..TokenLimits::default() };
            Grant::new(Terms { limits, ..terms("a") }).unwrap()
        };
        let call = |grant: &Grant| {
            grant.check(("ls", Annotations::READS, Slot::File), &SessionId::default_session())
        };
        let grant = few();
        assert!(call(&grant).is_ok() && call(&grant).is_ok());
        let error = call(&grant).unwrap_err();
        assert_eq!(error.code, ErrorCode::QuotaExceeded);
        assert!(error.retry_after_seconds.is_some_and(|seconds| (1..=61).contains(&seconds)), "{error:?}");
        assert!(call(&few().counting_on(&grant)).is_err());
    }

    #[test]
    fn only_the_session_of_a_connection_may_be_another_one() {
        let only = Terms { sessions: Some(vec!["ci-*".to_owned()]), ..terms("a") };
        let grant = Grant::new(only).unwrap();
        let check = |session: &str| {
            grant.check(("ls", Annotations::READS, Slot::File), &session.parse().unwrap()).is_ok()
        };
        assert!(check("ci-7") && check("mcp:01J00000000000000000000000"));
        assert!(!check("default") && !check("mcp:claude-code") && !check("telegram:7"));
    }
}
