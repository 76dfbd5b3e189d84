//! `bash`: a command line, run in the sandbox.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use cage::command::{CommandData, CommandRequest, Given, saying_its_state};
use cage::control_files::Leaving;
use command_policy::{expand_aliases, programs, simple_commands};
use files::roots::{CACHE_ALIAS, Roots, STATE_ALIAS, names};
use protocol::{Annotations, Risk, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolkit::policy::{Circumstance, CommandLine, Touches};
use toolkit::{Call, NamedFiles, Outcome, PathText, Scope, Slot, Tool};

use super::given;
use super::patience::Patience;
use super::short_form::short_form;
use crate::bound_files::{BoundFiles, tree_state};
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
///
/// With `keep_state`, `workdir` and `env` go before what was kept. A command with `background` or
/// `yield_after_seconds` begins with it, too, and keeps nothing. A terminal has 120 columns and 40 rows, and
/// all its output is `stdout`; without `background` or `yield_after_seconds`, its input is empty.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BashArguments {
    /// The command line.
    #[schemars(length(min = 1, max = 65_536), regex(pattern = r"^[^\u0000]*$"))]
    cmd: String,
    /// The working directory, absolute or relative to the first root; the first root by default.
    #[serde(default)]
    workdir: Option<PathText>,
    /// Default 30, at most 600; then all its processes are killed.
    #[serde(default)]
    #[schemars(range(min = 1, max = 600))]
    timeout_seconds: Option<u64>,
    /// Whether to answer at once and let it run on, such as a server. `process_read` shows its output.
    #[serde(default)]
    background: bool,
    /// A command that takes longer is not killed but runs on as with `background`.
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
    /// Whether it runs in a terminal, such as for what asks questions.
    #[serde(default)]
    tty: bool,
    /// Whether it begins with the directory and exported variables of the last command with `keep_state`, and
    /// keeps its own.
    #[serde(default)]
    keep_state: bool,
    /// Whether the command may leave files that other programs execute, such as git hooks. A person must
    /// approve such a call.
    #[serde(default)]
    allow_control_files: bool,
}

/// How many files of a command line are shown by name.
const MAX_SHOWN_FILES: usize = 20;

pub(crate) struct Bash(pub(super) ToolContext);

impl Tool for Bash {
    type Arguments = BashArguments;
    type Data = CommandData;
    const NAME: &'static str = "bash";
    const RISK: Risk = Risk::Medium;
    const ANNOTATIONS: Annotations = Annotations::ACTS;
    const SLOT: Slot = Slot::Command;
    const STREAMS: bool = true;
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

    fn complete(&self, arguments: &mut Value, scope: &Scope) {
        given::complete(arguments, || self.0.commands.kept_state(scope), true);
    }

    fn timeout(&self, arguments: &Value) -> Option<Duration> {
        Some(Patience::of(arguments).timeout(&self.0))
    }

    fn touches(&self, arguments: &Value, scope: &Scope) -> Touches {
        let line = |cmd| {
            let line = simple_commands(&given::as_line(self.known(cmd, scope), arguments));
            let is_understood = line.is_understood && !given::may_run_unseen(arguments);
            CommandLine { is_understood, ..line }
        };
        Touches {
            paths: self.0.paths_touched(arguments["workdir"].as_str().unwrap_or("."), scope),
            commands: arguments["cmd"].as_str().map(line),
            circumstances: if arguments["allow_control_files"] == true {
                vec![Circumstance::ControlFiles]
            } else {
                Vec::new()
            },
            ..Touches::default()
        }
    }

    /// Its working directory, every word that could name a file, and where these are not all that it uses,
    /// the programs and scripts of the roots.
    fn named_files(&self, arguments: &Value, scope: &Scope) -> Result<NamedFiles, ToolError> {
        let roots = self.0.workspaces.of(scope)?;
        let bound = self.bound(arguments, &roots)?;
        let state = if bound.is_complete { None } else { Some(tree_state(&roots, &bound.patterns)?) };
        let mut contents = self.0.contents(bound.paths, scope)?;
        contents.extend(state.map(|state| (String::new(), state)));
        Ok(contents)
    }

