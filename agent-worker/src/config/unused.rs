//! Settings of a model that the chosen provider does not use: they would silently not hold.

use settings::table::ALL;
use settings::{Row, SettingError, Source};

/// What a script does not use: it is sent nowhere.
const OF_REMOTE: &[&str] = &[
    "AUTONOUS_MODEL_NAME", "AUTONOUS_MODEL_BASE_URL", "AUTONOUS_MODEL_FALLBACK", "AUTONOUS_MODEL_API_KEY",
    "AUTONOUS_MODEL_EXTRA_HEADERS",
];

/// Refuses a setting that `provider` does not use.
pub(super) fn refuse(source: &Source, provider: &str) -> Result<(), SettingError> {
    let is_unused = |name: &&str| match provider {
        "direct" => *name != "AUTONOUS_MODEL_PROVIDER",
        "scripted" => OF_REMOTE.contains(name),
        _ => *name == "AUTONOUS_MODEL_SCRIPT",
    };
    let is_set = |row: &&dyn Row| source.secret(row.name()).is_some();
    let mut rows = ALL.iter().copied().filter(|row| row.name().starts_with("AUTONOUS_MODEL_"));
    let Some(row) = rows.find(|row| is_unused(&row.name()) && is_set(row)) else { return Ok(()) };
    let value = source.text(row.name()).filter(|_| !row.is_secret()).unwrap_or("***");
    let expected = format!(
        "nothing, because the provider {provider} does not use it: set AUTONOUS_MODEL_PROVIDER to one that \
         does, or a key of a provider"
    );
    Err(SettingError::new(row.name(), value, expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_the_provider_does_not_use_is_refused() {
        for (provider, name, is_used) in [
            ("direct", "AUTONOUS_MODEL_NAME", false),
            ("direct", "AUTONOUS_MODEL_CONTEXT_TOKENS", false),
            ("direct", "AUTONOUS_MODEL_API_KEY", false),
            ("direct", "AUTONOUS_MODEL_EXTRA_HEADERS", false),
            ("direct", "AUTONOUS_MODEL_PROVIDER", true),
            ("direct", "OPENAI_API_KEY", true),
            ("scripted", "AUTONOUS_MODEL_SCRIPT", true),
            ("scripted", "AUTONOUS_MODEL_CONTEXT_TOKENS", true),
            ("scripted", "AUTONOUS_MODEL_BASE_URL", false),
            ("openai", "AUTONOUS_MODEL_NAME", true),
            ("openai", "AUTONOUS_MODEL_SCRIPT", false),
        ] {
            let refused = refuse(&Source::from_pairs([(name, "hunter2")]), provider);
            assert_eq!(refused.is_ok(), is_used, "{provider} {name}: {refused:?}");
        }
        for secret in ["AUTONOUS_MODEL_API_KEY", "AUTONOUS_MODEL_EXTRA_HEADERS"] {
            let refused = refuse(&Source::from_pairs([(secret, "hunter2")]), "direct").unwrap_err();
            assert!(!refused.to_string().contains("hunter2"), "{refused}");
        }
    }
}
