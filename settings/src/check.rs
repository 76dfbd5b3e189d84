//! What each program checks before it reads a setting: all names are known, and its values are valid.
//!
//! A misspelt setting would silently not hold. The variables of the other programs pass, because several
//! programs are often started with one environment.

use process::secrets::SECRETS_FD;

use crate::error::SettingError;
use crate::row::Program;
use crate::source::{FILE_ENDING, Source};
use crate::table::{ALL, PREFIX};

/// Refuses a variable that begins like ours and has no row, and an invalid value of a setting that this
/// program reads.
///
/// # Errors
/// With the first of them.
pub fn check(source: &Source, program: Program) -> Result<(), SettingError> {
    refuse_unknown(source)?;
    ALL.iter().filter(|row| row.is_read_by(program)).try_for_each(|row| row.check(source))
}

/// The error names what was probably meant.
fn refuse_unknown(source: &Source) -> Result<(), SettingError> {
    let is_unknown = |name: &&String| name.starts_with(PREFIX) && !is_known(name);
    match source.names().filter(is_unknown).min() {
        None => Ok(()),
        Some(name) => Err(SettingError::Unknown { name: name.clone(), meant: nearest(name) }),
    }
}

fn is_known(name: &str) -> bool {
    let secret = name.strip_suffix(FILE_ENDING);
    name == SECRETS_FD
        || ALL.iter().any(|row| row.name() == name || (row.is_secret() && secret == Some(row.name())))
}

/// The variable that was probably meant.
fn nearest(name: &str) -> &'static str {
    let nearer = |known: &&str| (!known.starts_with(name), strsim::osa_distance(known, name));
    ALL.iter().map(|row| row.name()).min_by_key(nearer).unwrap_or(PREFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_is_unknown_and_the_one_that_was_meant_is_near() {
        for (name, meant) in [
            ("AUTONOUS_MODEL_NAM", "AUTONOUS_MODEL_NAME"),
            ("AUTONOUS_TELEGRAM_TOKEN_FILES", "AUTONOUS_TELEGRAM_TOKEN"),
            ("AUTONOUS_TELEGRAM_ALLOWED_CHAT", "AUTONOUS_TELEGRAM_ALLOWED_CHATS"),
            ("AUTONOUS_TOOL_TIMEOUT", "AUTONOUS_TOOL_TIMEOUT_SECONDS"),
        ] {
            assert!(!is_known(name), "{name}");
            assert_eq!(nearest(name), meant, "{name}");
        }
        for name in ["AUTONOUS_TELEGRAM_TOKEN_FILE", "AUTONOUS_TOOL_TOKEN", "AUTONOUS_SECRETS_FD"] {
            assert!(is_known(name), "{name}");
        }
        assert!(!is_known("AUTONOUS_MODEL_NAME_FILE"), "it is no secret");
    }

    #[test]
    fn an_unknown_variable_is_refused_by_its_name_alone() {
        let source = Source::from_pairs([("AUTONOUS_TELEGRAM_TOKN", "1:hunter2"), ("OTHER_X", "1")]);
        assert_eq!(
            refuse_unknown(&source).unwrap_err().to_string(),
            "AUTONOUS_TELEGRAM_TOKN is not a variable of Autonous. Did you mean AUTONOUS_TELEGRAM_TOKEN? \
             docs/reference.md lists all of them"
        );
        let known = [("AUTONOUS_TELEGRAM_TOKEN_FILE", "/x"), ("AUTONOUSX", "1"), ("HOME", "/")];
        assert_eq!(refuse_unknown(&Source::from_pairs(known)), Ok(()));
    }
}
