//! The supervisor: it has the channels, SQLite and the other two processes, and nothing else.
//!
//! A message travels through these modules in this order: a channel (`channels`) stores
//! it in the `store`; the `dispatch` loop claims it and gives it to the worker that `children`
//! keeps alive; the `journal` brings the tool calls into the events; the reply leaves by the outbox.
//! The supervisor never decides for the model and never runs a tool.

#![expect(
    missing_docs,
    reason = "only the command line uses it, and comments are where a name is not enough"
)]

pub mod age;
pub mod all_channels;
pub mod approvals;
pub mod backup;
mod cancel_signal;
pub mod channels;
pub mod children;
mod clock_jump;
mod commands;
pub mod config;
mod contacts;
pub mod control;
mod current_settings;
pub mod data_dir;
mod dispatch;
mod downloads;
mod effects;
mod elsewhere;
mod event_stream;
pub mod far;
mod file_copy;
mod file_requests;
mod given_tokens;
pub mod health;
mod housekeeping;
pub mod journal;
mod long_tasks;
mod metrics;
mod monitor;
pub mod move_database;
mod nodes;
mod overheard;
pub mod page;
mod ports;
mod readers;
mod reception;
pub mod reload;
pub mod retention;
pub mod run;
mod schedules;
mod shipped_skills;
pub mod startup_resources;
mod strangers;
#[cfg(test)]
mod test_channel;
pub mod tokens;
mod tool_client;
mod tool_files;
mod traces;
mod transcribe;
pub mod tree;
mod tree_copy;
pub mod undo;
pub mod whole_backup;
mod words;
