//! The channels, one folder each, and what they share; `all_channels.rs` lists them.

#[cfg(test)]
mod conformance;
mod growing;
pub mod local;
pub(crate) mod pace;
pub(crate) mod page;
pub(crate) mod progress;
mod progress_text;
pub(crate) mod reactions;
mod room;
pub(crate) mod sender;
