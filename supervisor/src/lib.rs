//! The supervisor: it has the channels, SQLite and the other two processes, and nothing else.
//!
//! A message travels through these modules in this order: a channel (`channels`) stores
//! it in the `store`; the `dispatch` loop claims it and gives it to the worker that `children`
//! keeps alive; the `journal` brings the tool calls into the events; the reply leaves by the outbox.
//! The supervisor never decides for the model and never runs a tool.

mod all_channels;
mod approvals;
mod backup;
mod cancel_signal;
mod channels;
mod check;
mod children;
mod cli;
mod clock_jump;
mod commands;
mod config;
mod contacts;
mod control;
mod current_settings;
mod data_dir;
mod dispatch;
mod downloads;
mod effects;
mod elsewhere;
mod event_stream;
mod far;
mod file_copy;
mod file_requests;
mod given_tokens;
mod health;
mod housekeeping;
mod journal;
mod long_tasks;
mod metrics;
mod monitor;
mod move_database;
mod nodes;
mod overheard;
mod page;
mod ports;
mod readers;
mod reception;
mod reload;
mod retention;
mod run;
mod schedules;
mod setup;
mod shipped_skills;
mod startup_resources;
mod strangers;
mod terminal;
mod tokens;
mod tool_files;
mod traces;
mod transcribe;
mod tree;
mod tree_copy;
mod undo;
mod whole_backup;
mod words;

pub use cli::program::main;
