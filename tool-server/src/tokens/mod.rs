//! The file of named tokens (`AUTONOUS_TOOL_TOKENS_FILE`): what each caller beside the server's own may do.
//!
//! The file holds only hashes. It is read again when it has changed, so a token that was taken out is refused
//! with its next request. As long as the file cannot be used, all named tokens are refused.

mod new;

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::Context as _;
use axum::http::HeaderMap;
use files::roots::Roots;
use http_port::presented_token;
use jiff::Timestamp;
use process::exit::BadSetting;
use protocol::hash::sha256;
use protocol::{ErrorCode, ToolError};
use serde::Deserialize;
use settings::config_file::{ConfigFile, ConfigFileError};
use settings::table::TOOL_TOKENS_FILE;
use toml::Spanned;
use toolkit::grant::Terms;
use toolkit::{Grant, locked};

use crate::listen::keep_out;
pub use new::NewToken;

/// The hexadecimal digits of a hash.
const HASH_DIGITS: usize = 64;

/// The named tokens.
#[derive(Debug)]
pub struct Tokens {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Of the file that was read; none if there was none.
    stamp: Option<Stamp>,
    /// None where the file cannot be used.
    tokens: Option<Vec<Known>>,
}

/// A token of the file.
#[derive(Debug)]
struct Known {
    sha256: String,
    expires: Option<Timestamp>,
    grant: Arc<Grant>,
}

/// What changes with a file: device, inode, size, and when its content and its facts changed.
type Stamp = (u64, u64, u64, (i64, i64), (i64, i64));

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    #[serde(default)]
    token: Vec<Spanned<Terms>>,
}

impl Tokens {
    /// Reads the file.
    ///
    /// # Errors
    /// Where it is missing, a caller's command or another user could change it, or a token in it is not
    /// understood.
    pub fn open(path: &Path, roots: &Roots) -> anyhow::Result<Self> {
        let name = TOOL_TOKENS_FILE.name();
        let what = "it lies in a root, where tools could change it: put it elsewhere";
        keep_out(roots, name, path, what)?;
        let read = read(path, &[]).map_err(|error| anyhow::anyhow!("{name}: {error}"));
        let (stamp, tokens) = read.context(BadSetting("the tokens cannot be used"))?;
        let state = State { stamp: Some(stamp), tokens: Some(tokens) };
        Ok(Self { path: path.to_owned(), state: Mutex::new(state) })
    }

    /// What the token of a request may do; none if the file does not know it.
    ///
    /// # Errors
    /// `UNAUTHORIZED` where it has expired, or the file cannot be used now.
    pub fn grant(&self, headers: &HeaderMap) -> Result<Option<Arc<Grant>>, ToolError> {
        let Some(presented) = presented_token(headers) else { return Ok(None) };
        let hash = sha256(presented.as_bytes());
        let mut state = locked(&self.state);
        state.refresh(&self.path);
        let Some(tokens) = &state.tokens else {
            let message = "The server's file of tokens cannot be used now, so no named token is accepted.";
            return Err(unauthorized(message).with_hint("The operator finds the reason in the server's log."));
        };
        let Some(known) = tokens.iter().find(|known| known.sha256 == hash) else { return Ok(None) };
        match known.expires {
            Some(expires) if expires <= Timestamp::now() => {
                let message = format!("The token {:?} has expired ({expires}).", known.grant.name());
                Err(unauthorized(message).with_hint("Ask the operator of the server for a new one."))
            }
            Some(_) | None => Ok(Some(Arc::clone(&known.grant))),
        }
    }
}

impl State {
    /// Reads the file again if it is another one.
    fn refresh(&mut self, path: &Path) {
        let now = fs::metadata(path).ok().map(|facts| stamp(&facts));
        if now.is_some() && now == self.stamp {
            return;
        }
        let was_lost = self.stamp.is_none();
        match read(path, self.tokens.as_deref().unwrap_or_default()) {
            Ok((stamp, tokens)) => {
                tracing::info!(count = tokens.len(), "the file of tokens was read again");
                (self.stamp, self.tokens) = (Some(stamp), Some(tokens));
            }
            Err(error) => {
                if now.is_some() || !was_lost {
                    tracing::error!(%error, "the file of tokens cannot be used; named tokens are refused");
                }
                (self.stamp, self.tokens) = (now, None);
            }
        }
    }
}

