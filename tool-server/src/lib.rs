//! The tool server: tools over HTTP, each call answered with one envelope.
//!
//! It has the allowed roots and nothing else: no Telegram, no model key, no database. Calls come in over
//! [`http`], pass the runner's guards, reach the disk only through [`files::roots`], and are written to the
//! [`journal`] before they act.

mod bound_files;
pub mod call_rules;
pub mod client_data;
pub mod config;
mod cursor;
mod entry;
mod entry_type;
pub mod guard_check;
pub mod http;
pub mod journal;
mod late_records;
pub mod listen;
mod media;
pub mod metrics;
mod outgoing;
mod output_text;
pub mod own_token;
mod private_key_lines;
mod raw_files;
mod rules_reload;
pub mod search;
pub mod self_check;
pub mod server;
pub mod service_report;
mod skills;
pub mod startup_resources;
mod state_files;
pub mod supervisor_link;
mod text;
pub mod tokens;
pub mod tool_context;
pub mod tools;
pub mod transfers;
pub mod vitals;
pub mod web;
