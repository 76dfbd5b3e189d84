//! The request of a call, so that a person can send it again: as data and as a line for a shell.

use serde::Serialize;
use serde_json::{Map, Value};

use super::call::PendingCall;
use crate::shell::quoted;

/// The longest line that a hint repeats; the data of the answer always has it.
const MAX_HINT_BYTES: usize = 2000;

/// A request that can be sent again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Replay {
    curl: String,
    request: Request,
    /// Whether it can be sent anywhere.
    #[serde(skip)]
    has_address: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Request {
    path: String,
    headers: Map<String, Value>,
    body: Value,
}

impl Replay {
    /// The request of a call at this address. The token stands there as a variable.
    pub(super) fn of(call: &PendingCall, url: &str, token_variable: &str) -> Self {
        let ids = &call.info.ids;
        let mut headers: Vec<(&str, String)> = vec![("Content-Type", "application/json".to_owned())];
        if call.token_sha256.is_some() {
            headers.push(("Authorization", format!("Bearer ${token_variable}")));
        }
        headers.push(("X-Session-Id", ids.session.as_str().to_owned()));
        headers.extend(ids.task.as_ref().map(|task| ("X-Task-Id", task.as_str().to_owned())));
        let path = format!("/tools/{}", call.info.tool);
        let body = call.arguments.as_ref().cloned().unwrap_or_default();
        let lines: Vec<String> = headers.iter().map(|(name, value)| in_shell(name, value)).collect();
        let curl = format!(
            "curl -sS -X POST {url}{path} {} --data-binary {}",
            lines.join(" "),
            quoted(&body.to_string())
        );
        let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
        Self { curl, request: Request { path, headers, body }, has_address: !url.is_empty() }
    }

    /// Itself, if it can be sent anywhere.
    pub(super) fn sendable(&self) -> Option<&Self> {
        Some(self).filter(|replay| replay.has_address)
    }

    /// What a caller can do about a call that no person can be asked about.
    pub(super) fn hint(&self) -> String {
        let line = &self.curl;
        if line.len() > MAX_HINT_BYTES || !self.has_address {
            return "Do not repeat the call; tell the user, who can change policy.toml.".to_owned();
        }
        format!(
            "Do not repeat the call; tell the user, who can change policy.toml, or send it where a person \
             can be asked: {line}"
        )
    }
}

/// The shell fills in the token alone.
fn in_shell(name: &str, value: &str) -> String {
    if name == "Authorization" {
        return format!("-H \"{name}: {value}\"");
    }
    format!("-H {}", quoted(&format!("{name}: {value}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_gets_the_text_as_it_is() {
        let text = "it's $HOME `id` \"x\"\n";
        let line = format!("printf %s {}", quoted(text));
        let output = std::process::Command::new("sh").args(["-c", &line]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), text);
        assert_eq!(in_shell("Authorization", "Bearer $T"), "-H \"Authorization: Bearer $T\"");
        assert_eq!(in_shell("X-A", "b"), "-H 'X-A: b'");
    }
}
