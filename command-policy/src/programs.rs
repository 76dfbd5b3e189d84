//! Names of programs, and of a shell, that models call as if they were tools.

use serde_json::json;

use super::table::{Form, RULES};

/// Programs that the table does not name.
const PROGRAMS: &str = "make cmake ninja gcc g++ clang rustc rustfmt go java javac mvn gradle npx deno tsc \
    pytest tox ruff mypy black eslint prettier jq yq awk gawk sort uniq wc diff patch tar gzip gunzip zip \
    unzip xz cp mv mkdir rmdir ln touch chmod chown stat file du df ps kill env echo printf date uname which \
    whoami id pwd tree xxd od tee xargs cut tr seq sleep sqlite3 docker kubectl sha256sum md5sum base64 rm";

/// What models call a tool that runs commands.
const SHELLS: &str = "shell terminal cmd command exec execute run run_command run_shell run_shell_command \
    run_in_terminal execute_command execute_bash shell_command powershell";

/// What to call instead of a program; none if the name is not of one.
pub fn instead_of(name: &str) -> Option<String> {
    let name = name.rsplit('/').next().unwrap_or(name).to_lowercase();
    let has = |words: &str| words.split_whitespace().any(|word| word == name);
    if has(SHELLS) {
        return Some(format!("Run commands with `bash`: call it with {}.", json!({"cmd": "…"})));
    }
    let mut replaced = RULES.iter().filter(|rule| matches!(rule.form, Form::ToolCall(..)));
    if let Some(rule) = replaced.find(|rule| has(rule.words)) {
        return Some(format!("`{name}` is a program, and {} {}", rule.reason, rule.hint));
    }
    (has(PROGRAMS) || RULES.iter().any(|rule| has(rule.words))).then(|| {
        let arguments = json!({"cmd": format!("{name} …")});
        format!("`{name}` is a program: run it with `bash`, with the arguments {arguments}.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_run_with_bash_and_one_that_a_tool_replaces_by_that_tool() {
        for (name, expected) in [
            ("git", Some("`git` is a program: run it with `bash`, with the arguments {\"cmd\":\"git …\"}.")),
            ("/usr/bin/Make", Some("`make` is a program: run it with `bash`")),
            ("python3", Some("`python3` is a program: run it with `bash`")),
            ("run_command", Some("Run commands with `bash`")),
            ("cat", Some("`cat` is a program, and the tool `read` does the same. Call `read` with `path`")),
            ("list_files", None),
            ("", None),
        ] {
            let told = instead_of(name);
            let is_expected = match (&told, expected) {
                (Some(told), Some(expected)) => told.starts_with(expected),
                (told, expected) => told.is_none() && expected.is_none(),
            };
            assert!(is_expected, "{name}: {told:?}");
        }
    }
}
