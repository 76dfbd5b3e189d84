//! The supervisor: it has the channels, SQLite and the other two processes, and nothing else.
//!
//! A message travels through these modules in this order: a channel (`channels`) stores
//! it in the `store`; the `dispatch` loop claims it and gives it to the worker that `children`
//! keeps alive; the `journal` brings the tool calls into the events; the reply leaves by the outbox.
//! The supervisor never decides for the model and never runs a tool.

mod all_channels;
mod approvals;
mod backup;
mod bounded_body;
mod cancel_signal;
mod channel;
mod channels;
mod check;
mod children;
mod cli;
mod clock_jump;
mod commands;
mod config;
mod contacts;
mod control;
mod data_dir;
mod dispatch;
mod effects;
mod error_chain;
mod file_copy;
mod file_requests;
mod formatting;
mod health;
mod housekeeping;
mod journal;
mod long_tasks;
mod monitor;
mod ports;
mod queries;
mod reception;
mod retention;
mod run;
mod schedules;
mod shipped_skills;
mod startup_resources;
mod store;
mod terminal;
mod timing;
mod tokens;
mod tool_files;
mod transcribe;
mod tree;
mod undo;

pub use cli::program::main;

/// The parts of the queue that the benchmarks measure.
pub mod queue {
    pub use crate::channel::Channels;
    pub use crate::channel::chat::Chat;
    pub use crate::channels::telegram::NAME as TELEGRAM;
    pub use crate::store::attempt::{Ending, end};
    pub use crate::store::claim::{Claim, Claimed, claim};
    pub use crate::store::events::append as append_event;
    pub use crate::store::inbox::{IncomingMessage, enqueue};
    pub use crate::store::open::for_writing as open_database;
    pub use crate::store::{Store, StoreError};
}
