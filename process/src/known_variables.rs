//! The names of all variables, by the program that reads them.
//!
//! A misspelt setting would be a setting that silently does not hold. So each program refuses a variable that
//! begins like ours and is on no list; those of the other programs pass, because several programs are often
//! started with one environment. The docs are compared with these lists.

use crate::secrets::SECRETS_FD;

/// What every variable of ours begins with.
pub const PREFIX: &str = "AUTONOUS_";

/// Read by every program.
pub const COMMON: &[&str] = &["AUTONOUS_DATA_DIR", "AUTONOUS_LOG_FORMAT"];

/// Read by the supervisor.
pub const SUPERVISOR: &[&str] = &[
    "AUTONOUS_CONFIG_DIR",
    "AUTONOUS_CONTACTS_COOLDOWN",
    "AUTONOUS_CONTROL_ALLOWED_HOSTS",
    "AUTONOUS_CONTROL_LISTEN",
    "AUTONOUS_RETENTION",
    "AUTONOUS_SCHEDULES_MAX_PER_CHAT",
    "AUTONOUS_SCHEDULES_MIN_MINUTES",
    "AUTONOUS_STOP_SECONDS",
    "AUTONOUS_TASK_MAX_ATTEMPTS",
    "AUTONOUS_TASK_RETRY_BASE_MS",
    "AUTONOUS_TASK_RETRY_SECONDS",
    "AUTONOUS_TELEGRAM_API_URL",
    "AUTONOUS_TELEGRAM_ALLOWED_CHATS",
    "AUTONOUS_TELEGRAM_ALLOWED_USERS",
    "AUTONOUS_TELEGRAM_GROUP_MEMBERS",
    "AUTONOUS_TELEGRAM_GROUP_TRIGGER",
    "AUTONOUS_APPROVERS",
    "AUTONOUS_TG_PENDING_WINDOW_SECONDS",
    "AUTONOUS_TG_PENDING_MAX_MESSAGES",
    "AUTONOUS_TG_SEND_MAX_ATTEMPTS",
    "AUTONOUS_TRANSCRIBE",
    "AUTONOUS_TRANSCRIBE_MODEL",
    "AUTONOUS_WORKERS",
];

/// Read by the tool server, and set by the supervisor for its own.
pub const TOOL_SERVER_PLACES: &[&str] = &[
    "AUTONOUS_TOOL_ALLOWED_ROOTS",
    "AUTONOUS_TOOL_LISTEN",
    "AUTONOUS_TOOL_JOURNAL",
    "AUTONOUS_TOOL_OUTPUT_DIR",
    "AUTONOUS_SKILLS_DIR",
];

/// Read by the tool server; the supervisor passes them on.
pub const TOOL_SERVER: &[&str] = &[
    "AUTONOUS_TOOL_ALLOWED_HOSTS",
    "AUTONOUS_TOOL_TIMEOUT_SECONDS",
    "AUTONOUS_APPROVAL_TIMEOUT_SECONDS",
    "AUTONOUS_TOOL_MAX_COMMANDS",
    "AUTONOUS_TOOL_MAX_OUTPUT_LINES",
    "AUTONOUS_TOOL_MAX_OUTPUT_BYTES",
    "AUTONOUS_TOOL_MAX_EDIT_BYTES",
    "AUTONOUS_TOOL_MAX_UPLOAD_BYTES",
    "AUTONOUS_UNDO_MAX_MB",
    "AUTONOUS_TOOL_RAW_FILES",
    "AUTONOUS_TOOL_JOURNAL_MAX_BYTES",
    "AUTONOUS_TOOL_SEARCH_MAX_ENTRIES",
    "AUTONOUS_TOOL_DISABLED",
    "AUTONOUS_TOOL_DENY_PATHS",
    "AUTONOUS_TOOL_PROTECTED",
    "AUTONOUS_TOOL_BASH_DENYLIST",
    "AUTONOUS_TOOL_BASH_NETWORK",
    "AUTONOUS_TOOL_BASH_ALLOW_NETWORK",
    "AUTONOUS_TOOL_SANDBOX",
    "AUTONOUS_TOOL_DISABLE_EXEC",
    "AUTONOUS_TOOL_READONLY_ROOTS",
    "AUTONOUS_TOOL_ENV",
    "AUTONOUS_TOOL_MAX_MEMORY_MB",
    "AUTONOUS_TOOL_MIN_FREE_MB",
    "AUTONOUS_WORKSPACES",
    "AUTONOUS_FETCH_ALLOWED_HOSTS",
    "AUTONOUS_FETCH_ALLOW_PRIVATE",
    "AUTONOUS_FETCH_PROFILES_FILE",
    "AUTONOUS_SEARCH_PROVIDER",
    "AUTONOUS_SEARCH_URL",
];

/// Read by the worker, and set by the supervisor for its own.
pub const WORKER_PLACES: &[&str] = &["AUTONOUS_TOOL_URL"];

