//! Where a setting stands in `autonous.toml`: the section and the key of each variable, and back.
//!
//! A key is the variable's name without `AUTONOUS_` and without the section's own part, in lower case:
//! `AUTONOUS_TOOL_LISTEN` is `listen` in `[tools]`, `AUTONOUS_WORKERS` is `workers` in `[limits]`.

use std::fmt;

use crate::row::{Form, Row};
use crate::source::FILE_ENDING;
use crate::table::{self, ALL, PREFIX};

/// The sections in the order of a file, each with what the names in it begin with. A part that ends in `_`
/// is the section's own and no part of the key.
const SECTIONS: [(&str, &[&str], &[&str]); 8] = [
    (
        "data",
        &["DATA_"],
        &["CONFIG_DIR", "DATABASE_URL", "NODE", "RETENTION", "SHARED_WORKSPACES", "UNDO_MAX_MB"],
    ),
    ("control", &["CONTROL_"], &["PAGE", "METRICS_PUBLIC"]),
    ("tools", &["TOOL_"], &["WORKSPACES", "SKILLS_DIR"]),
    ("models", &["MODEL_"], &[]),
    ("telegram", &["TELEGRAM_", "TG_"], &["APPROVERS", "LANGUAGE", "TRANSCRIBE"]),
    ("limits", &[], &[]),
    ("web", &[], &["FETCH_", "SEARCH_"]),
    ("logs", &["LOG_"], &["RUST_LOG", "OTEL_", "TRACE_"]),
];

/// The section of all that belongs to no other one.
const OTHERS: &str = "limits";

/// The section and the key of a setting.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// One of [`sections`].
    pub section: &'static str,
    /// Unique within its section.
    pub key: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}", self.section, self.key)
    }
}

impl Place {
    /// The place of a variable, also of one that names the file of a secret.
    pub fn of(variable: &str) -> Self {
        let name = variable.strip_prefix(PREFIX).unwrap_or(variable);
        let place = |section, key: &str| Self { section, key: key.to_ascii_lowercase() };
        for (section, own, whole) in SECTIONS {
            if let Some(key) = own.iter().find_map(|part| name.strip_prefix(part)) {
                return place(section, key);
            }
            if whole.iter().any(|part| name.starts_with(part)) {
                return place(section, name);
            }
        }
        place(OTHERS, name)
    }

    /// The same place for the file that holds a secret.
    pub(crate) fn of_secret_file(&self) -> Self {
        Self { key: self.key.clone() + &FILE_ENDING.to_ascii_lowercase(), ..*self }
    }
}

/// What is wrong with the value of a variable, or of one that names the file of a secret, as a file has it.
pub(crate) fn wrong_value(variable: &str, value: &str, expected: &str) -> String {
    let form = table::row(variable).map_or(Form::Secret, |row| row.form());
    format!("`{}` = {}: expected {expected}", Place::of(variable).key, form.literal(value))
}

/// The names of all sections, in the order of a file.
pub fn sections() -> impl Iterator<Item = &'static str> {
    SECTIONS.iter().map(|(section, _, _)| *section)
}

/// What a key in a file means.
#[derive(Clone, Copy)]
pub(crate) enum Meaning {
    /// The value of a setting.
    Value(&'static dyn Row),
    /// The path of the file with a secret.
    SecretFile(&'static dyn Row),
}

/// What the key `key` of the section `section` sets.
pub(crate) fn meaning(section: &str, key: &str) -> Option<Meaning> {
    let is_here = |place: &Place| place.section == section && place.key == key;
    ALL.iter().find_map(|row| {
        let place = Place::of(row.name());
        match row.is_secret() {
            _ if is_here(&place) => Some(Meaning::Value(*row)),
            true if is_here(&place.of_secret_file()) => Some(Meaning::SecretFile(*row)),
            true | false => None,
        }
    })
}

/// The place that was probably meant by a key that is in no section, or not in this one.
pub(crate) fn nearest(section: &str, key: &str) -> Place {
    let asked = key.to_ascii_lowercase();
    let as_variable = Place::of(&key.to_ascii_uppercase());
    let all = ALL.iter().map(|row| {
        let place = Place::of(row.name());
        // A secret stands in a file of its own.
        if row.is_secret() { place.of_secret_file() } else { place }
    });
    let distance = |place: &Place| {
        let elsewhere = usize::from(place.section != section);
        (*place != as_variable, strsim::osa_distance(&place.key, &asked) + elsewhere, elsewhere)
    };
    all.min_by_key(distance).unwrap_or(as_variable)
}

/// The section that was probably meant.
pub(crate) fn nearest_section(name: &str) -> &'static str {
    let asked = name.to_ascii_lowercase();
    sections().min_by_key(|section| strsim::osa_distance(section, &asked)).unwrap_or(OTHERS)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_setting_has_a_place_of_its_own_and_the_place_leads_back() {
        let mut seen = BTreeSet::new();
        for row in ALL {
            let place = Place::of(row.name());
            assert!(!place.key.is_empty() && sections().any(|section| section == place.section), "{place}");
            assert!(seen.insert(place.clone()), "{place} stands for two settings");
            let Some(Meaning::Value(back)) = meaning(place.section, &place.key) else { panic!("{place}") };
            assert_eq!(back.name(), row.name());
            if row.is_secret() {
                assert!(seen.insert(place.of_secret_file()), "{place} collides with the file of a secret");
            }
        }
    }

    #[test]
    fn a_key_is_the_name_without_what_the_section_says() {
        for (variable, place) in [
            ("AUTONOUS_DATA_DIR", "[data] dir"),
            ("AUTONOUS_CONFIG_DIR", "[data] config_dir"),
            ("AUTONOUS_CONTROL_LISTEN", "[control] listen"),
            ("AUTONOUS_TOOL_ALLOWED_ROOTS", "[tools] allowed_roots"),
            ("AUTONOUS_MODEL_NAME", "[models] name"),
            ("AUTONOUS_TELEGRAM_TOKEN_FILE", "[telegram] token_file"),
            ("AUTONOUS_TG_PENDING_MAX_MESSAGES", "[telegram] pending_max_messages"),
            ("AUTONOUS_WORKERS", "[limits] workers"),
            ("AUTONOUS_FETCH_ALLOWED_HOSTS", "[web] fetch_allowed_hosts"),
            ("AUTONOUS_LOG_FORMAT", "[logs] format"),
            ("RUST_LOG", "[logs] rust_log"),
        ] {
            assert_eq!(Place::of(variable).to_string(), place);
        }
    }

    #[test]
    fn a_misspelt_key_leads_to_the_one_that_was_meant() {
        for (section, key, meant) in [
            ("limits", "worker", "[limits] workers"),
            ("tools", "workers", "[limits] workers"),
            ("telegram", "AUTONOUS_WORKERS", "[limits] workers"),
            ("telegram", "tokenfile", "[telegram] token_file"),
            ("models", "base-url", "[models] base_url"),
            ("", "TOOL_LISTEN", "[tools] listen"),
        ] {
            assert_eq!(nearest(section, key).to_string(), meant, "{section} {key}");
        }
        assert_eq!(nearest_section("telegramm"), "telegram");
        assert_eq!(nearest_section("tool"), "tools");
    }
}
