//! Steps in words that need many commands at once, or the server's end.

use std::time::{Duration, Instant};

use protocol::ErrorCode;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::checks::none_left;
use super::surroundings::Surroundings;
use crate::corpus::Case;
use crate::corpus::placeholders::TOKEN;
use crate::program::signal;
use crate::{Answer, Request, ToolServer, leftovers, wait};

/// How often the server is asked whether it lives, while commands run.
const QUESTIONS: usize = 9;

pub(crate) fn follow(
    case: &Case,
    server: &mut ToolServer,
    surroundings: &Surroundings,
) -> Result<Option<Vec<Answer>>, String> {
    let steps: Vec<&str> = case.steps.iter().map(String::as_str).collect();
    match steps.as_slice() {
        [calls, alive] if calls.contains(" parallel bash ") && alive.starts_with("GET ") => {
            let (number, command) = parallel_call(calls)?;
            many_at_once(server, number, &command, milliseconds(alive)?).map(Some)
        }
        [_, "kill -9 server", gone] if gone.starts_with("after 1 s no ") => {
            killed_amid_a_call(server, &surroundings.left_behind()).map(|answer| Some(vec![answer]))
        }
        _ => Ok(None),
    }
}

/// Many commands at once: each runs or is refused for being too many, and meanwhile the server answers.
fn many_at_once(
    server: &ToolServer,
    number: usize,
    command: &str,
    within: Duration,
) -> Result<Vec<Answer>, String> {
    let call = || server.send(Request::post_json("/tools/bash", &json!({"cmd": command})));
    let (answers, took) = std::thread::scope(|scope| {
        let running: Vec<_> = (0..number).map(|_| scope.spawn(call)).collect();
        let took = median_of_livez(server);
        let answers: Vec<Answer> =
            running.into_iter().map(|call| call.join().expect("a call does not panic")).collect();
        (answers, took)
    });
    if took? > within {
        return Err(format!("/livez answered after more than {within:?}"));
    }
    let is_too_many = |answer: &Answer| {
        answer.envelope().meta.error.is_some_and(|error| error.code == ErrorCode::Overloaded)
    };
    let ran: Vec<Answer> = answers.into_iter().filter(|answer| !is_too_many(answer)).collect();
    if ran.is_empty() { Err("none ran".to_owned()) } else { Ok(ran) }
}

/// The median says how the server answers; a single answer says what else the machine does.
fn median_of_livez(server: &ToolServer) -> Result<Duration, String> {
    let mut took = Vec::with_capacity(QUESTIONS);
    for _ in 0..QUESTIONS {
        let since = Instant::now();
        let answer = server.send(Request::get("/livez"));
        took.push(since.elapsed());
        if answer.status != 200 {
            return Err(format!("/livez answers {}", answer.status));
        }
    }
    took.sort();
    Ok(took[QUESTIONS / 2])
}

/// The server is killed while a command runs: nothing of the command is left, and another server works.
fn killed_amid_a_call(server: &mut ToolServer, command: &str) -> Result<Answer, String> {
    let body = json!({"cmd": command, "timeout_seconds": 60});
    let request =
        Request::post_json("/tools/bash", &body).header("Authorization", &format!("Bearer {TOKEN}"));
    let address = server.address();
    std::thread::scope(|scope| {
        // Its server is killed, so that it gets no answer.
        scope.spawn(move || drop(request.try_send(address)));
        wait::until("the command runs", || (!leftovers::processes_with(command).is_empty()).then_some(()));
        signal(server.program().pid(), Signal::KILL);
        none_left(command)
    })?;
    server.crash(|_| ());
    Ok(server.send(Request::post_json("/tools/bash", &json!({"cmd": "true"}))))
}

/// `64 parallel bash {"command":"sleep 2"}`
fn parallel_call(step: &str) -> Result<(usize, String), String> {
    let wrong = || format!("this step is no parallel call: {step}");
    let (number, call) = step.split_once(" parallel bash ").ok_or_else(wrong)?;
    let call: Value = serde_json::from_str(call).map_err(|_| wrong())?;
    let command = call["command"].as_str().or_else(|| call["cmd"].as_str()).ok_or_else(wrong)?;
    Ok((number.parse().map_err(|_| wrong())?, command.to_owned()))
}

/// `GET /healthz within 500 ms`
fn milliseconds(step: &str) -> Result<Duration, String> {
    let number = step.split(' ').find_map(|word| word.parse().ok());
    number.map(Duration::from_millis).ok_or_else(|| format!("no time in {step:?}"))
}
