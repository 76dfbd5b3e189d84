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

use std::fs;
use std::process::{Command, Output};

use agent_worker::untrusted::unmarked;
use harness::fake_model::Usage;
use harness::worker::{TaskRun, task};
use harness::{FakeModel, FakeToolServer, ModelReply, TestDir, Worker};
use serde_json::{Value, json};

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

/// The same with tools at which the test does not look.
fn run_alone(replies: Vec<ModelReply>, more: &[(&str, &str)]) -> (TaskRun, FakeModel) {
    run(replies, &FakeToolServer::start([]), more)
}

/// A directory with this `models.toml`, and its path.
fn config_dir(models: &str) -> (TestDir, String) {
    let dir = TestDir::new();
    fs::write(dir.path().join("models.toml"), models).unwrap();
    let path = dir.path().display().to_string();
    (dir, path)
}

/// A model of `models.toml`.
fn listed(name: &str, provider: &str, server: &FakeModel, more: &str) -> String {
    let base_url = server.base_url();
    format!("[[model]]\nname = {name:?}\nprovider = {provider:?}\nbase_url = {base_url:?}\n{more}\n")
}

/// Runs a task by a worker with this `models.toml` and these variables.
fn run_with(models: &str, more: &[(&str, &str)]) -> TaskRun {
    let (tools, (_dir, config)) = (FakeToolServer::start([]), config_dir(models));
    let settings = [&[("AUTONOUS_CONFIG_DIR", config.as_str())], more].concat();
    Worker::start(with(&tools, &settings)).run(&task("hi"))
}

/// Runs a command to its end: its exit code, and what it printed to stdout and stderr.
fn output_of(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// The messages of the last request.
fn last_messages(model: &FakeModel) -> Vec<Value> {
    model.requests().pop().unwrap()["messages"].as_array().unwrap().clone()
}

/// The results of tools in the last request, in order, without the mark around what came from outside.
fn tool_results(model: &FakeModel) -> Vec<String> {
    let results = last_messages(model).into_iter().filter(|message| message["role"] == "tool");
    results.map(|result| unmarked(result["content"].as_str().unwrap())).collect()
}
