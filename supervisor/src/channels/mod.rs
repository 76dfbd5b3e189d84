//! The channels, one folder each, and what they share: the list in `run.rs` starts them.

#[cfg(test)]
mod fake;
pub mod inbound;
pub mod local;
pub mod sender;
pub mod telegram;
