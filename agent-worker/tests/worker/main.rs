//! The real worker against a played tool server and a played model, over their real protocols.

#![expect(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

mod anthropic;
mod by_hand;
mod context;
mod failures;
mod json_protocol;
mod limits;
mod line_protocol;
mod model_server;
mod process;
mod second_model;
mod several_calls;
mod start;
mod streams;
mod tool_server;
mod turns;
