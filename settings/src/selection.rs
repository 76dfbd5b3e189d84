//! Which rows of the table a program has, passes on or shows.

use std::collections::BTreeMap;

use crate::origin::Origin;
use crate::row::{FromSupervisor, Program, Row};
use crate::source::Source;
use crate::table::{ALL, TOOL_BASH_ALLOW_NETWORK, TOOL_BASH_NETWORK};

/// The settings that hold in a supervisor with this source, by variable: what it reads or passes on. Secrets
/// are left out.
pub fn shown(source: &Source) -> BTreeMap<String, String> {
    // The older name goes before the default of the newer one.
    let is_replaced = |row: &dyn Row| {
        row.name() == TOOL_BASH_NETWORK.name()
            && matches!(TOOL_BASH_NETWORK.given(source), Ok(None))
            && matches!(TOOL_BASH_ALLOW_NETWORK.read(source), Ok(Some(_)))
    };
    let rows = ALL
        .iter()
        .filter(|row| {
            row.is_read_by(Program::Supervisor) || row.readers().children_get == FromSupervisor::PassedOn
        })
        .filter(|row| !is_replaced(**row));
    rows.filter_map(|row| Some((row.name().to_owned(), row.shown(source)?))).collect()
}

/// Where the settings of [`shown`] come from that have no default, in words.
pub fn origins(source: &Source) -> BTreeMap<String, String> {
    let words = |name: &str| match source.origin(name) {
        Origin::Default => None,
        Origin::Variable(_) => Some("the environment".to_owned()),
        Origin::File(path, line) => Some(format!("{}, line {line}", path.display())),
        Origin::Credential => Some("a credential".to_owned()),
    };
    shown(source).into_keys().filter_map(|name| words(&name).map(|words| (name, words))).collect()
}

/// The variables that the supervisor passes on to this child, but for secrets.
pub fn passed_to(child: Program) -> impl Iterator<Item = &'static str> {
    let rows = ALL.iter().filter(move |row| row.is_passed_to(child) && !row.is_secret());
    rows.map(|row| row.name())
}

/// The variables of this program's own secrets.
pub fn secrets_of(program: Program) -> impl Iterator<Item = &'static str> {
    let rows = ALL.iter().filter(move |row| row.is_secret() && row.is_read_by(program));
    rows.map(|row| row.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_is_shown_in_its_plainest_form_and_nothing_private_is() {
        let source = Source::from_pairs([
            ("AUTONOUS_WORKERS", " 03"),
            ("AUTONOUS_TOOL_ENV", "EDITOR, KEY=hunter2"),
            ("AUTONOUS_TELEGRAM_TOKEN", "1:hunter2"),
            ("AUTONOUS_MODEL_NAME", "m"),
            ("AUTONOUS_TOOL_BASH_ALLOW_NETWORK", "true"),
            ("AUTONOUS_TOOL_JOURNAL", "/ignored"),
        ]);
        let shown = shown(&source);
        let value = |name: &str| shown.get(name).map(String::as_str);
        assert_eq!(value("AUTONOUS_WORKERS"), Some("3"));
        assert_eq!(value("AUTONOUS_TOOL_ENV"), Some("EDITOR,KEY"));
        assert_eq!(value("AUTONOUS_MODEL_NAME"), Some("m"));
        assert_eq!(value("AUTONOUS_RETENTION"), Some("30d"), "a default holds, too");
        assert_eq!(value("AUTONOUS_TOOL_BASH_NETWORK"), None, "the older name says otherwise");
        for absent in ["AUTONOUS_TELEGRAM_TOKEN", "AUTONOUS_TOOL_JOURNAL", "AUTONOUS_MODEL_SCRIPT"] {
            assert_eq!(value(absent), None, "{absent}");
        }
    }
}
