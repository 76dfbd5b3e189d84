//! `run_script`: a script of a skill, executed without a shell.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use protocol::{Annotations, Risk};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolkit::arguments::invalid;
use toolkit::{Call, Outcome, Slot, Tool};

use super::bash::{DEFAULT_TIMEOUT_SECONDS, timeout_of};
use crate::command::{CommandData, CommandRequest, Commands};
use crate::skills::Skills;
use crate::tool_context::ToolContext;

/// The most bytes of one argument.
const MAX_ARGUMENT_BYTES: usize = 4096;

/// Runs a script of a skill with arguments, without a shell, held like every command.
///
/// Use it when the skill that you have read tells you to. The script starts in an empty directory of its
/// own that is gone at the end; the variable `WORKSPACE` names the first root.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunScriptArguments {
    /// The skill's name.
    skill: String,
    /// The script, relative to the skill's `scripts` directory.
    relative_path: String,
    /// Its arguments, each passed as it is; at most 4096 bytes each.
    #[serde(default)]
    #[schemars(length(max = 64))]
    args: Vec<String>,
    /// How long it may take, in seconds.
    #[serde(default = "default_timeout")]
    #[schemars(range(min = 1, max = 600))]
    timeout_seconds: u64,
}

const fn default_timeout() -> u64 {
    DEFAULT_TIMEOUT_SECONDS
}

/// The tool.
pub(crate) struct RunScript {
    skills: Arc<Skills>,
    commands: Arc<Commands>,
}

impl RunScript {
    /// Takes what the tool needs from the context.
    pub(crate) fn new(context: &ToolContext) -> Self {
        Self { skills: Arc::clone(&context.skills), commands: Arc::clone(&context.commands) }
    }
}

impl Tool for RunScript {
    type Arguments = RunScriptArguments;
    type Data = CommandData;
    const NAME: &'static str = "run_script";
    const RISK: Risk = Risk::Medium;
    const ANNOTATIONS: Annotations = Annotations::ACTS;
    const SLOT: Slot = Slot::Command;

    fn example() -> Value {
        json!({"skill": "example", "relative_path": "hello.sh", "args": ["world"]})
    }

    fn timeout(arguments: &Value) -> Option<Duration> {
        timeout_of(arguments)
    }

    fn run(&self, arguments: RunScriptArguments, call: &Call) -> Outcome<CommandData> {
        for (index, argument) in arguments.args.iter().enumerate() {
            if argument.len() > MAX_ARGUMENT_BYTES || argument.contains('\0') {
                return Err(invalid(format!(
                    "`args[{index}]` has a NUL byte or more than {MAX_ARGUMENT_BYTES} bytes."
                ))
                .into());
            }
        }
        let script = self.skills.script(&arguments.skill, &arguments.relative_path)?;
        let (program, first) = script
            .interpreter
            .split_first()
            .ok_or_else(|| invalid("The script names nothing that runs it."))?;
        let program = PathBuf::from(program);
        let passed = first.iter().map(Into::into).chain([script.path.into_os_string()]);
        let request = CommandRequest {
            program: &program,
            arguments: passed.chain(arguments.args.into_iter().map(Into::into)).collect(),
            workdir: self.commands.private_workdir()?,
            timeout: Duration::from_secs(arguments.timeout_seconds),
        };
        self.commands.run(call, request)
    }
}
