//! What the properties are made of: random texts, random steps of two sessions, and a reader of diffs.

pub mod patch;
pub mod sessions;
pub mod text;
