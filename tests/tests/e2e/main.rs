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

use harness::{FakeModel, FakeTelegram, ModelReply, System};

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
