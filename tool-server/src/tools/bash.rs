//! `bash`: a command line, held by the kernel.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use protocol::{Annotations, Risk};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolkit::arguments::invalid;
use toolkit::{Call, Outcome, Slot, Tool};

use crate::command::{CommandData, CommandRequest, Commands};
use crate::policy::Policy;
use crate::tool_context::ToolContext;

/// How long a command may take when the call does not say, in seconds.
pub(super) const DEFAULT_TIMEOUT_SECONDS: u64 = 30;

/// Runs a command line with bash, in a sandbox that sees the roots and the system's programs.
///
/// Use it last: for builds, tests, git and whatever no other tool does. To look at files use `ls`, `find`,
/// `grep` and `read`, to change them `edit` and `write`; they leave evidence and cost less. There is no
/// terminal, no input, and usually no network. `HOME` and `/tmp` are empty at the start and gone at the end.
/// Of a long output the beginning and the end are shown, and the answer says where the whole is. A command
/// that runs longer than `timeout_seconds` is ended with all its processes, daemons included.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BashArguments {
    /// The command line.
    #[schemars(length(min = 1, max = 65_536))]
    cmd: String,
    /// Where it starts, absolute or relative to the first root; the first root when left out.
    #[serde(default)]
    workdir: Option<String>,
    /// How long it may take, in seconds.
    #[serde(default = "default_timeout")]
    #[schemars(range(min = 1, max = 600))]
    timeout_seconds: u64,
}

const fn default_timeout() -> u64 {
    DEFAULT_TIMEOUT_SECONDS
}

/// The tool.
pub(crate) struct Bash {
    commands: Arc<Commands>,
    policy: Arc<Policy>,
}

impl Bash {
    /// Takes what the tool needs from the context.
    pub(crate) fn new(context: &ToolContext) -> Self {
        Self { commands: Arc::clone(&context.commands), policy: Arc::clone(&context.policy) }
    }
}

impl Tool for Bash {
    type Arguments = BashArguments;
    type Data = CommandData;
    const NAME: &'static str = "bash";
    const RISK: Risk = Risk::Medium;
    const ANNOTATIONS: Annotations = Annotations::ACTS;
    const SLOT: Slot = Slot::Command;

    fn example() -> Value {
        json!({"cmd": "git status --short | head -20 || true"})
    }

    fn timeout(arguments: &Value) -> Option<Duration> {
        timeout_of(arguments)
    }

    fn run(&self, arguments: BashArguments, call: &Call) -> Outcome<CommandData> {
        if arguments.cmd.contains('\0') {
            return Err(invalid("`cmd` has a NUL byte, which no command line can have.").into());
        }
        self.policy.judge(&arguments.cmd, arguments.workdir.as_deref())?;
        let workdir = self.commands.workdir(arguments.workdir.as_deref())?;
        let bash: PathBuf = self.commands.program("bash")?;
        let request = CommandRequest {
            program: &bash,
            arguments: vec!["-c".into(), arguments.cmd.into()],
            workdir,
            timeout: Duration::from_secs(arguments.timeout_seconds),
        };
        self.commands.run(call, request)
    }
}

/// The time that a command's arguments give it.
pub(super) fn timeout_of(arguments: &Value) -> Option<Duration> {
    let seconds = arguments["timeout_seconds"].as_u64().unwrap_or(DEFAULT_TIMEOUT_SECONDS);
    Some(Duration::from_secs(seconds))
}
