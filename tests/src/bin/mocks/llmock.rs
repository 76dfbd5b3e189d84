//! The server that is told what to do with the next requests, and grades its client at the end.

use harness::Request;
use serde_json::{Value, json};

use crate::foreign::Foreign;
use crate::trial::{Protocol, Question, Report, Trial};

/// What the server does with the next requests, and the question that meets it.
struct Case {
    behaviors: Value,
    question: Question,
}

/// All cases over one protocol, and the server's verdict.
pub(crate) fn run(program: &str, protocol: Protocol) -> Report {
    let server = Foreign::start(program, |_, port| vec!["serve".into(), "--port".into(), port.to_string()]);
    let path = match protocol {
        Protocol::Chat => "/v1",
        Protocol::Messages => "/anthropic/v1",
    };
    let mut trial = Trial::start("llmock", protocol, &format!("http://{}{path}", server.address));
    for case in cases() {
        if case.behaviors != json!([]) {
            let scenario = json!({"behaviors": case.behaviors});
            let queued = Request::post_json("/_llmock/scenario", &scenario).send(server.address);
            assert_eq!(queued.status, 201, "{}", queued.text());
        }
        trial.ask(&case.question);
    }
    let verdict = Request::get("/_llmock/verdict").send(server.address).json();
    let findings = verdict["findings"].as_array().map_or(0, Vec::len);
    let faults = &verdict["faults_injected"];
    let line =
        format!("its verdict after {faults} faults: passed {}, {findings} findings", verdict["passed"]);
    trial.note(verdict["passed"] == true && findings == 0, line);
    if findings > 0 {
        let text = Request::get("/_llmock/verdict?format=text").send(server.address).text();
        trial.note(false, text);
    }
    trial.report()
}

fn case(shows: &'static str, behaviors: Value, text: &'static str, reply: &'static str, calls: i64) -> Case {
    Case { behaviors, question: Question { shows, text, reply, calls } }
}

/// A reply of many words, so that there is a middle to break off in; both attempts get it.
fn said_twice(fault: &Value) -> Value {
    let reply = json!({"type": "reply", "text": "these are the many words of one whole reply", "times": 2});
    json!([fault, reply])
}

fn cases() -> Vec<Case> {
    let reply = |text: &str| json!({"type": "reply", "text": text});
    let ls = |path: &str| json!({"name": "ls", "arguments": {"path": path}});
    let two = json!([{"type": "reply", "tool_calls": [ls("."), ls("nowhere")]}, reply("both are done")]);
    let fault = |kind: &str| {
        said_twice(&json!({"type": "stream_fault", "kind": kind, "after_chunks": 4, "stall_seconds": 100}))
    };
    let fail = |status: u16| json!([{"type": "fail", "status": status, "times": 2}, reply("it is back")]);
    let limited =
        json!([{"type": "fail", "status": 429, "retry_after": 1.5, "times": 2}, reply("now I may")]);
    let slow = json!([{"type": "slow_first_token", "seconds": 3}, reply("I was thinking")]);
    let too_long = json!([{"type": "fail", "status": 400, "code": "context_length_exceeded"}]);
    let broken = |kind: &str| json!([{"type": "tool_fault", "kind": kind}]);
    vec![
        case("a message", json!([reply("hello")]), "hello", "hello", 0),
        case("a tool, as the server likes", json!([]), "list the files with ls", "", 1),
        case("several calls at once", two, "look twice", "both are done", 2),
        case("a late first word", slow, "think", "I was thinking", 0),
        case("429 with Retry-After", limited, "go on", "now I may", 0),
        case("500", fail(500), "go on", "it is back", 0),
        case("529", fail(529), "go on", "it is back", 0),
        case("a connection dropped in the middle", fault("disconnect"), "speak", "one whole reply", 0),
        case("a stream cut short in silence", fault("truncate"), "speak", "one whole reply", 0),
        case("a chunk that is no JSON", fault("malformed"), "speak", "one whole reply", 0),
        case("a stream that stalls", fault("stall"), "speak", "one whole reply", 0),
        case("arguments that are no JSON", broken("malformed_arguments"), "list the files with ls", "", 1),
        case("a tool that does not exist", broken("unknown_tool"), "list the files with ls", "", 1),
        case("a refused key", json!([{"type": "fail", "status": 401}]), "let me in", "refuses the key", 0),
        case("a conversation that is too long", too_long, "read on", "too long for the model", 0),
    ]
}
