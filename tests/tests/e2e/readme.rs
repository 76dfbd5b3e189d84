//! Runs README's tour in a real shell, and compares the output.
//!
//! Numbers, hashes, the project's path and the order of a tree's events differ from run to run; everything
//! else must be as README shows it.

use std::os::unix::fs::symlink;
use std::process::Command;

use harness::project_copy::workspace;
use harness::{System, binaries, http};

/// The project's path in README.
const README_PLACE: &str = "/home/me/autonous";

/// Formats JSON. The test does this itself, so that it does not need `jq`.
const PRETTY: &str = " | jq .";

/// Ends the output of each command.
const END: &str = "[end of output]";

struct Step {
    command: String,
    shown: String,
}

fn tour() -> Vec<Step> {
    let readme = std::fs::read_to_string(workspace().join("README.md")).expect("there is a README");
    let blocks = readme.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut steps: Vec<Step> = Vec::new();
    for line in blocks.flat_map(str::lines) {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(Step { command: command.to_owned(), shown: String::new() }),
            (None, Some(step)) => step.shown += &format!("{line}\n"),
            (None, None) => panic!("README shows output before any command: {line}"),
        }
    }
    steps
}

/// JSON as `jq` shows it, but with sorted keys.
fn pretty(json: &str) -> String {
    let value: serde_json::Value =
        serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"));
    format!("{value:#}")
}

/// Text without what differs from run to run.
fn lasting(text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(lasting_line).collect();
    if lines.iter().any(|line| line.contains("process.started")) {
        lines.sort();
    }
    lines.join("\n")
}

fn lasting_line(line: &str) -> String {
    let without_branches = line.trim_start_matches(|c: char| c.is_ascii_digit() || " :.├└─│".contains(c));
    let line = if line.contains("─ ") { without_branches } else { line };
    let words = line.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    let differs = |word: &str| {
        // A part of an ID may have no digit.
        let is_hex = |part: &str| part.len() >= 4 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
        word.contains(|c: char| c.is_ascii_digit()) || word.strip_suffix('-').is_some_and(is_hex)
    };
    words.map(|word| if differs(word) { "0" } else { word }).collect()
}

/// Runs all commands in one shell, in a directory that looks like the project after `make run`.
fn outputs(system: &System, steps: &[Step]) -> Vec<String> {
    let dir = system.dir().path();
    std::fs::create_dir(dir.join("target")).expect("the place is writable");
    let programs = binaries::path_of("supervisor");
    symlink(programs.parent().expect("it lies in a directory"), dir.join("target/debug"))
        .expect("the place is writable");
    let tools = http::address_of(&system.tokens().tool_url).to_string();
    let script: String = steps
        .iter()
        .map(|step| step.command.replace("127.0.0.1:8701", &tools).replace(PRETTY, ""))
        .map(|command| format!("{command}\nprintf '{END}'\n"))
        .collect();
    let mut shell = Command::new("bash");
    shell.args(["-c", &format!("exec 2>&1\n{script}")]).current_dir(dir).env_clear();
    let output = shell.env("PATH", "/usr/local/bin:/usr/bin:/bin").output().expect("bash is there");
    let text = String::from_utf8(output.stdout).expect("the tour is text");
    let text = text.replace(&dir.display().to_string(), README_PLACE);
    text.split(END).map(str::to_owned).collect()
}

#[test]
fn the_tour_shows_what_really_happens() {
    let steps = tour();
    assert!(steps.len() > 5, "README has a tour");
    let system = System::start();
    let outputs = outputs(&system, &steps);
    for (step, output) in steps.iter().zip(&outputs) {
        let is_json = step.command.ends_with(PRETTY);
        let [shown, real] =
            [&step.shown, output].map(|text| lasting(&if is_json { pretty(text) } else { text.clone() }));
        assert!(shown == real, "$ {}\nREADME:\n{shown}\nreally:\n{real}", step.command);
    }
    assert_eq!(outputs.len(), steps.len() + 1, "the tour came to its end");
}