    /// One line for each command that would run.
    fn preview(&self, arguments: &Value, call: &Call) -> Result<String, ToolError> {
        let allow_control_files = arguments["allow_control_files"] == true;
        let patience = Patience::of(arguments).checked(allow_control_files)?;
        given::check_terminal(arguments["tty"] == true, !arguments["stdin"].is_null())?;
        let roots = self.0.workspaces.of(&call.scope)?;
        let cmd = expanded(arguments["cmd"].as_str().unwrap_or_default(), &roots)?;
        let cmd = &given::as_line(cmd, arguments);
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
        shown.push_str(&given::in_words(arguments));
        shown.push_str(&self.bound_in_words(arguments, &roots)?);
        shown.push_str(&patience.in_words());
        if allow_control_files {
            shown.push_str("may leave or change what other programs execute: git hooks, settings, .envrc\n");
        }
        Ok(shown)
    }

    fn run(&self, arguments: BashArguments, call: &Call) -> Outcome<CommandData> {
        let BashArguments { background, yield_after_seconds, timeout_seconds, .. } = arguments;
        let patience = Patience { background, yield_after_seconds, timeout_seconds };
        let patience = patience.checked(arguments.allow_control_files)?;
        given::check_terminal(arguments.tty, arguments.stdin.is_some())?;
        let roots = self.0.workspaces.of(&call.scope)?;
        let cmd = expanded(&arguments.cmd, &roots)?;
        let variables = arguments.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let line = given::line(Cow::Borrowed(cmd.as_ref()), variables, arguments.stdin.as_deref());
        self.0.policy.within(&roots.to_paths()).judge(&line, arguments.workdir.as_deref())?;
        let given = Given::new(arguments.env, arguments.stdin)?;
        let workdir = roots.open_directory(arguments.workdir.as_deref().unwrap_or("."))?.path;
        let bash: PathBuf = self.0.commands.program("bash")?;
        let keeps_state = arguments.keep_state && patience.waits();
        let cmd = match keeps_state {
            true => saying_its_state(&cmd, &self.0.commands.program("env")?),
            false => cmd.into_owned(),
        };
        let request = CommandRequest {
            program: bash,
            arguments: vec!["-c".into(), cmd.into()],
            given,
            workdir,
            timeout: Duration::MAX,
            tool: Self::NAME,
            leaving: if arguments.allow_control_files { Leaving::Kept } else { Leaving::TakenBack },
            has_terminal: arguments.tty,
            keeps_state,
        };
        patience.run(&self.0, call, request, short_form(&arguments.cmd))
    }
}

impl Bash {
    /// The files that a decision about a call is bound to.
    fn bound(&self, arguments: &Value, roots: &Roots) -> Result<BoundFiles, ToolError> {
        let line = expanded(arguments["cmd"].as_str().unwrap_or_default(), roots)?;
        let line = given::as_line(line, arguments);
        Ok(BoundFiles::of(&line, arguments["workdir"].as_str().unwrap_or("."), roots))
    }

    /// What a yes for this call is bound to.
    fn bound_in_words(&self, arguments: &Value, roots: &Roots) -> Result<String, ToolError> {
        let bound = self.bound(arguments, roots)?;
        let files: BTreeSet<String> = bound
            .paths
            .iter()
            .filter_map(|path| Some(names::path_to_text(&roots.open_file(path).ok()?.beneath)))
            .collect();
        let shown: Vec<&str> = files.iter().take(MAX_SHOWN_FILES).map(String::as_str).collect();
        let more = files.len() - shown.len();
        let mut words = String::new();
        if !shown.is_empty() {
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            words = format!("reads or runs `{}`{more}, as they are now\n", shown.join("` `"));
        }
        if !bound.is_complete {
            words.push_str(
                "which other files it runs or reads cannot be known: a yes for this call holds only while no \
                 program and no script in the roots changes\n",
            );
        }
        Ok(words)
    }

    /// The line as it would run, for rules. One that cannot be expanded does not run either.
    fn known<'l>(&self, cmd: &'l str, scope: &Scope) -> Cow<'l, str> {
        let roots = self.0.workspaces.of(scope);
        roots.and_then(|roots| expanded(cmd, &roots)).unwrap_or(Cow::Borrowed(cmd))
    }
}

/// The line with paths in place of the names that stand for directories.
fn expanded<'l>(cmd: &'l str, roots: &Roots) -> Result<Cow<'l, str>, ToolError> {
    expand_aliases(cmd, &[STATE_ALIAS, CACHE_ALIAS], |alias| roots.directory_of_alias(alias))
}
