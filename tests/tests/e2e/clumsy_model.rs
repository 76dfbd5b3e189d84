//! A small model that makes the usual mistakes: it completes a simple task, or the task ends with a clear
//! reply.

use harness::{FakeModel, ModelReply, System};
use serde_json::json;

use crate::{assert_says, with_model};

/// A line that only a listing of the workspace can give.
const FILE: &str = "hidden-treasure.txt";

fn say(text: &str) -> ModelReply {
    ModelReply::Text(text.to_owned())
}

fn call(tool: &str, arguments: &str) -> ModelReply {
    ModelReply::Calls(vec![(tool.to_owned(), arguments.to_owned())])
}

fn codes(system: &System) -> Vec<String> {
    let query = "select coalesce(payload ->> 'error_code', 'fine') from events \
                 where type in ('tool_call.completed', 'tool_call.failed') order by seq";
    system.database().texts(query)
}

fn workspace_with_file(system: &System) {
    std::fs::write(system.workspace().join(FILE), "gold").expect("the workspace is writable");
}

#[test]
fn a_model_that_makes_every_mistake_succeeds_with_native_calls() {
    let (model, system) = with_model(vec![
        call("list_files", r#"{"path":"."}"#),
        call("ls", "path=."),
        call("grep", r#"{"path":"."}"#),
        call("ls", r#"{"path":".","colour":"green"}"#),
        call("ls", r#"{"path":"."}"#),
        say("It is the treasure."),
    ]);
    workspace_with_file(&system);
    assert_eq!(system.reply(&system.say("which file is here?")), "It is the treasure.");
    let wrong = "INVALID_ARGUMENT";
    assert_eq!(codes(&system), ["UNKNOWN_TOOL", wrong, wrong, wrong, "fine"]);
    let requests = model.requests();
    let told = |request: usize| requests[request]["messages"].as_array().unwrap().last().unwrap().to_string();
    for (request, hint) in [(1, "ls"), (2, "JSON"), (3, "pattern"), (4, "colour"), (5, FILE)] {
        assert_says(&told(request), &[hint]);
    }
}

#[test]
fn a_model_without_function_calling_succeeds_with_sloppy_json() {
    let object = |tool: &str, arguments: serde_json::Value| {
        json!({"tool_calls": [{"name": tool, "arguments": arguments}], "final_answer": ""}).to_string()
    };
    let model = FakeModel::answering(vec![
        say(&object("list", json!({"path": "."}))),
        say(&object("ls", json!("here"))),
        say("{\"tool_calls\":[{\"name\":\"ls\",\"arguments\":{\"path\": "),
        say(&format!("Sure! I will look:\n```json\n{}\n```\nDone.", object("ls", json!({"all": true})))),
        say(&object("ls", json!(r#"{"path":"."}"#))),
        say(r#"{"tool_calls":[],"final_answer":"It is the treasure."}"#),
    ]);
    let system = System::builder().model(&model).variable("AUTONOUS_MODEL_TOOL_PROTOCOL", "json").start();
    workspace_with_file(&system);
    assert_eq!(system.reply(&system.say("which file is here?")), "It is the treasure.");
    let wrong = "INVALID_ARGUMENT";
    assert_eq!(codes(&system), ["UNKNOWN_TOOL", wrong, wrong, "fine"]);
    let last = model.requests().pop().unwrap()["messages"].to_string();
    assert!(last.contains(FILE), "{last}");
}

#[test]
fn a_model_that_only_writes_garbage_fails_with_a_clear_reply() {
    let model = FakeModel::answering(vec![say(r#"{"tool_calls":[{"name": ls, {{{ "final_answer""#)]);
    let builder = System::builder().model(&model).variable("AUTONOUS_MODEL_TOOL_PROTOCOL", "json");
    let builder = builder.variable("AUTONOUS_CONTROL_MAX_RETRIES", "1");
    let system = builder.variable("AUTONOUS_TASK_MAX_ATTEMPTS", "1").start();
    let reply = system.reply(&system.say("which file is here?"));
    assert!(reply.contains("does not follow the JSON protocol"), "{reply}");
    assert_eq!(system.database().task_states(), ["dead"]);
    assert_eq!(model.requests().len(), 4);
    assert!(model.requests()[1]["messages"].to_string().contains("exactly one JSON object"));
}
