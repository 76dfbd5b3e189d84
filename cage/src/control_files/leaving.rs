//! What becomes of the control files that a command leaves.

/// What becomes of the control files that a command leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaving {
    /// They are taken back.
    TakenBack,
    /// They stay: a person or a rule has allowed it.
    Kept,
}
