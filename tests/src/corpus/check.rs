//! What a case wants to be true after its call, besides the outcome.

use std::process::Command;
use std::time::Duration;

use protocol::Envelope;
use serde_json::Value;

use super::Case;
use super::before::Before;
use super::commands::{self, Surroundings};
use super::placeholders::Placeholders;
use crate::Answer;

/// A line of a secret that is shorter says nothing by itself.
const TELLING_BYTES: usize = 12;

/// What was seen of a call.
#[derive(Debug)]
pub struct Observed<'a> {
    /// The answer.
    pub answer: &'a Answer,
    /// How long it took.
    pub took: Duration,
    /// What must stay as it is.
    pub before: &'a Before,
    /// What the server wrote down of the call: its journal and its log.
    pub records: &'a str,
    /// What stands around the server.
    pub surroundings: &'a Surroundings,
}

/// Judges all checks of a case.
pub fn all(case: &Case, placeholders: &Placeholders, observed: &Observed<'_>) -> Result<(), String> {
    for (name, wanted) in &case.check {
        let wanted = placeholders.fill_value(wanted)?;
        one(case, name, &wanted, observed).map_err(|why| format!("{name}: {why}"))?;
    }
    Ok(())
}

fn one(case: &Case, name: &str, wanted: &Value, observed: &Observed<'_>) -> Result<(), String> {
    let body = observed.answer.text();
    match name {
        // `CaseRun` asks the server for a listing after every case.
        "server_alive" => Ok(()),
        "status_in" => holds(contains_number(wanted, observed.answer.status.into()), &body),
        "body_contains" => every(wanted, |text| body.contains(text), &body),
        "body_not_contains" => every(wanted, |text| !body.contains(text), &body),
        "body_contains_text" => shows_text(case, &observed.answer.envelope()),
        "body_not_contains_secret" => no_secret(case, &body, observed.records),
        "valid_json" => holds(serde_json::from_slice::<Value>(&observed.answer.body).is_ok(), &body),
        "body_max_bytes" => holds(at_most(observed.answer.body.len(), wanted), "the answer is too long"),
        "max_ms" => {
            let took = usize::try_from(observed.took.as_millis()).unwrap_or(usize::MAX);
            holds(at_most(took, wanted), &format!("it took {took} ms"))
        }
        "file_unchanged" => every(wanted, |path| observed.before.has_content_of(path), "a file was changed"),
        "metadata_unchanged" => {
            every(wanted, |path| observed.before.has_metadata_of(path), "metadata changed")
        }
        "file_absent" => every(wanted, |path| !std::path::Path::new(path).exists(), "a file is there"),
        "file_exists" => every(wanted, |path| std::path::Path::new(path).exists(), "a file is missing"),
        "no_glob" => every(wanted, |pattern| !matches_something(pattern), "there is such a file"),
        "exit_code" => {
            let exit_code = observed.answer.envelope().exit_code;
            holds(wanted.as_i64() == Some(exit_code.into()), &format!("the exit code is {exit_code}"))
        }
        "stdout_no_control_except" => clean(&observed.answer.envelope().stdout, &texts(wanted)?),
        "dir_kept" => every(wanted, |path| observed.before.has_directory(path), "it is another directory"),
        _ => commands::checks::one(name, wanted, observed),
    }
}

/// Every line of the case's text is shown; the tool may put line numbers before it.
fn shows_text(case: &Case, envelope: &Envelope) -> Result<(), String> {
    let text = case.text.as_deref().ok_or("the case has no text")?;
    let missing = text.lines().find(|line| !envelope.stdout.contains(line));
    missing.map_or(Ok(()), |line| Err(format!("not shown: {line:?}, but {:?}", envelope.stdout)))
}

/// No telling line of the secret is in the answer, the journal or the log. A secret of several lines is
/// never whole in JSON, so its lines count; the lines around a key say only that there is one.
fn no_secret(case: &Case, body: &str, records: &str) -> Result<(), String> {
    let secret = case.secret();
    let mut telling =
        secret.lines().filter(|line| line.len() >= TELLING_BYTES && !line.starts_with("-----")).peekable();
    telling.peek().ok_or("the case has no secret")?;
    for line in telling {
        holds(!body.contains(line), "the secret is in the answer")?;
        holds(!records.contains(line), "the secret is in the journal or in the log")?;
    }
    Ok(())
}

/// Text without anything that a terminal obeys or that turns round what people read.
fn clean(stdout: &str, allowed: &[&str]) -> Result<(), String> {
    let turns =
        |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_odd = |c: char| (c.is_control() && !allowed.contains(&c.to_string().as_str())) || turns(c);
    let odd = stdout.chars().find(|c| is_odd(*c));
    odd.map_or(Ok(()), |odd| Err(format!("{odd:?} is in {stdout:?}")))
}

/// Whether the shell's globbing finds a name.
fn matches_something(pattern: &str) -> bool {
    let found = Command::new("bash").args(["-c", "compgen -G \"$1\" >/dev/null", "glob", pattern]).status();
    found.expect("bash starts").success()
}

fn holds(holds: bool, why: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why.to_owned()) }
}

fn every(wanted: &Value, is_right: impl Fn(&str) -> bool, why: &str) -> Result<(), String> {
    for text in texts(wanted)? {
        holds(is_right(text), &format!("{text}: {why}"))?;
    }
    Ok(())
}

pub(super) fn texts(value: &Value) -> Result<Vec<&str>, String> {
    let items = value.as_array().ok_or("a list is needed")?;
    items.iter().map(|item| item.as_str().ok_or_else(|| "a text is needed".to_owned())).collect()
}

fn contains_number(list: &Value, number: u64) -> bool {
    list.as_array().is_some_and(|items| items.iter().any(|item| item.as_u64() == Some(number)))
}

fn at_most(number: usize, wanted: &Value) -> bool {
    wanted.as_u64().and_then(|most| usize::try_from(most).ok()).is_some_and(|most| number <= most)
}
