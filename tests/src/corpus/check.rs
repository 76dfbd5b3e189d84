//! A case's checks after its call: of the answer, of files, and of the machine's processes and listeners.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use protocol::Envelope;
use serde_json::Value;

use super::before::{Before, texts};
use super::placeholders::Placeholders;
use super::surroundings::Surroundings;
use super::{Case, require};
use crate::{Answer, leftovers, wait};

/// A shorter line of a secret is not telling.
const TELLING_BYTES: usize = 12;

/// How long a process may outlive the answer.
const GRACE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Observed<'a> {
    pub(super) answer: &'a Answer,
    pub(super) took: Duration,
    pub(super) before: &'a Before,
    /// The server's journal and log.
    pub(super) records: &'a str,
    pub(super) surroundings: &'a Surroundings,
}

pub(super) fn all(case: &Case, placeholders: &Placeholders, observed: &Observed<'_>) -> Result<(), String> {
    for (name, wanted) in &case.check {
        let wanted = placeholders.fill_value(wanted)?;
        one(case, name, &wanted, observed).map_err(|why| format!("{name}: {why}"))?;
    }
    Ok(())
}

fn one(case: &Case, name: &str, wanted: &Value, observed: &Observed<'_>) -> Result<(), String> {
    let Observed { answer, took, before, records, surroundings } = observed;
    let body = answer.text();
    match name {
        // `CaseRun` checks it after every case.
        "server_alive" => Ok(()),
        "status_in" => {
            let statuses = wanted.as_array().ok_or("a list is needed")?;
            require(statuses.contains(&answer.status.into()), || body)
        }
        "body_contains" => every(wanted, |text| body.contains(text), &body),
        "body_not_contains" => every(wanted, |text| !body.contains(text), &body),
        "body_contains_text" => shows_text(case, &answer.envelope()),
        "body_not_contains_secret" => no_secret(case, &body, records),
        "valid_json" => require(serde_json::from_slice::<Value>(&answer.body).is_ok(), || body),
        "body_max_bytes" => at_most(answer.body.len() as u64, wanted, "bytes"),
        "max_ms" => at_most(u64::try_from(took.as_millis()).unwrap_or(u64::MAX), wanted, "ms"),
        "file_unchanged" | "metadata_unchanged" => {
            every(wanted, |path| before.is_same(name, path), "it has changed")
        }
        "no_glob" => every(wanted, |pattern| !matches_something(pattern), "a file matches"),
        "exit_code" => {
            let exit_code = answer.envelope().exit_code;
            require(wanted.as_i64() == Some(exit_code.into()), || format!("the exit code is {exit_code}"))
        }
        "stdout_no_control_except" => clean(&answer.envelope().stdout, &texts(wanted)?),
        "server_saw_no_request_from_child" => no_request(observed),
        "server_limits_unchanged" => surroundings.require_same_limits(),
        "no_process_matching" => none_left(wanted.as_str().ok_or("a text is needed")?),
        "reported_control_file" => {
            let answer = answer.envelope();
            let files = &answer.meta.data["created_control_files"];
            require(files.as_array().is_some_and(|files| !files.is_empty()), || format!("none in {body}"))
        }
        "host_file_not_contains" => host_files(wanted),
        "disk_used_mb_max" => at_most(bytes_on_disk(&surroundings.dir) >> 20, wanted, "MiB on the disk"),
        _ => Err("unknown check".to_owned()),
    }
}

/// Every line of the case's text is shown, possibly after a line number.
fn shows_text(case: &Case, envelope: &Envelope) -> Result<(), String> {
    let text = case.text.as_deref().ok_or("the case has no text")?;
    let missing = text.lines().find(|line| !envelope.stdout.contains(line));
    missing.map_or(Ok(()), |line| Err(format!("not shown: {line:?}, but {:?}", envelope.stdout)))
}

/// No telling line of the secret is in the answer, the journal or the log. JSON escapes a secret of several
/// lines, so each line counts, except the lines that frame a key.
fn no_secret(case: &Case, body: &str, records: &str) -> Result<(), String> {
    let secret = case.secret();
    let mut telling =
        secret.lines().filter(|line| line.len() >= TELLING_BYTES && !line.starts_with("-----")).peekable();
    telling.peek().ok_or("the case has no secret")?;
    for line in telling {
        require(!body.contains(line), || "the secret is in the answer".to_owned())?;
        require(!records.contains(line), || "the secret is in the journal or in the log".to_owned())?;
    }
    Ok(())
}

/// Text without control characters or direction marks.
fn clean(stdout: &str, allowed: &[&str]) -> Result<(), String> {
    let turns =
        |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_odd = |c: char| (c.is_control() && !allowed.contains(&c.to_string().as_str())) || turns(c);
    let odd = stdout.chars().find(|c| is_odd(*c));
    odd.map_or(Ok(()), |odd| Err(format!("{odd:?} is in {stdout:?}")))
}

/// Whether the shell expands a pattern.
fn matches_something(pattern: &str) -> bool {
    let found = Command::new("bash").args(["-c", "compgen -G \"$1\" >/dev/null", "glob", pattern]).status();
    found.expect("bash starts").success()
}

/// Nothing arrived at a listener, and the server's journal has no call but the case's own.
fn no_request(observed: &Observed<'_>) -> Result<(), String> {
    observed.surroundings.require_silence()?;
    let calls = observed.records.lines().filter(|line| line.contains("\"tool_call.started\"")).count();
    require(calls <= 1, || format!("the server got {calls} calls"))
}

/// No process with this command line is left shortly after the answer.
pub(super) fn none_left(command: &str) -> Result<(), String> {
    let is_gone = wait::is_true_within(GRACE, || leftovers::processes_with(command).is_empty());
    require(is_gone, || format!("still there: {:?}", leftovers::processes_with(command)))
}

/// Pairs of a file of the machine and a text that it must not contain; `~` is the home directory.
fn host_files(pairs: &Value) -> Result<(), String> {
    let home = std::env::var("HOME").map_err(|error| format!("HOME: {error}"))?;
    for pair in pairs.as_array().ok_or("a list is needed")? {
        let [path, text] = texts(pair)?[..] else { return Err("a pair is needed".to_owned()) };
        let path = path.replacen('~', &home, 1);
        let content = fs::read(&path).unwrap_or_default();
        let contains = String::from_utf8_lossy(&content).contains(text);
        require(!contains, || format!("{path} contains {text}"))?;
    }
    Ok(())
}

fn bytes_on_disk(directory: &Path) -> u64 {
    let all = leftovers::everything_below(directory).into_iter();
    let facts = all.filter_map(|path| path.symlink_metadata().ok()).filter(|facts| !facts.is_dir());
    facts.map(|facts| facts.blocks() * 512).sum()
}

pub(super) fn peak_memory_mb(pid: u32) -> Result<u64, String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).map_err(|error| error.to_string())?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    let kibibytes = line.trim().trim_end_matches(" kB").parse::<u64>().map_err(|error| error.to_string())?;
    Ok(kibibytes >> 10)
}

fn every(wanted: &Value, is_right: impl Fn(&str) -> bool, why: &str) -> Result<(), String> {
    texts(wanted)?.into_iter().try_for_each(|text| require(is_right(text), || format!("{text}: {why}")))
}

fn at_most(number: u64, wanted: &Value, unit: &str) -> Result<(), String> {
    require(wanted.as_u64().is_some_and(|most| number <= most), || format!("{number} {unit}"))
}
