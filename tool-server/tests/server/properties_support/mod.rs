//! What the properties are made of: random texts, random steps of two sessions, and a reader of diffs.

pub(crate) mod patch;
pub(crate) mod sessions;
pub(crate) mod text;
