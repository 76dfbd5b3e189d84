//! The test harness of all crates: runs the real binaries, each test in its own directory.
//!
//! Only Telegram, the model and (for the worker alone) the tool server are fakes, which speak the real
//! protocols. Tests wait for a state, with a deadline, never for a fixed time. Dropping the harness fails the
//! test if it leaves something behind: a process, a running task, a temporary file.
//!
//! The harness blocks, so tests read from top to bottom. It uses the binaries as a user does (variables,
//! routes, files, exit codes) and links only `protocol`.

#![expect(missing_docs, reason = "only tests use the harness; comments are where a name is not enough")]

pub mod binaries;
pub mod browser;
pub mod bugfix;
mod builder;
pub mod corpus;
pub mod crash;
pub mod database;
pub mod envelope_shape;
mod facts;
pub mod fake_collector;
pub mod fake_model;
pub mod fake_proxy;
pub mod fake_telegram;
pub mod fake_tool_server;
pub mod fake_transcriber;
pub mod family;
mod free_address;
pub mod http;
mod inspect;
pub mod leftovers;
pub mod long_history;
mod mark;
pub mod postgres;
pub mod program;
pub mod project_copy;
pub mod pty;
pub mod random;
pub mod report;
mod serving;
pub mod signals;
pub mod small_disk;
pub mod swapping;
pub mod system;
pub mod test_dir;
pub mod tool_server;
pub mod wait;
pub mod wire;
pub mod worker;

pub use database::Database;
pub use fake_model::{FakeModel, ModelReply};
pub use fake_proxy::FakeProxy;
pub use fake_telegram::{FakeTelegram, Fault};
pub use fake_tool_server::{FakeToolServer, ToolReply};
pub use fake_transcriber::FakeTranscriber;
pub use free_address::free_address;
pub use http::{Answer, Request};
pub use inspect::{environment, open_files};
pub use postgres::Postgres;
pub use program::Program;
pub use random::Random;
pub use system::{System, SystemBuilder};
pub use test_dir::TestDir;
pub use tool_server::{ToolServer, ToolServerBuilder};
pub use wire::Wire;
pub use worker::Worker;
