//! Redaction: no secret leaves a process in an answer, a journal record or a log line.
//!
//! Three kinds are found in one pass over a text: the exact values of our own secrets in every usual
//! encoding, tokens in a vendor's format, and literal values that are assigned to a name such as
//! `DB_PASSWORD`. The last two are data: a [`rule::Rule`] says how a secret is found and gives examples of
//! what it must redact and what it must leave. A keyword automaton reads every byte once, and a rule's
//! pattern only runs at its keyword, so ordinary text costs one scan.
//!
//! Nothing here does I/O, except for the writer that wraps another one. Entropy alone never makes a secret:
//! a hash, an ID or an image without a secret's name before it stays, because the original is lost to anyone
//! who edits a redacted text.

mod assignments;
mod encodings;
mod exact_secrets;
mod false_positives;
mod formats;
mod found;
mod hidden;
mod json;
mod keywords;
mod names;
mod note;
mod references;
mod rule;
mod scanner;
mod shape;
mod spans;
mod writer;

use std::borrow::Cow;
use std::sync::Arc;

use protocol::Data;

pub use note::HIDDEN;
pub use writer::RedactingWriter;

/// What replaces a secret.
pub const PLACEHOLDER: &str = "***REDACTED***";

/// Text next to a secret can match other rules once the secret is gone; a text needs one pass more than it
/// has nested secrets.
const MAX_PASSES: usize = 8;

/// Replaces secrets in text.
#[derive(Debug)]
pub struct Redactor {
    own: Arc<exact_secrets::ExactSecrets>,
    context: Context,
}

/// What a text is, which decides about values that are assigned to a secret's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Context {
    /// Nearly every value of an environment is a secret.
    Text,
    /// A value that does not look like a secret may be a command, which the journal must show.
    Command,
}

impl Redactor {
    /// For these secrets of ours and all known formats. Because short values occur in ordinary text, those
    /// under 8 characters are replaced only as whole words, and those under 4 never.
    pub fn new<'a>(own_secrets: impl IntoIterator<Item = &'a str>) -> Self {
        Self { own: Arc::new(exact_secrets::ExactSecrets::new(own_secrets)), context: Context::Text }
    }

    /// The text with each secret replaced by [`PLACEHOLDER`]; borrowed when it has none.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(mut clean) = self.pass(text) else { return Cow::Borrowed(text) };
        for _ in 1..MAX_PASSES {
            let Some(cleaner) = self.pass(&clean) else { break };
            clean = cleaner;
        }
        Cow::Owned(clean)
    }

    /// Redacts a JSON value, and all of a string under a secret's name; true when something was replaced.
    pub fn redact_value(&self, value: &mut serde_json::Value) -> bool {
        json::redact(self, value)
    }

    /// The same for the data of a call.
    pub fn redact_data(&self, data: &mut Data) -> bool {
        match data.plain_text() {
            Some(text) if !self.may_redact(text) => false,
            Some(_) => data.change(|value| json::redact_each(self, value)),
            None => data.change(|value| json::redact(self, value)),
        }
    }

    /// Redacts the arguments of a command. A value is not hidden merely because of its variable's name: in
    /// `API_KEY="touch x; id"; eval "$API_KEY"` it is what runs.
    pub fn redact_command(&self, value: &mut serde_json::Value) -> bool {
        json::redact(&Self { own: Arc::clone(&self.own), context: Context::Command }, value)
    }

    /// Redacts a text in place; true when something was replaced.
    pub fn redact_text(&self, text: &mut String) -> bool {
        let Cow::Owned(clean) = self.redact(text) else { return false };
        *text = clean;
        true
    }

    /// Whether a text can have a secret, or the name of one: only such a text has anything that is replaced.
    fn may_redact(&self, text: &str) -> bool {
        self.own.is_in(text) || scanner::standard().has_keyword(text)
    }

    fn pass(&self, text: &str) -> Option<String> {
        spans::replace(text, self.find(text))
    }

    fn find(&self, text: &str) -> Vec<std::ops::Range<usize>> {
        let mut found = self.own.find(text);
        found.extend(scanner::standard().find(text, self.context));
        found
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn in_command(text: &str) -> String {
        let mut arguments = json!({"cmd": text});
        Redactor::new(["our-own-secret"]).redact_command(&mut arguments);
        arguments["cmd"].as_str().unwrap().to_owned()
    }

    #[test]
    fn data_is_redacted_in_both_forms_and_clean_data_is_not_read() {
        let redactor = Redactor::new(["our-own-secret", "x\"y\\z-12"]);
        let clean = json!({"name": "a.txt", "size": 3, "lines": ["ä", "it's </b>"]});
        let mut data = Data::of(&clean);
        assert!(!redactor.redact_data(&mut data) && data.plain_text().is_some());
        assert_eq!(*data, clean);
        for (dirty, hidden) in [
            (json!({"text": "an our-own-secret"}), json!({"text": format!("an {PLACEHOLDER}")})),
            (json!({"our-own-secret": 1}), json!({PLACEHOLDER: 1})),
            (json!({"text": "x\"y\\z-12"}), json!({"text": PLACEHOLDER})),
            (json!([{"db_password": "hunter2"}]), json!([{"db_password": PLACEHOLDER}])),
            (
                json!({"name": "API_KEY", "value": "FAKEx1y2"}),
                json!({"name": "API_KEY", "value": PLACEHOLDER}),
            ),
        ] {
            for mut data in [Data::of(&dirty), dirty.clone().into()] {
                assert!(redactor.redact_data(&mut data), "{dirty}");
                assert_eq!(*data, hidden);
                assert_eq!(serde_json::to_value(&data).unwrap(), hidden);
            }
        }
    }

    #[test]
    fn a_command_line_shows_what_runs_and_hides_what_looks_like_a_secret() {
        for runs in [
            "API_KEY=\"touch pwned; id\"; eval \"$API_KEY\"",
            "API_KEY='touch pwned'; $API_KEY",
            "export DB_PASSWORD=reboot; $DB_PASSWORD",
            "API_TOKEN=id;touch${IFS}pwned1; eval $API_TOKEN",
            "SECRET_KEY={touch,pwned12}; eval $SECRET_KEY",
            "MY_SECRET=./run1x2y3z; $MY_SECRET",
        ] {
            assert_eq!(in_command(runs), runs);
        }
        for (before, secret, after) in [
            ("PGPASSWORD=", "hunter2", " psql"),
            ("export API_KEY='", "FAKEx1y2z3a4b5c6", "'; ./deploy"),
            ("curl -H 'Authorization: Bearer ", "FAKEx1y2z3a4b5c6d7e8f9g0", "' x.invalid"),
            ("echo ", "our-own-secret", ""),
        ] {
            let hidden = format!("{before}{PLACEHOLDER}{after}");
            assert_eq!(in_command(&format!("{before}{secret}{after}")), hidden);
        }
    }
}
