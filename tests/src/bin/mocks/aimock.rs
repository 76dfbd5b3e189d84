//! The server that answers by what was said last: its answers lie in a file that is written here.

use std::fs;

use serde_json::{Value, json};

use crate::foreign::Foreign;
use crate::trial::{Protocol, Question, Report, Trial};

/// All cases over one protocol.
pub(crate) fn run(program: &str, protocol: Protocol) -> Report {
    let server = Foreign::start(program, |directory, port| {
        let (fixtures, config) = (directory.join("fixtures.json"), directory.join("config.json"));
        let settings = json!({"llm": {"fixtures": fixtures}});
        for (path, content) in [(&fixtures, json!({"fixtures": answers()})), (&config, settings)] {
            fs::write(path, content.to_string()).expect("a fresh directory is writable");
        }
        vec!["--config".into(), config.display().to_string(), "--port".into(), port.to_string()]
    });
    let mut trial = Trial::start("aimock", protocol, &format!("http://{}/v1", server.address));
    for question in questions() {
        trial.ask(&question);
    }
    trial.report()
}

/// The answer to the first request that says `text`, with what goes wrong with it, and the answer to the
/// second.
fn twice(text: &str, first: Value, second: &str) -> [Value; 2] {
    let mut first = first;
    first["match"] = json!({"userMessage": text, "sequenceIndex": 0});
    let again = json!({"userMessage": text, "sequenceIndex": 1});
    [first, json!({"match": again, "response": {"content": second}})]
}

fn answers() -> Vec<Value> {
    let long = json!({"content": "these are the many words of one reply that comes in a good many chunks"});
    let with = |name: &str, value: Value| json!({"response": long.clone(), name: value});
    let error = |status: u16, kind: &str| json!({"response": {"error": {"message": "as the file says", "type": kind}, "status": status}});
    let calls = |calls: Value| json!({"response": {"content": "I look", "toolCalls": calls}});
    let ls = |path: &str| json!({"name": "ls", "arguments": {"path": path}});
    let broken = json!([{"name": "ls", "arguments": "{\"path\": "}]);
    let unknown = json!([{"name": "list_everything", "arguments": {}}]);
    let slow = json!({"ttft": 100, "tps": 2});
    let mut answers = vec![
        json!({"match": {"userMessage": "greet"}, "response": {"content": "hello to you"}}),
        json!({"match": {"userMessage": "refused"},
               "response": {"error": {"message": "no", "type": "authentication_error"}, "status": 401}}),
        json!({"match": {"userMessage": "slowly"}, "response": {"content": "after a while"}, "streamingProfile": slow}),
    ];
    answers.extend(
        [
            twice("look twice", calls(json!([ls("."), ls("nowhere")])), "both are done"),
            twice("limited", error(429, "rate_limit_error"), "now I may"),
            twice("failing", error(500, "server_error"), "it is back"),
            twice("cut short", with("truncateAfterChunks", json!(3)), "whole"),
            twice("silent", with("streamingProfile", json!({"ttft": 100, "tps": 0.0155})), "whole"),
            twice("dropped", with("chaos", json!({"disconnectRate": 1})), "whole"),
            twice("garbled", with("chaos", json!({"malformedRate": 1})), "whole"),
            twice("no JSON", calls(broken), "I was told"),
            twice("unknown", calls(unknown), "I was told"),
        ]
        .into_iter()
        .flatten(),
    );
    answers
}

fn questions() -> Vec<Question> {
    let question = |shows, text, reply, calls| Question { shows, text, reply, calls };
    vec![
        question("a message", "greet", "hello to you", 0),
        question("several calls at once", "look twice", "both are done", 2),
        question("a stream that trickles", "slowly", "after a while", 0),
        question("429 with Retry-After", "limited", "now I may", 0),
        question("500", "failing", "it is back", 0),
        question("a stream cut short", "cut short", "whole", 0),
        question("a stream that stalls", "silent", "whole", 0),
        question("a connection dropped", "dropped", "whole", 0),
        question("an answer that is no JSON", "garbled", "whole", 0),
        question("arguments that are no JSON", "no JSON", "I was told", 1),
        question("a tool that does not exist", "unknown", "I was told", 1),
        question("a refused key", "refused", "refuses the key", 0),
    ]
}
