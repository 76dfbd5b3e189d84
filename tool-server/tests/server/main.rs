//! The tools and the server's own parts, in the process of the test.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod differential;
mod properties_support;
mod support;

// One tool each.
mod changes;
mod find;
mod grep;
mod ls;
mod read;

// What holds for several.
mod calls;
mod catalogue;
mod check;
mod command_hints;
mod guards;
mod journal;
mod next_steps;
mod properties;
mod search_differential;
mod search_race;
