//! Whether an assignment has a line of its own, as in a settings file.

/// What may precede a name that starts its line, besides numbers and punctuation.
const OPENERS: &[&str] = &["export", "set", "setx", "ENV", "ARG", "-x", "env:", "local", "readonly", "const"];

pub(super) fn opens_line(before: &str) -> bool {
    let line = before.rsplit(['\n', '\r']).next().unwrap_or_default();
    let line = line.rsplit("\\n").next().unwrap_or_default();
    let cut = line.len() == before.len() && line.len() > 100;
    let lead = line.trim_matches(|letter: char| letter.is_whitespace() || "+-*>#|\"'$.".contains(letter));
    let last = lead.rsplit([' ', '\t']).next().unwrap_or_default();
    let numbered = lead.bytes().all(|byte| byte.is_ascii_digit());
    !cut && (lead.is_empty() || numbered || is_location(line) || OPENERS.contains(&last) || is_dotted(line))
}

/// `src/a.env:12:` and `src/a.env-12-`, as `grep` writes before a line.
fn is_location(line: &str) -> bool {
    let mut parts = line.trim_end().trim_end_matches([':', '-']).rsplit([':', '-']);
    let number =
        parts.next().is_some_and(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
    number && line.trim_end().ends_with([':', '-'])
}

/// The path before the last part of a property name: `spring.datasource.`.
fn is_dotted(line: &str) -> bool {
    let path = line.trim_start();
    path.ends_with('.') && path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

pub(super) fn ends_line(after: &str) -> bool {
    let rest = after.trim_start_matches([' ', '\t', '"', '\'']);
    rest.is_empty()
        || rest.starts_with(['\n', '\r', '#'])
        || rest.starts_with("\\n")
        || rest.starts_with("\\r")
}
