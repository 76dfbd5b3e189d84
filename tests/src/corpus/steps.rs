//! Steps in words: what a case does where one call is not enough.
//!
//! The corpus says them in English; each kind is known by how its first telling step begins. What is not
//! known is an error of the runner, never a step that is left out.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Case;
use super::placeholders::Placeholders;
use crate::swapping::while_swapping;
use crate::{Answer, Request, ToolServer};

pub fn follow(
    case: &Case,
    server: &ToolServer,
    placeholders: &Placeholders,
    reads_first: bool,
) -> Result<Vec<Answer>, String> {
    let steps: Vec<&str> = case.steps.iter().map(String::as_str).collect();
    match steps.as_slice() {
        ["start server", _, call, "restore"] => {
            root_replaced(server, &placeholders.fill(call)?).map(|answer| vec![answer])
        }
        [swap, call] if swap.starts_with("thread swaps {ROOT}/rd ") => {
            let arguments = placeholders.fill_value(&Value::Object(case.args.clone()))?;
            swapping(server, &case.tool, &arguments, number_in(call)?, reads_first)
        }
        [bash, calls @ ..] if bash.starts_with("bash: ") => {
            let command = placeholders.fill(bash.trim_start_matches("bash: "))?;
            let made = server.send(Request::post_json("/tools/bash", &json!({"cmd": command})));
            let calls = calls.iter().map(|call| must_be_denied(server, &placeholders.fill(call)?));
            std::iter::once(Ok(made)).chain(calls).collect()
        }
        [writes, "file must be uniform"] => parallel_writes(server, number_in(writes)?),
        _ => Err(format!("the runner cannot follow steps in words: {steps:?}")),
    }
}

/// The root is moved away and a link to the outside put in its place while the server runs; `call` is
/// `call <tool> <arguments>`.
fn root_replaced(server: &ToolServer, call: &str) -> Result<Answer, String> {
    let mut words = call.splitn(3, ' ').skip(1);
    let (Some(tool), Some(arguments)) = (words.next(), words.next()) else {
        return Err(format!("this step is no call: {call}"));
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
    let known = || format!("this step is no call that must be denied: {call}");
    let (tool, rest) =
        call.strip_suffix(" -> must be denied").and_then(|call| call.split_once(": ")).ok_or_else(known)?;
    let arguments = match rest.split_once(' ') {
        Some((path, content)) => json!({"path": path, "content": content}),
        None => json!({"path": rest}),
    };
    let answer = server.send(Request::post_json(&format!("/tools/{tool}"), &arguments));
    if answer.envelope().ok { Err(format!("not denied: {}", answer.text())) } else { Ok(answer) }
}

/// Calls a tool many times while a directory and a link to the outside change places.
///
/// Inside and outside both hold what an edit looks for, so that each call that gets through could do harm
/// in the wrong place; an edit that succeeded inside is turned round by the next one.
fn swapping(
    server: &ToolServer,
    tool: &str,
    arguments: &Value,
    calls: usize,
    reads_first: bool,
) -> Result<Vec<Answer>, String> {
    let (real, link) = prepare_swap(server).map_err(|error| error.to_string())?;
    let mut arguments = arguments.clone();
    let target = format!("/tools/{tool}");
    let answers = while_swapping(&real, &link, || {
        let mut answers = Vec::with_capacity(2 * calls);
        for _ in 0..calls {
            if reads_first {
                answers.push(
                    server.send(Request::post_json("/tools/read", &json!({"path": arguments["path"]}))),
                );
            }
            let answer = server.send(Request::post_json(&target, &arguments));
            if arguments.get("find").is_some() && answer.envelope().ok {
                let (find, replace) = (arguments["find"].take(), arguments["replace"].take());
                (arguments["find"], arguments["replace"]) = (replace, find);
            }
            answers.push(answer);
        }
        answers
    });
    if let Some(leak) = answers.iter().find(|answer| shows_the_outside(answer)) {
        return Err(format!("the outside was shown: {}", leak.text()));
    }
    Ok(answers)
}

/// `rd` and `rl` of the corpus. What lies inside says so in every line and name.
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

/// Many whole files at once to one path: in the end it is one of them.
fn parallel_writes(server: &ToolServer, writes: usize) -> Result<Vec<Answer>, String> {
    const LENGTH: usize = 1 << 20;
    let letter = |number: usize| char::from(b"abcdefghijklmnopqrstuvwxyz"[number % 26]);
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let write = |number: usize| {
            let content = letter(number).to_string().repeat(LENGTH);
            server.send(Request::post_json("/tools/write", &json!({"path": "parallel", "content": content})))
        };
        let running: Vec<_> = (0..writes).map(|number| scope.spawn(move || write(number))).collect();
        running.into_iter().map(|call| call.join().expect("a call does not panic")).collect()
    });
    require_uniform(&server.root().join("parallel"), LENGTH)?;
    if answers.iter().any(|answer| answer.envelope().ok) {
        Ok(answers)
    } else {
        Err("nothing was written".to_owned())
    }
}

fn require_uniform(file: &Path, length: usize) -> Result<(), String> {
    let content = fs::read(file).map_err(|error| error.to_string())?;
    let is_uniform = content.len() == length && content.iter().all(|byte| *byte == content[0]);
    if is_uniform { Ok(()) } else { Err(format!("the file is a mix of {} bytes", content.len())) }
}

/// The first number in a step.
fn number_in(step: &str) -> Result<usize, String> {
    step.split(' ').find_map(|word| word.parse().ok()).ok_or_else(|| format!("no number in {step:?}"))
}
