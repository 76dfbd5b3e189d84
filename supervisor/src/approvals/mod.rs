//! Approvals: the calls that wait for a person, who is asked about them, and what they decide.
//!
//! The tool server keeps them and decides what a decision covers; the supervisor has the approver's token. It
//! shows what waits to those who may decide, and passes on what they say.

pub(crate) mod client;
pub(crate) mod follow;
pub mod words;

#[cfg(test)]
mod tests;