/// Read by the worker; the supervisor passes them on.
pub const WORKER: &[&str] = &[
    "AUTONOUS_MODEL_PROVIDER",
    "AUTONOUS_MODEL_NAME",
    "AUTONOUS_MODEL_BASE_URL",
    "AUTONOUS_MODEL_TOOL_PROTOCOL",
    "AUTONOUS_MODEL_FALLBACK",
    "AUTONOUS_MODEL_SCRIPT",
    "AUTONOUS_MODEL_CONTEXT_TOKENS",
    "AUTONOUS_MODEL_PROMPT",
    "AUTONOUS_MODEL_REASONING_EFFORT",
    "AUTONOUS_MODEL_MAX_OUTPUT_TOKENS",
    "AUTONOUS_MODEL_TEMPERATURE",
    "AUTONOUS_MODEL_EXTRA_BODY",
    "AUTONOUS_MODEL_VISION",
    "AUTONOUS_MODEL_FIRST_TOKEN_SECONDS",
    "AUTONOUS_MODEL_IDLE_SECONDS",
    "AUTONOUS_CONTROL_MAX_TURNS",
    "AUTONOUS_CONTROL_MAX_WALL_TIME_SECONDS",
    "AUTONOUS_CONTROL_MAX_TOKENS",
    "AUTONOUS_CONTROL_MAX_RETRIES",
];

/// Secrets. Each can also be in the file that the same name with `_FILE` names.
pub const SECRETS: &[&str] = &[
    "AUTONOUS_CONTROL_TOKEN",
    "AUTONOUS_TELEGRAM_TOKEN",
    "AUTONOUS_TOOL_APPROVER_TOKEN",
    "AUTONOUS_TOOL_TOKEN",
    "AUTONOUS_TRANSCRIBE_API_KEY",
    "AUTONOUS_MODEL_API_KEY",
    "AUTONOUS_MODEL_EXTRA_HEADERS",
    "AUTONOUS_SEARCH_API_KEY",
];

/// Set by the programs for each other.
const INTERNAL: &[&str] = &[SECRETS_FD];

/// What the name of a secret ends in when it names the secret's file.
pub const FILE_ENDING: &str = "_FILE";

fn all() -> impl Iterator<Item = &'static str> {
    let lists =
        [COMMON, SUPERVISOR, TOOL_SERVER_PLACES, TOOL_SERVER, WORKER_PLACES, WORKER, SECRETS, INTERNAL];
    lists.into_iter().flatten().copied()
}

pub(crate) fn is_known(name: &str) -> bool {
    let secret = name.strip_suffix(FILE_ENDING);
    all().any(|known| known == name) || secret.is_some_and(|secret| SECRETS.contains(&secret))
}

/// The variable that was probably meant.
pub(crate) fn nearest(name: &str) -> &'static str {
    let nearer = |known: &&str| (!known.starts_with(name), strsim::osa_distance(known, name));
    all().filter(|known| *known != SECRETS_FD).min_by_key(nearer).unwrap_or(PREFIX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

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

    /// The names in the first column of a section's table in the docs.
    fn documented(section: &str) -> BTreeSet<String> {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/operations.md");
        let page = std::fs::read_to_string(page).unwrap();
        let section = page.split(&format!("\n### {section}\n")).nth(1).unwrap();
        let rows = section.split("\n#").next().unwrap().lines().filter(|line| line.starts_with("| `"));
        let cells = rows.filter_map(|row| row.split(" | ").next());
        let names = cells.flat_map(|cell| cell.split('`')).filter(|name| name.starts_with(PREFIX));
        names.map(str::to_owned).collect()
    }

    #[test]
    fn the_docs_list_what_each_program_knows() {
        let check = |section: &str, lists: &[&[&str]], secrets: &[&str]| {
            assert!(secrets.iter().all(|secret| SECRETS.contains(secret)), "{secrets:?}");
            let known = lists.concat().into_iter().chain(secrets.iter().copied()).map(str::to_owned);
            assert_eq!(documented(section), known.collect(), "docs/operations.md, {section}");
        };
        let secrets = ["AUTONOUS_CONTROL_TOKEN", "AUTONOUS_TELEGRAM_TOKEN", "AUTONOUS_TRANSCRIBE_API_KEY"];
        check("Supervisor", &[COMMON, SUPERVISOR], &secrets);
        let secrets = ["AUTONOUS_TOOL_TOKEN", "AUTONOUS_TOOL_APPROVER_TOKEN", "AUTONOUS_SEARCH_API_KEY"];
        check("Tool server", &[TOOL_SERVER_PLACES, TOOL_SERVER], &secrets);
        check(
            "Worker",
            &[WORKER_PLACES, WORKER],
            &["AUTONOUS_MODEL_API_KEY", "AUTONOUS_MODEL_EXTRA_HEADERS"],
        );
    }

    #[test]
    fn no_name_is_listed_twice() {
        let mut names: Vec<&str> = all().collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(names.iter().all(|name| name.starts_with(PREFIX)));
    }
}
