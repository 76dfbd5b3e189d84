//! `run_script`: a script of a skill, run without a shell.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cage::command::{CommandData, CommandRequest, Given};
use cage::control_files::Leaving;
use files::change::hash_file;
use protocol::{Annotations, Risk, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolkit::arguments::invalid;
use toolkit::policy::{CommandLine, SimpleCommand, Touches};
use toolkit::{Call, NamedFiles, Outcome, Scope, Slot, Tool};

use super::given;
use super::patience::Patience;
use super::short_form::short_form;
use crate::bound_files::tree_state;
use crate::tool_context::{HASH_WITHIN, ToolContext};

const MAX_ARGUMENT_BYTES: usize = 4096;

/// Runs a script of a skill, without a shell.
///
/// `WORKSPACE` names the first root.
///
/// # Details
///
/// It runs in the sandbox of all commands, in a private home that is deleted at the end; the variable
/// `WORKSPACE` names the first root.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunScriptArguments {
    /// The skill's name.
    skill: String,
    /// Below its `scripts` directory.
    relative_path: String,
    /// Passed unchanged.
    #[serde(default)]
    #[schemars(length(max = 64))]
    args: Vec<String>,
    /// The time limit, in seconds.
    #[serde(default)]
    #[schemars(range(min = 1, max = 600))]
    timeout_seconds: Option<u64>,
    /// Whether to answer at once and let it run on. `process_read` shows its output.
    #[serde(default)]
    background: bool,
    /// A script that takes longer is not killed but runs on as with `background`.
    #[serde(default)]
    #[schemars(range(max = 600))]
    yield_after_seconds: Option<u64>,
    /// More environment variables.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Its input; none by default.
    #[serde(default)]
    #[schemars(length(max = 65_536))]
    stdin: Option<String>,
    /// Whether it runs in a terminal.
    #[serde(default)]
    tty: bool,
    /// Whether it gets the exported variables that `bash` has kept.
    #[serde(default)]
    #[expect(dead_code, reason = "what it asks for is in `env` before the script runs")]
    keep_state: bool,
}

pub(crate) struct RunScript(pub(super) ToolContext);

impl Tool for RunScript {
    type Arguments = RunScriptArguments;
    type Data = CommandData;
    const NAME: &'static str = "run_script";
    const RISK: Risk = Risk::Medium;
    const ANNOTATIONS: Annotations = Annotations::ACTS;
    const SLOT: Slot = Slot::Command;
    const STREAMS: bool = true;
    const ESSENTIAL: &'static [&'static str] = &["args"];

    fn example(&self) -> Value {
        json!({"skill": "example", "relative_path": "hello.sh", "args": ["world"]})
    }

    fn is_offered(&self) -> bool {
        self.0.commands.can_run() && !self.0.skills.list().is_empty()
    }

    fn complete(&self, arguments: &mut Value, scope: &Scope) {
        given::complete(arguments, || self.0.commands.kept_state(scope), false);
    }

    fn timeout(&self, arguments: &Value) -> Option<Duration> {
        Some(Patience::of(arguments).timeout(&self.0))
    }

    /// The script, and with its arguments one command.
    fn touches(&self, arguments: &Value, _: &Scope) -> Touches {
        let passed = arguments["args"].as_array().into_iter().flatten();
        let words = [&arguments["relative_path"]].into_iter().chain(passed);
        let words = words.map(|word| word.as_str().map(str::to_owned)).collect();
        let command = SimpleCommand { words, without_options: None };
        let line = CommandLine {
            commands: vec![command],
            is_understood: !given::may_run_unseen(arguments),
            is_plain: !given::has_variables(arguments),
        };
        let text = |name: &str| arguments[name].as_str().unwrap_or_default();
        let script = Path::new(text("relative_path"));
        let script = Path::new("scripts").join(script.strip_prefix("scripts").unwrap_or(script));
        let paths = self.0.skills.touched(text("skill"), &script.to_string_lossy());
        Touches { paths, commands: Some(line), ..Touches::nothing() }
    }

    /// The script; and since variables can name programs and files that it uses, those of the roots.
    fn named_files(&self, arguments: &Value, scope: &Scope) -> Result<NamedFiles, ToolError> {
        let text = |name: &str| arguments[name].as_str().unwrap_or_default();
        let script = self.0.skills.script(text("skill"), text("relative_path"))?;
        let (sha256, _) = hash_file(&script.file, text("relative_path"), &Call::own(HASH_WITHIN))?;
        let mut contents = NamedFiles::from([(script.path.display().to_string(), sha256)]);
        if given::has_variables(arguments) {
            let roots = self.0.workspaces.of(scope)?;
            contents.insert(String::new(), tree_state(&roots, &[])?);
        }
        Ok(contents)
    }

    fn run(&self, arguments: RunScriptArguments, call: &Call) -> Outcome<CommandData> {
        let RunScriptArguments { background, yield_after_seconds, timeout_seconds, .. } = arguments;
        let patience = Patience { background, yield_after_seconds, timeout_seconds }.checked(false)?;
        given::check_terminal(arguments.tty, arguments.stdin.is_some())?;
        for (index, argument) in arguments.args.iter().enumerate() {
            if argument.len() > MAX_ARGUMENT_BYTES || argument.contains('\0') {
                return Err(invalid(format!(
                    "`args[{index}]` has a NUL byte or more than {MAX_ARGUMENT_BYTES} bytes."
                ))
                .into());
            }
        }
        let given = Given::new(arguments.env, arguments.stdin)?;
        let script = self.0.skills.script(&arguments.skill, &arguments.relative_path)?;
        let (program, first) =
            script.interpreter.split_first().ok_or_else(|| invalid("The script names no interpreter."))?;
        let program = PathBuf::from(program);
        let passed = first.iter().map(Into::into).chain([script.path.into_os_string()]);
        let listed = format!("{} {} {}", arguments.skill, arguments.relative_path, arguments.args.join(" "));
        let request = CommandRequest {
            program,
            arguments: passed.chain(arguments.args.into_iter().map(Into::into)).collect(),
            given,
            workdir: self.0.commands.private_workdir(call)?,
            timeout: Duration::MAX,
            tool: Self::NAME,
            leaving: Leaving::TakenBack,
            has_terminal: arguments.tty,
            // A script changes neither directory nor variables of others.
            keeps_state: false,
        };
        patience.run(&self.0, call, request, short_form(&listed))
    }
}
