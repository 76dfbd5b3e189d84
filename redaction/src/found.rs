//! A match of a rule, with the text around it.

/// A match, with its surroundings.
pub(super) struct Found<'a> {
    /// The text before the name or the pattern's start, about 160 bytes at most.
    pub(super) before: &'a str,
    /// The name that the value is assigned to; empty without one.
    pub(super) name: &'a str,
    /// The text between the name, or the pattern's start, and the value.
    pub(super) between: &'a str,
    /// The part that is replaced if it is a secret.
    pub(super) value: &'a str,
    /// The text after the value, about 80 bytes at most.
    pub(super) after: &'a str,
}
