//! Steps in words, for cases that need more than one call. Each kind is recognised by how a step begins; an
//! unknown step fails the case.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use protocol::ErrorCode;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::check::none_left;
use super::placeholders::{Placeholders, TOKEN};
use super::{Case, require};
use crate::signals;
use crate::swapping::while_swapping;
use crate::{Answer, Request, ToolServer, leftovers, wait};

/// How often `/livez` is requested while commands run.
const QUESTIONS: usize = 9;

/// What the steps of a case name.
pub(super) struct Place<'a> {
    pub(super) placeholders: &'a Placeholders,
    /// The command line of the process that the case leaves behind.
    pub(super) left_behind: &'a str,
}

/// Follows a case's steps; the caller checks the answers.
pub(super) fn follow(
    case: &Case,
    server: &mut ToolServer,
    Place { placeholders, left_behind }: Place<'_>,
    reads_first: bool,
) -> Result<Vec<Answer>, String> {
    let steps: Vec<&str> = case.steps.iter().map(String::as_str).collect();
    match steps.as_slice() {
        [calls, alive] if calls.contains(" parallel bash ") && alive.starts_with("GET ") => {
            let within = Duration::from_millis(number_in(alive)?);
            many_at_once(server, number_in(calls)?, &parallel_command(calls)?, within)
        }
        [_, "kill -9 server", gone] if gone.starts_with("after 1 s no ") => {
            killed_amid_a_call(server, left_behind).map(|answer| vec![answer])
        }
        ["start server", _, call, "restore"] => {
            root_replaced(server, &placeholders.fill(call)?).map(|answer| vec![answer])
        }
        [swap, call] if swap.starts_with("thread swaps {ROOT}/rd ") => {
            let arguments = placeholders.fill_value(&Value::Object(case.args.clone()))?;
            swapping(server, &case.tool, arguments, number_in(call)?, reads_first)
        }
        [bash, calls @ ..] if bash.starts_with("bash: ") => {
            let command = placeholders.fill(bash.trim_start_matches("bash: "))?;
            let made = server.send(Request::call("bash", &json!({"cmd": command})));
            let calls = calls.iter().map(|call| must_be_denied(server, &placeholders.fill(call)?));
            std::iter::once(Ok(made)).chain(calls).collect()
        }
        [writes, "file must be uniform"] => parallel_writes(server, number_in(writes)?),
        _ => Err(format!("unknown steps: {steps:?}")),
    }
}

/// Replaces the root with a link to the outside while the server runs; `call` is `call <tool> <arguments>`.
fn root_replaced(server: &ToolServer, call: &str) -> Result<Answer, String> {
    let mut words = call.splitn(3, ' ').skip(1);
    let (Some(tool), Some(arguments)) = (words.next(), words.next()) else {
        return Err(format!("not a call: {call}"));
    };
    let (root, moved) = (server.root(), server.root().with_extension("bak"));
    let failed = |error: std::io::Error| error.to_string();
    fs::rename(&root, &moved).map_err(failed)?;
    symlink(server.dir().outside(), &root).map_err(failed)?;
    let answer = server.send(Request::post(&format!("/tools/{tool}"), arguments));
    fs::remove_file(&root).and_then(|()| fs::rename(&moved, &root)).map_err(failed)?;
    Ok(answer)
}

/// A call in short, `<tool>: <path> [content] -> must be denied`.
fn must_be_denied(server: &ToolServer, call: &str) -> Result<Answer, String> {
    let known = || format!("not a call that must be denied: {call}");
    let (tool, rest) =
        call.strip_suffix(" -> must be denied").and_then(|call| call.split_once(": ")).ok_or_else(known)?;
    let arguments = match rest.split_once(' ') {
        Some((path, content)) => json!({"path": path, "content": content}),
        None => json!({"path": rest}),
    };
    let answer = server.send(Request::call(tool, &arguments));
    require(!answer.envelope().ok, || format!("not denied: {}", answer.text()))?;
    Ok(answer)
}

/// Calls a tool many times while a directory and a link to the outside are swapped.
///
/// Both contain what an edit looks for, so every call that gets through could do harm outside. The next edit
/// reverts one that succeeded inside.
fn swapping(
    server: &ToolServer,
    tool: &str,
    mut arguments: Value,
    calls: usize,
    reads_first: bool,
) -> Result<Vec<Answer>, String> {
    let (real, link) = prepare_swap(server).map_err(|error| error.to_string())?;
    let answers = while_swapping(&real, &link, || {
        let mut answers = Vec::with_capacity(2 * calls);
        for _ in 0..calls {
            if reads_first {
                answers.push(server.send(Request::call("read", &json!({"path": arguments["path"]}))));
            }
            let answer = server.send(Request::call(tool, &arguments));
            if arguments.get("find").is_some() && answer.envelope().ok {
                let (find, replace) = (arguments["find"].take(), arguments["replace"].take());
                (arguments["find"], arguments["replace"]) = (replace, find);
            }
            answers.push(answer);
        }
        answers
    });
    let leak = answers.iter().find(|answer| shows_the_outside(answer));
    leak.map_or(Ok(()), |leak| Err(format!("the outside was shown: {}", leak.text())))?;
    Ok(answers)
}

