//! The supervisor as a whole, with scripts in place of its two children and a played Telegram: what it
//! does when they misbehave in ways that the real ones never would.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod children;
mod control;
mod house;
mod played_telegram;
mod telegram;