/// The tokens of the file. What `earlier` ones have counted counts on.
fn read(path: &Path, earlier: &[Known]) -> Result<(Stamp, Vec<Known>), String> {
    let facts = fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
    check_owner(&facts).map_err(|what| format!("{}: {what}", path.display()))?;
    let missing = || format!("{}: {}", path.display(), io::Error::from(io::ErrorKind::NotFound));
    let file = ConfigFile::read(path).map_err(|error| error.to_string())?.ok_or_else(missing)?;
    let tokens = parse(&file, earlier).map_err(|error| error.to_string())?;
    Ok((stamp(&facts), tokens))
}

fn parse(file: &ConfigFile, earlier: &[Known]) -> Result<Vec<Known>, ConfigFileError> {
    let mut tokens: Vec<Known> = Vec::new();
    for terms in file.parse::<Content>()?.token {
        let span = terms.span();
        let known = known(terms.into_inner(), earlier);
        let known = known.map_err(|what| file.error(Some(span.clone()), what))?;
        let is_twice =
            |other: &Known| other.grant.name() == known.grant.name() || other.sha256 == known.sha256;
        if tokens.iter().any(is_twice) {
            let what = format!("the token {:?} has the name or the hash of another one", known.grant.name());
            return Err(file.error(Some(span), what));
        }
        tokens.push(known);
    }
    Ok(tokens)
}

fn known(terms: Terms, earlier: &[Known]) -> Result<Known, String> {
    let is_hash =
        terms.sha256.len() == HASH_DIGITS && terms.sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hash {
        return Err(format!(
            "`sha256` of the token {:?} is no SHA-256 in {HASH_DIGITS} hexadecimal digits: \
             `tool-server token new` makes both",
            terms.name
        ));
    }
    let expires = terms.expires.map(|at| at.to_string().parse::<Timestamp>()).transpose();
    let expires = expires.map_err(|_| {
        "`expires` must be a date and time with an offset, such as 2027-01-31T12:00:00Z".to_owned()
    })?;
    let sha256 = terms.sha256.to_ascii_lowercase();
    let grant = Grant::new(terms)?;
    let grant = match earlier.iter().find(|known| known.grant.name() == grant.name()) {
        Some(before) => grant.counting_on(&before.grant),
        None => grant,
    };
    Ok(Known { sha256, expires, grant: Arc::new(grant) })
}

/// Another user who could write the file could give away what the tools may do.
fn check_owner(facts: &Metadata) -> Result<(), &'static str> {
    let own = [0, rustix::process::geteuid().as_raw()];
    if !facts.is_file() {
        return Err("it is no file");
    }
    if facts.mode() & 0o022 != 0 || !own.contains(&facts.uid()) {
        return Err("another user can change it: it must belong to root or the server's user (`chmod 600`)");
    }
    Ok(())
}

fn stamp(facts: &Metadata) -> Stamp {
    let changed = (facts.mtime(), facts.mtime_nsec());
    (facts.dev(), facts.ino(), facts.len(), changed, (facts.ctime(), facts.ctime_nsec()))
}

fn unauthorized(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorCode::Unauthorized, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_in_the_file_is_named_with_its_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tokens.toml");
        let check = |text: &str, expected: &[&str]| {
            fs::write(&path, text).unwrap();
            let error = read(&path, &[]).unwrap_err();
            for part in expected {
                assert!(error.contains(part), "{text}: {error}");
            }
        };
        let good = format!("[[token]]\nname = \"a\"\nsha256 = \"{}\"\n", "0".repeat(64));
        check(&format!("{good}{good}"), &["line 4", "name or the hash of another one"]);
        check("[[token]]\nname = \"a\"\nsha256 = \"abc\"\n", &["line 1", "64 hexadecimal digits"]);
        check("[[token]]\nname = \"a\"\n", &["line 1", "sha256"]);
        check(&format!("{good}tool = [\"ls\"]\n"), &["line 4", "unknown field `tool`"]);
        check(&format!("{good}expires = 2027-01-31\n"), &["line 1", "with an offset"]);
        check(&format!("{good}tools = []\n"), &["line 1", "`tools` is empty"]);
        check(&format!("{good}[token.limits]\ncalls = 1\n"), &["line 5", "unknown field `calls`"]);
        fs::write(&path, format!("{good}expires = 2027-01-31T12:00:00+01:00\n")).unwrap();
        assert_eq!(read(&path, &[]).unwrap().1[0].expires, Some("2027-01-31T11:00:00Z".parse().unwrap()));
    }
}
