//! Redaction: secrets leave no process in an answer, a journal record or a log line.
//!
//! Three kinds are found in one pass over a text: the exact values of our own secrets in every usual
//! encoding, tokens whose format names their vendor, and literal values that are assigned to a name such
//! as `DB_PASSWORD`. All of it is data: a [`rule::Rule`] says what finds a secret and shows what it must
//! redact and what it must leave. A keyword automaton looks at every byte once; a rule's pattern only looks
//! at what follows its keyword, so ordinary text costs one scan.
//!
//! Nothing here does I/O but the writer that wraps somebody else's, and nothing here knows where a secret
//! comes from. It never guesses by entropy alone: a hash, an identifier or a picture without a secret's
//! name before it is left as it is, because whoever edits a redacted text has lost the original.

mod assignments;
mod encodings;
mod exact_secrets;
mod false_positives;
mod formats;
mod json;
mod names;
mod references;
mod rule;
mod scanner;
mod shape;
mod spans;
mod writer;

use std::borrow::Cow;

pub use writer::RedactingWriter;

/// What stands in the place of a secret.
pub const PLACEHOLDER: &str = "***REDACTED***";

/// How often a text is looked at again after something was replaced.
///
/// What stands beside a secret can look different once the secret is gone; texts settle after one pass
/// more than they have nested secrets.
const MAX_PASSES: usize = 8;

/// Whether a text holds the placeholder, so that storing it would destroy a secret.
pub fn contains_placeholder(text: &str) -> bool {
    text.contains(PLACEHOLDER)
}

/// Replaces secrets in texts.
#[derive(Debug)]
pub struct Redactor {
    own: exact_secrets::ExactSecrets,
}

impl Redactor {
    /// A redactor that knows our own secrets besides the formats that everybody knows.
    ///
    /// Values shorter than 8 characters are replaced only as whole words, and shorter than 4 never: they
    /// would be found in honest text.
    pub fn new<'a>(own_secrets: impl IntoIterator<Item = &'a str>) -> Self {
        Self { own: exact_secrets::ExactSecrets::new(own_secrets) }
    }

    /// The text with [`PLACEHOLDER`] for each secret; borrowed when there was none.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(mut clean) = self.pass(text) else { return Cow::Borrowed(text) };
        for _ in 1..MAX_PASSES {
            let Some(cleaner) = self.pass(&clean) else { break };
            clean = cleaner;
        }
        Cow::Owned(clean)
    }

    /// Redacts every text in a JSON value, at any depth; true when something was replaced.
    ///
    /// A text whose key names a secret is replaced as a whole, as if it were assigned.
    pub fn redact_value(&self, value: &mut serde_json::Value) -> bool {
        json::redact(self, value)
    }

    fn pass(&self, text: &str) -> Option<String> {
        let mut found = self.own.find(text);
        found.extend(scanner::standard().find(text));
        spans::replace(text, found)
    }
}
