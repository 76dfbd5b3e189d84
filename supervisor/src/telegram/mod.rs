//! The Telegram channel: a loop that takes updates in, and one that sends replies out.
//!
//! Both sides go through the database. An update is confirmed to Telegram only after it is stored, and a
//! reply is marked as sent only after Telegram has taken it. Nothing here runs a task.

mod batch;
pub mod bot;
pub mod classify;
pub mod methods;
pub mod receive;
pub mod send;
pub mod split;
pub mod store_outage;
