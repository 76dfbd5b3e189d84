//! The checks that look beyond the answer of a command: at the machine, its processes and its listeners.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::surroundings::Surroundings;
use crate::corpus::check::{Observed, texts};
use crate::{leftovers, wait};

/// How long a process may still be seen after the answer.
const GRACE: Duration = Duration::from_secs(1);

const MOST_SERVER_MB: u64 = 100;

pub(crate) fn one(name: &str, wanted: &Value, observed: &Observed<'_>) -> Result<(), String> {
    match name {
        "server_saw_no_request_from_child" => no_request(observed),
        "server_limits_unchanged" => observed.surroundings.limits_are_unchanged(),
        "no_process_matching" => none_left(wanted.as_str().ok_or("a text is needed")?),
        "reported_control_file" => reports_a_control_file(observed),
        "host_file_not_contains" => host_files(wanted),
        "disk_used_mb_max" => {
            at_most(bytes_on_disk(&observed.surroundings.dir) >> 20, wanted, "MiB on the disk")
        }
        "server_rss_mb_max" => {
            at_most(peak_memory_mb(observed.surroundings.server)?, wanted, "MiB in memory")
        }
        _ => Err("the runner does not know this check".to_owned()),
    }
}

pub(crate) fn server_stays_small(surroundings: &Surroundings) -> Result<(), String> {
    let peak = peak_memory_mb(surroundings.server)?;
    if peak <= MOST_SERVER_MB { Ok(()) } else { Err(format!("the server took {peak} MiB")) }
}

/// A process of this command line is gone, at the latest a little after the answer.
pub(crate) fn none_left(command: &str) -> Result<(), String> {
    let gone = wait::within(GRACE, || leftovers::processes_with(command).is_empty().then_some(()));
    gone.ok_or_else(|| format!("still there: {:?}", leftovers::processes_with(command)))
}

/// Nothing arrived at a listener, and the server's journal has no call but the case's own.
fn no_request(observed: &Observed<'_>) -> Result<(), String> {
    observed.surroundings.listeners.received_nothing()?;
    let calls = observed.records.lines().filter(|line| line.contains("\"tool_call.started\"")).count();
    if calls <= 1 { Ok(()) } else { Err(format!("the server got {calls} calls")) }
}

fn reports_a_control_file(observed: &Observed<'_>) -> Result<(), String> {
    let envelope = observed.answer.envelope();
    let listed = envelope.meta.data.get("created_control_files").and_then(Value::as_array);
    let reports = listed.is_some_and(|files| !files.is_empty());
    if reports { Ok(()) } else { Err(format!("none in {}", observed.answer.text())) }
}

/// Pairs of a file of the machine and a text that it must not contain; `~` is the home of who runs the tests.
fn host_files(pairs: &Value) -> Result<(), String> {
    let home = std::env::var("HOME").map_err(|error| format!("HOME: {error}"))?;
    for pair in pairs.as_array().ok_or("a list is needed")? {
        let [path, text] = texts(pair)?[..] else { return Err("a pair is needed".to_owned()) };
        let path = path.replacen('~', &home, 1);
        let content = fs::read(&path).unwrap_or_default();
        if String::from_utf8_lossy(&content).contains(text) {
            return Err(format!("{path} contains {text}"));
        }
    }
    Ok(())
}

fn bytes_on_disk(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => bytes_on_disk(&entry.path()),
            Ok(metadata) => metadata.blocks() * 512,
            Err(_) => 0,
        })
        .sum()
}

fn peak_memory_mb(pid: u32) -> Result<u64, String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).map_err(|error| error.to_string())?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    let kibibytes = line.trim().trim_end_matches(" kB").parse::<u64>().map_err(|error| error.to_string())?;
    Ok(kibibytes >> 10)
}

fn at_most(number: u64, wanted: &Value, unit: &str) -> Result<(), String> {
    let holds = wanted.as_u64().is_some_and(|most| number <= most);
    if holds { Ok(()) } else { Err(format!("{number} {unit}")) }
}
