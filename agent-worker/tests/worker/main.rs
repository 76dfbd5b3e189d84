//! The real worker against a fake tool server and a fake model, over their real protocols.

#![expect(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

mod by_hand;
mod clumsy;
mod context;
mod failures;
mod json_protocol;
mod limits;
mod line_protocol;
mod plans;
mod settings;
mod several_calls;
mod start;
mod turns;
mod wire;

use agent_worker::untrusted::unmarked;
use harness::fake_model::Usage;
use harness::worker::{TaskRun, task};
use harness::{FakeModel, FakeToolServer, ModelReply, Worker};
use serde_json::json;

/// What each reply of a model costs here.
const USAGE: Usage = Usage { input: 100, cached: 60, output: 20 };

/// A model that gives these replies in turn, and the last one for ever.
fn model(replies: impl IntoIterator<Item = ModelReply>) -> FakeModel {
    FakeModel::answering_for(USAGE, replies.into_iter().collect())
}

fn says(text: &str) -> ModelReply {
    ModelReply::Text(text.to_owned())
}

fn calls(calls: &[(&str, &str)]) -> ModelReply {
    ModelReply::TextAndCalls("let me look".to_owned(), owned(calls))
}

fn owned(calls: &[(&str, &str)]) -> Vec<(String, String)> {
    calls.iter().map(|(name, arguments)| ((*name).to_owned(), (*arguments).to_owned())).collect()
}

fn refuses(status: u16, message: &str) -> ModelReply {
    ModelReply::Refused(status, json!({"message": message}))
}

fn with<'a>(tools: &FakeToolServer, more: &[(&'a str, &str)]) -> Vec<(&'a str, String)> {
    let more = more.iter().map(|(name, value)| (*name, (*value).to_owned()));
    tools.variables().into_iter().chain(more).collect()
}

fn worker(model: &FakeModel, tools: &FakeToolServer, more: &[(&str, &str)]) -> Worker {
    Worker::start(model.variables().into_iter().chain(with(tools, more)))
}

fn started(
    replies: impl IntoIterator<Item = ModelReply>,
    tools: &FakeToolServer,
    more: &[(&str, &str)],
) -> (FakeModel, Worker) {
    let model = model(replies);
    let worker = worker(&model, tools, more);
    (model, worker)
}

fn run(replies: Vec<ModelReply>, tools: &FakeToolServer, more: &[(&str, &str)]) -> (TaskRun, FakeModel) {
    let (model, mut worker) = started(replies, tools, more);
    (worker.run(&task("what is here?")), model)
}

/// The results of tools in the last request, in order, without the mark around what came from outside.
fn tool_results(model: &FakeModel) -> Vec<String> {
    let request = model.requests().pop().unwrap();
    let messages = request["messages"].as_array().unwrap().clone();
    let results = messages.into_iter().filter(|message| message["role"] == "tool");
    results.map(|result| unmarked(result["content"].as_str().unwrap())).collect()
}