/// `rd` and `rl` of the corpus. Everything inside says so.
fn prepare_swap(server: &ToolServer) -> std::io::Result<(PathBuf, PathBuf)> {
    let (real, link) = (server.root().join("rd"), server.root().join("rl"));
    fs::create_dir(&real)?;
    fs::write(real.join("secret.txt"), "inside: OUTSIDE-SECRET\n")?;
    fs::write(server.dir().outside().join("OUTSIDE-SECRET"), "")?;
    symlink(server.dir().outside(), &link)?;
    Ok((real, link))
}

fn shows_the_outside(answer: &Answer) -> bool {
    let outside = |line: &str| line.contains("OUTSIDE-SECRET") && !line.contains("inside: ");
    answer.envelope().stdout.lines().any(outside)
}

/// Writes many files to one path at once: one of them must win.
fn parallel_writes(server: &ToolServer, writes: usize) -> Result<Vec<Answer>, String> {
    const LENGTH: usize = 1 << 20;
    let letter = |number: usize| char::from(b"abcdefghijklmnopqrstuvwxyz"[number % 26]);
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let write = |number: usize| {
            let content = letter(number).to_string().repeat(LENGTH);
            server.send(Request::call("write", &json!({"path": "parallel", "content": content})))
        };
        let running: Vec<_> = (0..writes).map(|number| scope.spawn(move || write(number))).collect();
        running.into_iter().map(|call| call.join().expect("a call does not panic")).collect()
    });
    require_uniform(&server.root().join("parallel"), LENGTH)?;
    require(answers.iter().any(|answer| answer.envelope().ok), || "nothing was written".to_owned())?;
    Ok(answers)
}

fn require_uniform(file: &Path, length: usize) -> Result<(), String> {
    let content = fs::read(file).map_err(|error| error.to_string())?;
    let is_uniform = content.len() == length && content.iter().all(|byte| *byte == content[0]);
    require(is_uniform, || format!("the file of {} bytes is a mix", content.len()))
}

/// Runs many commands at once: each runs or is refused as one too many, and the server stays responsive.
fn many_at_once(
    server: &ToolServer,
    number: usize,
    command: &str,
    within: Duration,
) -> Result<Vec<Answer>, String> {
    let call = || server.send(Request::call("bash", &json!({"cmd": command})));
    let (answers, took) = std::thread::scope(|scope| {
        let running: Vec<_> = (0..number).map(|_| scope.spawn(call)).collect();
        let took = median_of_livez(server);
        let answers: Vec<Answer> =
            running.into_iter().map(|call| call.join().expect("a call does not panic")).collect();
        (answers, took)
    });
    require(took? <= within, || format!("/livez answered after more than {within:?}"))?;
    let is_too_many = |answer: &Answer| {
        answer.envelope().meta.error.is_some_and(|error| error.code == ErrorCode::Overloaded)
    };
    let ran: Vec<Answer> = answers.into_iter().filter(|answer| !is_too_many(answer)).collect();
    require(!ran.is_empty(), || "none ran".to_owned())?;
    Ok(ran)
}

/// The median, because a single answer may be slow for other reasons.
fn median_of_livez(server: &ToolServer) -> Result<Duration, String> {
    let mut took = Vec::with_capacity(QUESTIONS);
    for _ in 0..QUESTIONS {
        let since = Instant::now();
        let answer = server.send(Request::get("/livez"));
        took.push(since.elapsed());
        require(answer.status == 200, || format!("/livez answers {}", answer.status))?;
    }
    took.sort();
    Ok(took[QUESTIONS / 2])
}

/// Kills the server while a command runs: the command ends as well, and a new server works.
fn killed_amid_a_call(server: &mut ToolServer, command: &str) -> Result<Answer, String> {
    let body = json!({"cmd": command, "timeout_seconds": 60});
    let request = Request::call("bash", &body).bearer(TOKEN);
    let address = server.address();
    std::thread::scope(|scope| {
        // The server is killed, so there is no response.
        scope.spawn(move || drop(request.try_send(address)));
        wait::until_true("the command runs", || !leftovers::processes_with(command).is_empty());
        signals::send(server.program().pid(), Signal::KILL);
        none_left(command)
    })?;
    server.crash(|_| ());
    Ok(server.send(Request::call("bash", &json!({"cmd": "true"}))))
}

/// `64 parallel bash {"command":"sleep 2"}`
fn parallel_command(step: &str) -> Result<String, String> {
    let call =
        step.split_once(" parallel bash ").and_then(|(_, call)| serde_json::from_str::<Value>(call).ok());
    let command = call.and_then(|call| call["command"].as_str().or(call["cmd"].as_str()).map(str::to_owned));
    command.ok_or_else(|| format!("not a parallel call: {step}"))
}

/// The first number in a step.
fn number_in<T: std::str::FromStr>(step: &str) -> Result<T, String> {
    step.split(' ').find_map(|word| word.parse().ok()).ok_or_else(|| format!("no number in {step:?}"))
}
