//! A question about this project, answered by real listings.

use std::path::PathBuf;

use harness::fake_model::results;
use harness::{FakeModel, ModelReply, System, project_copy};
use serde_json::{Value, json};

const QUESTION: &str = "how many Rust files are in this repository's tool-server?";

/// A model that lists page after page, counts the lines that end in `.rs`, and answers with the sum.
fn counting_model() -> FakeModel {
    FakeModel::start(|request| {
        let results = results(request);
        let cursor = results.last().map(|result| cursor_in(result));
        if cursor == Some(None) {
            let files = results.iter().flat_map(|result| result.lines()).filter(|line| line.ends_with(".rs"));
            return ModelReply::Text(format!("There are {} Rust files in tool-server.", files.count()));
        }
        let mut page = json!({"path": "tool-server", "recursive": true, "limit": 60});
        if let Some(cursor) = cursor {
            page["cursor"] = json!(cursor);
        }
        ModelReply::call("ls", &page)
    })
}

/// The cursor in a result's status line, as any model can read it.
fn cursor_in(result: &str) -> Option<&str> {
    result.lines().next()?.split_once("cursor=").map(|(_, cursor)| cursor.trim())
}

#[test]
fn the_number_of_rust_files_of_the_tool_server_comes_from_real_listings() {
    let model = counting_model();
    let system = System::builder().model(&model).start();
    let files = project_copy::copy_to(&system.workspace());
    let is_rust = |file: &&PathBuf| file.extension().is_some_and(|extension| extension == "rs");
    let right = files.iter().filter(|file| file.starts_with("tool-server")).filter(is_rust).count();
    assert!(right > 5, "the tool server has files: {right}");

    let reply = system.reply(&system.say(QUESTION));

    assert_eq!(reply, format!("There are {right} Rust files in tool-server."));
    let database = system.database();
    let calls = database.texts("select tool_name from tool_calls where status = 'done'");
    assert!(calls.len() >= 2 && calls.iter().all(|name| name == "ls"), "real calls: {calls:?}");
    let tree = system.shown(&["tree"]);
    assert_eq!(tree.matches("tool_call.started  tool_name=ls").count(), calls.len(), "{tree}");
    let first = &model.requests()[0];
    let asked = first["messages"].as_array().and_then(|messages| messages.last()).cloned();
    assert_eq!(asked.map(|message| message["content"].clone()), Some(Value::from(QUESTION)));
    assert!(first["tools"].to_string().contains("\"ls\""), "the model is offered the tool: {first}");
}
