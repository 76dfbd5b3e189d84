//! The worker: asks a model what to do next, and the tool server to do it.
//!
//! Its one power is the model key. It has no files, starts no child processes, and knows neither the
//! database nor Telegram. A task comes in with everything it needs, events and a result go out, and the
//! worker keeps nothing of a task for the next one, so it can be killed at any instant.
//!
//! The journey of a task: [`serve`] reads it from a line, [`agent_loop`] takes turns within the [`budget`],
//! each of which asks the model through [`model_request`] and runs the calls of the reply through
//! [`tool_calls`], results are marked as [`untrusted`], [`compaction`] shortens a [`conversation`] that
//! outgrows the window, and [`partial_answer`] words the reply when a limit or a person ended the task early.

mod additions;
mod agent;
mod agent_loop;
mod attached_images;
mod breaker;
mod budget;
pub mod check;
mod compaction;
mod compaction_note;
pub mod config;
mod conversation;
mod event_sink;
mod http;
pub mod model;
mod model_request;
mod model_size;
pub mod once;
mod parked_turn;
mod partial_answer;
mod past;
mod picture;
mod plan_calls;
mod plans;
mod prompt;
mod repetition;
mod retry;
pub mod serve;
mod small_result;
mod small_tools;
mod stop_reason;
mod task_progress;
mod tool_calls;
mod tool_client;
mod transcript;
pub mod untrusted;
mod wall_clock;
pub mod window;
mod words;
