//! What `env` and `stdin` of a call mean for rules and approvals: the same as if the command line said it;
//! and what `keep_state` adds to them.
//!
//! Whether a command can have them is checked where it starts, in `cage::command::Given`.

use std::borrow::Cow;
use std::sync::Arc;

use cage::command::ShellState;
use protocol::ToolError;
use serde_json::{Map, Value};
use toolkit::arguments::invalid;
use toolkit::shell::quoted;

/// Variables that have a shell run or expand what they hold, or read its line in another way.
const FOR_SHELLS: [&str; 5] = ["BASH_ENV", "ENV", "PS4", "SHELLOPTS", "BASHOPTS"];

/// Adds what the session has kept to a call that asks for it. What the call says itself goes before it. A
/// tool without `workdir` gets the variables alone.
pub(super) fn complete(
    arguments: &mut Value,
    kept: impl FnOnce() -> Option<Arc<ShellState>>,
    has_workdir: bool,
) {
    if arguments["keep_state"] != true {
        return;
    }
    let Some(kept) = kept() else { return };
    if has_workdir
        && arguments["workdir"].is_null()
        && let Some(directory) = &kept.directory
    {
        arguments["workdir"] = directory.as_str().into();
    }
    let given = arguments["env"].as_object().cloned().unwrap_or_default();
    let env = kept.variables.iter().map(|(name, value)| (name.clone(), value.as_str().into()));
    let env: Map<String, Value> = env.chain(given).collect();
    if !env.is_empty() {
        arguments["env"] = env.into();
    }
}

/// Refuses a command in a terminal that is also given its whole input, which would not end there.
pub(super) fn check_terminal(has_terminal: bool, has_input: bool) -> Result<(), ToolError> {
    if !(has_terminal && has_input) {
        return Ok(());
    }
    let hint = "Start it with `background`, and write to it with process_write.";
    Err(invalid("`tty` and `stdin` exclude each other.").with_hint(hint))
}

/// The line that does the same without `env` and `stdin` of a call: with assignments before it, and its input
/// from elsewhere.
pub(super) fn as_line<'l>(cmd: Cow<'l, str>, arguments: &Value) -> Cow<'l, str> {
    line(cmd, variables(arguments), arguments["stdin"].as_str())
}

/// The same for these variables and this input.
pub(super) fn line<'l, 'v>(
    cmd: Cow<'l, str>,
    variables: impl Iterator<Item = (&'v str, &'v str)>,
    stdin: Option<&str>,
) -> Cow<'l, str> {
    let named = variables.filter(|(name, _)| is_name(name));
    let assigned: Vec<String> = named.map(|(name, value)| format!("{name}={}\n", quoted(value))).collect();
    let has_input = stdin.is_some_and(|stdin| !stdin.is_empty());
    if assigned.is_empty() && !has_input {
        return cmd;
    }
    let fed = if has_input { format!("{{\n{cmd}\n}} < /dev/stdin") } else { cmd.into_owned() };
    Cow::Owned(assigned.concat() + &fed)
}

/// Whether a call gives its command variables.
pub(super) fn has_variables(arguments: &Value) -> bool {
    variables(arguments).next().is_some()
}

/// Whether variables of a call can have its shell or script run what no rule sees.
pub(super) fn may_run_unseen(arguments: &Value) -> bool {
    variables(arguments).any(|(name, _)| FOR_SHELLS.contains(&name))
}

/// What a person reads about both.
pub(super) fn in_words(arguments: &Value) -> String {
    let mut words = String::new();
    let names: Vec<&str> = variables(arguments).map(|(name, _)| name).collect();
    if !names.is_empty() {
        words = format!("with the variables `{}`: see `env` itself\n", names.join("`, `"));
    }
    if arguments["stdin"].as_str().is_some_and(|stdin| !stdin.is_empty()) {
        words.push_str("reads `stdin` as its input\n");
    }
    words
}

/// Those that a command could have: a call with another one is refused.
fn variables(arguments: &Value) -> impl Iterator<Item = (&str, &str)> {
    let given = arguments["env"].as_object().into_iter().flatten();
    given.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)).filter(|_| is_name(name)))
}

fn is_name(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use command_policy::simple_commands;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_means_what_its_line_would() {
        let check = |cmd: &str, given: Value, is_understood: bool, is_plain: bool| {
            let line = as_line(Cow::Borrowed(cmd), &given);
            let found = simple_commands(&line);
            assert_eq!((found.is_understood, found.is_plain), (is_understood, is_plain), "{line}");
            assert!(found.commands.iter().any(|one| one.words[0].as_deref() == cmd.split(' ').next()));
        };
        check("git push", json!({}), true, true);
        check("git push", json!({"env": {"PATH": "."}}), true, false);
        check("git push", json!({"env": {"A": "it's; rm x"}}), true, false);
        check("git push", json!({"stdin": "text"}), true, true);
        check("cat <<E\nx\nE", json!({"stdin": "text"}), true, true);
        check("sh", json!({"stdin": "git push"}), false, true);
        check("bash $X", json!({"env": {"X": "-c git"}}), false, false);
        check("bash $X", json!({"env": {"X": "run.sh"}}), true, false);
        assert!(may_run_unseen(&json!({"env": {"BASH_ENV": "x"}})) && !may_run_unseen(&json!({"env": {}})));
    }
}
