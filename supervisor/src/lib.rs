//! The supervisor: it has the channels, SQLite and the other two processes, and nothing else.
//!
//! A message travels through these modules in this order: a channel ([`channels`]) stores
//! it in the [`store`]; the [`dispatch`] loop claims it and gives it to the worker that [`children`]
//! keeps alive; the [`journal`] brings the tool calls into the events; the reply leaves by the outbox.
//! The supervisor never decides for the model and never runs a tool.

pub mod backup;
pub mod cancel_signal;
pub mod channel;
pub mod channels;
pub mod check;
pub mod children;
pub mod cli;
pub mod config;
pub mod control;
pub mod data_dir;
pub mod dispatch;
pub mod error_chain;
pub mod journal;
pub mod ports;
pub mod queries;
pub mod retention;
pub mod run;
pub mod store;
pub mod terminal;
pub mod tokens;
pub mod tree;
