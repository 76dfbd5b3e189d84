//! `bash`: a command line, run in the sandbox.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use protocol::{Annotations, Risk, SessionId, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolkit::arguments::invalid;
use toolkit::policy::Touches;
use toolkit::{Call, Outcome, Slot, Tool};

use crate::command::{CommandData, CommandRequest};
use crate::control_files::Leaving;
use crate::policy::{expand_aliases, programs, simple_commands};
use crate::roots::{CACHE_ALIAS, Roots, STATE_ALIAS};
use crate::tool_context::ToolContext;

/// Runs a command line with bash, for what no other tool does: builds, tests, git.
///
/// There is no terminal, no input, usually no network; `HOME` and `/tmp` do not last. Git hooks,
/// `.envrc` and the like are taken back.
///
/// # Details
///
/// The command runs in a sandbox that sees the roots and the system's programs. File tools leave a record and
/// cost less. Of a long output the beginning and the end are shown, and the answer says where the rest is. A
/// command that runs longer than `timeout_seconds` is killed with all its processes, daemons included. What
/// it leaves for other programs to execute is taken back when it ends: git hooks, git settings that name a
/// program, `.envrc`, `.vscode` and the like. The answer says where it is then. The rest of a git config
/// stays.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BashArguments {
    /// The command line.
    #[schemars(length(min = 1, max = 65_536))]
    cmd: String,
    /// The working directory, absolute or relative to the first root; the first root by default.
    #[serde(default)]
    workdir: Option<String>,
    /// Default 30, at most 600; then all its processes are killed.
    #[serde(default)]
    #[schemars(range(min = 1, max = 600))]
    timeout_seconds: Option<u64>,
    /// Whether the command may leave files that other programs execute, such as git hooks. A person must
    /// approve such a call.
    #[serde(default)]
    allow_control_files: bool,
}

/// How many files of a command line bind a decision about it; people's lines name fewer.
const MAX_NAMED_FILES: usize = 64;

pub(crate) struct Bash(pub(super) ToolContext);

impl Tool for Bash {
    type Arguments = BashArguments;
    type Data = CommandData;
    const NAME: &'static str = "bash";
    const RISK: Risk = Risk::Medium;
    const ANNOTATIONS: Annotations = Annotations::ACTS;
    const SLOT: Slot = Slot::Command;
    const ESSENTIAL: &'static [&'static str] = &["timeout_seconds"];

    fn example(&self) -> Value {
        json!({"cmd": "uname -s && pwd"})
    }

    fn is_offered(&self) -> bool {
        self.0.commands.can_run()
    }

    fn meant_by(&self, name: &str) -> Option<String> {
        programs::instead_of(name)
    }

    fn timeout(&self, arguments: &Value) -> Option<Duration> {
        Some(self.0.command_timeout(arguments["timeout_seconds"].as_u64()))
    }

    fn touches(&self, arguments: &Value, session: &SessionId) -> Touches {
        Touches {
            paths: self.0.paths_touched(arguments["workdir"].as_str().unwrap_or("."), session),
            commands: arguments["cmd"].as_str().map(|cmd| simple_commands(&self.known(cmd, session))),
            ..Touches::default()
        }
    }

    /// Its working directory, and every word that names a file.
    fn named_files(
        &self,
        arguments: &Value,
        session: &SessionId,
    ) -> Result<BTreeMap<String, String>, ToolError> {
        let workdir = Path::new(arguments["workdir"].as_str().unwrap_or("."));
        let line = simple_commands(&self.known(arguments["cmd"].as_str().unwrap_or_default(), session));
        let words = line.commands.into_iter().flat_map(|command| command.words).flatten();
        let paths: BTreeSet<String> = words
            .filter(|word| !word.starts_with('-') && !word.is_empty())
            .map(|word| workdir.join(word).display().to_string())
            .filter(|path| !self.0.paths_touched(path, session).is_empty())
            .collect();
        if paths.len() > MAX_NAMED_FILES {
            let message =
                format!("A command line that a person must approve may name {MAX_NAMED_FILES} files.");
            return Err(
                invalid(message).with_hint("Put the commands into a script with `write`, and run that.")
            );
        }
        self.0.contents(paths.into_iter().chain([workdir.display().to_string()]), session)
    }

    /// One line for each command that would run.
    fn preview(&self, arguments: &Value, call: &Call) -> Result<String, ToolError> {
        let roots = self.0.workspaces.of(&call.session)?;
        let cmd = &expanded(arguments["cmd"].as_str().unwrap_or_default(), &roots)?;
        self.0.policy.within(&roots.to_paths()).judge(cmd, arguments["workdir"].as_str())?;
        roots.open_directory(arguments["workdir"].as_str().unwrap_or("."))?;
        let line = simple_commands(cmd);
        let word = |word: Option<String>| word.unwrap_or_else(|| "…".to_owned());
        let command = |words: Vec<Option<String>>| {
            let words: Vec<String> = words.into_iter().map(word).collect();
            format!("runs `{}`\n", words.join("` `"))
        };
        let mut shown: String = line.commands.into_iter().map(|one| command(one.words)).collect();
        if !line.is_understood {
            shown.push_str("and more that cannot be known before it runs\n");
        }
        if !line.is_plain {
            shown.push_str("with redirections into files, assignments or functions: see the line itself\n");
        }
        if arguments["allow_control_files"] == true {
            shown.push_str("may leave or change what other programs execute: git hooks, settings, .envrc\n");
        }
        Ok(shown)
    }

    fn run(&self, arguments: BashArguments, call: &Call) -> Outcome<CommandData> {
        if arguments.cmd.contains('\0') {
            return Err(invalid("`cmd` contains a NUL byte.").into());
        }
        let roots = self.0.workspaces.of(&call.session)?;
        let cmd = expanded(&arguments.cmd, &roots)?;
        self.0.policy.within(&roots.to_paths()).judge(&cmd, arguments.workdir.as_deref())?;
        let workdir = roots.open_directory(arguments.workdir.as_deref().unwrap_or("."))?.path;
        let bash: PathBuf = self.0.commands.program("bash")?;
        let request = CommandRequest {
            program: &bash,
            arguments: vec!["-c".into(), cmd.into_owned().into()],
            workdir,
            timeout: self.0.command_timeout(arguments.timeout_seconds),
            tool: Self::NAME,
            leaving: if arguments.allow_control_files { Leaving::Kept } else { Leaving::TakenBack },
        };
        self.0.commands.run(call, request)
    }
}

impl Bash {
    /// The line as it would run, for rules. One that cannot be expanded does not run either.
    fn known<'l>(&self, cmd: &'l str, session: &SessionId) -> Cow<'l, str> {
        let roots = self.0.workspaces.of(session);
        roots.and_then(|roots| expanded(cmd, &roots)).unwrap_or(Cow::Borrowed(cmd))
    }
}

/// The line with paths in place of the names that stand for directories.
fn expanded<'l>(cmd: &'l str, roots: &Roots) -> Result<Cow<'l, str>, ToolError> {
    expand_aliases(cmd, &[STATE_ALIAS, CACHE_ALIAS], |alias| roots.directory_of_alias(alias))
}
