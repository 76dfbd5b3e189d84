//! End-to-end tests of the real programs. One binary, so that the harness is linked once.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

// Messages, from a chat to the reply.
mod albums;
mod ask_user;
mod cancel;
mod channel_tool_rules;
mod channel_tools;
mod columns;
mod contacts;
mod dead_model;
mod floods;
mod formatted;
mod group_context;
mod incoming;
mod languages;
mod local;
mod outbox;
mod progress;
mod question;
mod requeue;
mod sender;
mod telegram;
mod telegram_approvals;
mod telegram_commands;
mod telegram_people;
mod telegram_topics;
mod telegram_voice;
mod terminal;
mod webhook;

// The worker with real tools and a fake model.
mod by_hand;
mod clumsy_model;
mod elsewhere;
mod images;
mod limits;
mod loop_and_tools;
mod move_database;
mod nodes;
mod page;
mod persons;
mod plans;
mod postgres;
mod postgres_faults;
mod providers;
mod reasoning;
mod small_model;

mod port_tokens;
mod tls;
mod todo;
mod tokens;
mod web;
mod window;

// The records, and the commands that show them.
mod audit;
mod journal;
mod journal_anchor;
mod journal_over_http;
mod journal_rotation;
mod tasks;
mod traces;
mod tree;
mod upkeep;
mod visible;

// The tool server over HTTP.
mod aliases;
mod answers;
mod background;
mod commands;
mod file_errors;
mod files;
mod given;
mod http_errors;
mod idempotency;
mod kept_state;
mod links;
mod malformed;
mod mcp;
mod metrics;
mod named_tokens;
mod one_gate;
mod openapi_valid;
mod quotas;
mod run_alone;
mod schedules;
mod schemas;
mod swagger;
mod tty;
mod undo;
mod undo_tasks;

// Attacks.
mod approvals;
mod corpus;
mod git;
mod guided_setup;
mod hidden;
mod hidden_removal;
mod layers;
mod load;
mod policy;
mod policy_reach;
mod powers;
mod waiting;
mod words;
mod workspaces;
mod yes;
mod yielding;

// Crashes and full disks.
mod bugfix;
mod crash;
mod database_faults;
mod family;
mod full_disk;
mod gathering;
mod health;
mod interrupted;
mod kill;
mod killed_changes;
mod killed_upkeep;
mod lost_logs;
mod misbehaving_children;
mod reserve;
mod standstill;
mod workers;

// Start, settings and self-checks.
mod bad_settings;
mod check;
mod data_dir;
mod how_far;
mod operation;
mod start_up;
mod steering;
mod stopping;
mod streams;

// The project itself: documents, map, and the harness.
mod architecture;
mod build_context;
mod doc_examples;
mod docs;
mod fake_servers;
mod image;
mod leftovers;
mod packages;
mod readme;
mod settings_file;
mod setup;
mod shipped_skills;
mod trust;

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::Output;

use harness::fake_telegram::Sent;
use harness::{Answer, FakeModel, FakeTelegram, ModelReply, Request, System, TestDir, wait};
use serde::de::DeserializeOwned;

/// A policy that asks a person about each call of `write`.
const ASKS_ABOUT_WRITE: &str = "[[rule]]\ntools = [\"write\"]\ndecision = \"ask\"\nreason = \"it writes\"\n";

/// A fake Telegram, and a system that answers in chat 4711.
fn with_telegram() -> (FakeTelegram, System) {
    let telegram = FakeTelegram::start();
    let system = System::builder().telegram(&telegram, "4711").start();
    (telegram, system)
}

/// A model that gives these replies in turn, and a system that uses it.
fn with_model(replies: Vec<ModelReply>) -> (FakeModel, System) {
    let model = FakeModel::answering(replies);
    let system = System::builder().model(&model).start();
    (model, system)
}

/// The end of a task's ID, by which tables show it.
fn short(task: &str) -> &str {
    &task[task.len() - 8..]
}

fn assert_says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
}

/// What a program has printed, on both of its streams.
fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

/// The first wanted message of the bot, once it is sent.
fn until_sent(telegram: &FakeTelegram, what: &str, is_wanted: impl Fn(&Sent) -> bool) -> Sent {
    wait::until(what, || telegram.sent().into_iter().find(&is_wanted))
}

/// Calls a tool at the control port, as a person does for a session.
fn call_for(system: &System, session: &str, tool: &str, arguments: &serde_json::Value) -> Answer {
    system.control(Request::call(tool, arguments).of_session(session))
}

/// The records of a journal that has one file.
fn records<R: DeserializeOwned>(dir: &TestDir) -> Vec<R> {
    let journal = std::fs::read_to_string(dir.journal()).expect("a server that was called has a journal");
    journal.lines().map(|line| serde_json::from_str(line).expect("each line is a record")).collect()
}

/// The lines of an answer, as they come.
fn lines_of(request: &Request, address: SocketAddr) -> impl Iterator<Item = String> {
    BufReader::new(request.send_without_the_last(0, address)).lines().map_while(Result::ok)
}
