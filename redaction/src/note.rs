//! The note that stands for a secret where a person decides about a call.

/// How a note about a secret begins.
pub const HIDDEN: &str = "[hidden: ";

/// Such as ``[hidden: 12 characters, query parameter `token`]``.
pub(super) fn note(secret: &str, place: Option<String>) -> String {
    let characters = secret.chars().count();
    let plural = if characters == 1 { "" } else { "s" };
    let place = place.map(|place| format!(", {place}")).unwrap_or_default();
    format!("{HIDDEN}{characters} character{plural}{place}]")
}
