//! The worker: asks a model what to do next, and the tool server to do it.
//!
//! Its one power is the model key. It has no files, starts no child processes, and knows neither the
//! database nor Telegram: a task comes in with everything it needs, events and a result go out, and
//! nothing of a task is kept for the next one, so the worker can be killed at any instant.
//!
//! The journey of a task: [`serve`] takes it from a line, [`agent`] runs its turns within the
//! [`budget`], each [`turn`] asks a [`model`] and runs the calls of its reply through the [`tools`], what
//! came from [`outside`] is marked, a [`conversation`] that outgrows the window is fitted by [`context`],
//! and [`answer`] words the end when a limit or a person ended it early.

pub mod agent;
pub mod answer;
mod ask;
pub mod breaker;
pub mod budget;
mod calls;
mod catalogue;
pub mod check;
pub mod config;
pub mod context;
pub mod conversation;
mod fitting;
pub mod http;
pub mod lines;
pub mod model;
pub mod once;
pub mod outside;
mod past;
pub mod progress;
pub mod prompt;
mod recap;
pub mod repetition;
pub mod retry;
pub mod serve;
mod stop;
mod summary;
pub mod tools;
pub mod trail;
pub mod turn;
