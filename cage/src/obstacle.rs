//! Entries of the roots that keep every command from running.

/// Why no command can run at the moment, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    /// What was found, without a full stop.
    pub reason: String,
    /// What would help, as a sentence.
    pub remedy: &'static str,
}
