//! What a shell leaves for the next command of its session: its directory and its exported variables.
//!
//! The command itself says them at its end, so they are worth what its output is worth: kept within bounds,
//! and then an argument of the next call, which rules, people and the sandbox see as any other.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex};

use files::roots::names::path_to_text;
use protocol::SessionId;
use rustix::io::Errno;
use sandbox::STATE_DESCRIPTOR;
use toolkit::shell::quoted;
use toolkit::{Call, Scope, locked};

use super::Commands;
use super::request::{self, bytes_of, is_for_call};

/// As much as a pipe holds: a shell that has more says only a part of it.
const MAX_STATE_BYTES: usize = 64 << 10;

/// The most variables that are kept, and how many bytes they may have together: half of what a call may give.
const MAX_VARIABLES: usize = request::MAX_VARIABLES / 2;
const MAX_ENV_BYTES: usize = request::MAX_ENV_BYTES / 2;

/// The sessions whose states are kept: those that used it last.
const MOST_SESSIONS: usize = 256;

/// Variables that shells set for themselves.
const OF_SHELLS: [&str; 4] = ["PWD", "OLDPWD", "SHLVL", "_"];

/// What a session has kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShellState {
    /// The directory of the last command, absolute, in a root.
    pub directory: Option<String>,
    /// What it has exported.
    pub variables: BTreeMap<String, String>,
}

/// Whose state it is: the session and the name of the token.
type Owner = (SessionId, Option<String>);

/// The states of all sessions, the one that was used last at the end.
#[derive(Debug, Default)]
pub(super) struct KeptStates(Mutex<Vec<(Owner, Arc<ShellState>)>>);

impl KeptStates {
    fn keep(&self, scope: &Scope, state: ShellState) {
        let mut kept = locked(&self.0);
        let owner = owner(scope);
        kept.retain(|(other, _)| *other != owner);
        if kept.len() >= MOST_SESSIONS {
            kept.remove(0);
        }
        kept.push((owner, Arc::new(state)));
    }

    fn of(&self, scope: &Scope) -> Option<Arc<ShellState>> {
        let kept = locked(&self.0);
        let owner = owner(scope);
        kept.iter().find(|(other, _)| *other == owner).map(|(_, state)| Arc::clone(state))
    }
}

fn owner(scope: &Scope) -> Owner {
    ((**scope).clone(), scope.token().map(str::to_owned))
}

/// A command line whose shell says its state at its end. `env` is the program that prints variables. The
/// numbers of its lines stay the same.
pub fn saying_its_state(line: &str, env: &Path) -> String {
    let env = quoted(&env.to_string_lossy());
    let say = quoted(&format!("{env} -0 >&{STATE_DESCRIPTOR} 2>/dev/null"));
    format!("trap {say} EXIT; {line}")
}

impl Commands {
    /// What the session's last command that kept its state has left.
    pub fn kept_state(&self, scope: &Scope) -> Option<Arc<ShellState>> {
        self.states.of(scope)
    }

    /// Keeps what a command has said at its end; what to say about it.
    pub(super) fn keep_state(&self, call: &Call, pipe: &OwnedFd) -> Option<String> {
        let said = read_all(pipe);
        if said.len() >= MAX_STATE_BYTES {
            return Some(too_much(&format!("more than {MAX_STATE_BYTES} bytes of variables")));
        }
        if said.is_empty() {
            let why = "it was killed, replaced its shell (`exec`) or its EXIT trap";
            return Some(format!("The command did not say its directory and variables ({why}): {UNCHANGED}"));
        }
        let all = variables(&said);
        let roots = self.workspaces.of(&call.scope).ok()?;
        let base = self.environment.variables(roots.first(), self.beside_proxy(call), &BTreeMap::new());
        let base: BTreeMap<_, _> = base.into_iter().collect();
        let of_proxy = self.proxy_variables(call);
        let is_new = |name: &str, value: &str| {
            let is_other = base.get(OsStr::new(name)).is_none_or(|ours| ours != value);
            let is_set = OF_SHELLS.contains(&name) || of_proxy.iter().any(|of_proxy| of_proxy == name);
            is_other && !is_set && is_for_call(name)
        };
        let own = all.iter().filter(|(name, value)| is_new(name, value));
        let own: BTreeMap<_, _> = own.map(|(name, value)| (name.clone(), value.clone())).collect();
        let bytes = bytes_of(&own);
        if own.len() > MAX_VARIABLES || bytes > MAX_ENV_BYTES {
            let much = format!("{} exported variables ({bytes} bytes), more than", own.len());
            return Some(too_much(&format!("{much} {MAX_VARIABLES} ({MAX_ENV_BYTES} bytes)")));
        }
        let place = all.get("PWD").map(|place| path_to_text(Path::new(place)));
        let found = place.as_ref().and_then(|place| roots.open_directory(place).ok());
        let directory = found.map(|opened| path_to_text(&opened.path));
        let outside = place.filter(|_| directory.is_none());
        let directory = directory.or_else(|| self.kept_state(&call.scope)?.directory.clone());
        self.states.keep(&call.scope, ShellState { directory, variables: own });
        outside.map(|place| {
            format!("The directory {place} is in no root, so it is not kept; the exported variables are.")
        })
    }
}

const UNCHANGED: &str = "what the session has kept stays as it was.";

fn too_much(what: &str) -> String {
    format!("The command leaves {what}: {UNCHANGED}")
}

/// All that is in a pipe, which its writers may still have open.
fn read_all(pipe: &OwnedFd) -> Vec<u8> {
    let mut said = Vec::new();
    let mut block = [0; 8192];
    while said.len() < MAX_STATE_BYTES {
        match rustix::io::read(pipe, &mut block) {
            Err(Errno::INTR) => {}
            Ok(0) | Err(_) => break,
            Ok(length) => said.extend(&block[..length]),
        }
    }
    said
}

/// The variables in a list as `env -0` prints it. What is no text is left out.
fn variables(said: &[u8]) -> BTreeMap<String, String> {
    let entries = said.split(|byte| *byte == 0).filter_map(|entry| std::str::from_utf8(entry).ok());
    let pairs = entries.filter_map(|entry| entry.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sessions_that_used_it_last_have_a_state() {
        let states = KeptStates::default();
        let scope = |number: usize| Scope::new(format!("s{number}").parse().unwrap(), None);
        let state = |number: usize| ShellState {
            directory: Some(format!("/r/{number}")),
            variables: BTreeMap::new(),
        };
        for number in (0..MOST_SESSIONS).chain([0, MOST_SESSIONS]) {
            states.keep(&scope(number), state(number));
        }
        assert_eq!(states.of(&scope(0)).as_deref(), Some(&state(0)));
        assert_eq!(states.of(&scope(1)), None);
        assert_eq!(states.of(&scope(MOST_SESSIONS)).as_deref(), Some(&state(MOST_SESSIONS)));
    }

    #[test]
    fn what_env_prints_is_read_and_what_is_no_text_left_out() {
        let said = b"A=b=c\0LINES=1\n2\0BROKEN=\xff\0BASH_FUNC_f%%=() { :; }\0none\0";
        let read = variables(said);
        assert_eq!(read.keys().collect::<Vec<_>>(), ["A", "BASH_FUNC_f%%", "LINES"]);
        assert_eq!((read["A"].as_str(), read["LINES"].as_str()), ("b=c", "1\n2"));
    }
}
