//! Git inside of the sandbox and beside it: what the agent leaves behind is not run, and honest work works.

mod allowed;
mod attacks;
mod evasions;
mod file_tools;
mod names;
mod operator;
mod programs;
mod work;

/// Git of the tests themselves, whatever the user who runs them has configured.
const OWN_SETTINGS: [(&str, &str); 5] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_AUTHOR_NAME", "h"),
    ("GIT_COMMITTER_NAME", "h"),
    ("EMAIL", "h@localhost"),
];
