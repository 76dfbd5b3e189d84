//! A command as it is listed: short, and without what redaction finds in command lines.

use redaction::Redactor;
use serde_json::json;
use toolkit::arguments::elide;

const MAX_CHARACTERS: usize = 120;

/// The first line of a command, shortened.
pub(super) fn short_form(command: &str) -> String {
    let mut clean = json!({ "cmd": command });
    Redactor::new([]).redact_command(&mut clean);
    let clean = clean["cmd"].as_str().unwrap_or_default();
    elide(clean.trim().lines().next().unwrap_or_default(), MAX_CHARACTERS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_command_is_shortened_and_has_no_secret() {
        assert_eq!(short_form("\n npm run dev\nexit\n"), "npm run dev");
        assert!(short_form(&"x".repeat(1000)).chars().count() < 200);
        let secret = short_form(concat!("GITHUB_TOKEN=ghp_", "FAKE567890abcdefghijklmnopqrstuvwxyz12 ./run"));
        assert!(secret.contains(redaction::PLACEHOLDER) && secret.ends_with("./run"), "{secret}");
    }
}
