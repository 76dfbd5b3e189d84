//! Checks the child programs: installed, of this version, and able to work.
//!
//! What only they know (how commands are sandboxed, whether the model answers) is asked of them, with the
//! settings that they would be started with.

use std::path::Path;
use std::process::{Output, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use process::confinement::is_landlock_complete;
use process::secrets;
use serde_json::Value;
use settings::table::TOOL_ALLOWED_ROOTS;
use tokio::time::timeout;

use super::Finding;
use process::error_chain;
use supervisor::children::environment::ChildSettings;
use supervisor::children::spawn::{Given, Program, SpawnError, command};
use supervisor::children::tool_server;
use supervisor::config::Config;
use supervisor::far::FarSettings;
use supervisor::startup_resources::PROGRAMS;

/// The pipe with the secrets of one must not be open while another is forked.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// How long a child's own check may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The programs, and the rules of calls, unless they are on another machine.
pub(super) async fn programs_and_rules(config: &Config) -> Vec<Finding> {
    let mut findings = vec![programs(&config.children.programs).await];
    if config.far.is_none() {
        findings.push(policy(config).await);
    }
    findings
}

/// Whether the other programs are in this directory, with the version of this one.
pub(super) async fn programs(directory: &Path) -> Finding {
    const NAME: &str = "programs";
    let own = env!("CARGO_PKG_VERSION");
    for program in PROGRAMS {
        let answered = ask(asked(directory, program, &["--version"])).await;
        let remedy = format!("Install {program} {own} in {}.", directory.display());
        match answered {
            Err(error) => return Finding::fail(NAME, error, remedy),
            Ok(answer) if stdout(&answer) != format!("{program} {own}") => {
                let what = format!("{program} reports {:?}, but this is version {own}", stdout(&answer));
                return Finding::warn(NAME, what, remedy);
            }
            Ok(_) => {}
        }
    }
    Finding::ok(NAME, format!("tool-server and agent-worker {own} found"))
}

/// The sandbox, or the way to the machine that has it.
pub(super) async fn sandbox(config: &Config) -> Finding {
    const NAME: &str = "sandbox";
    if let Some(far) = &config.far {
        return elsewhere(far).await;
    }
    if config.roots.iter().any(|root| !Path::new(root).is_dir()) {
        let what = format!("a root does not exist: {}", config.roots.join(", "));
        return Finding::warn(
            NAME,
            what,
            "`supervisor run` creates the default roots; create any others yourself.",
        );
    }
    let environment = tool_server::environment(&config.children, &config.data, &config.roots);
    sandbox_with(&config.children, environment, &["check", "--json"]).await
}

/// Whether the tool server on another machine can be connected to.
async fn elsewhere(far: &FarSettings) -> Finding {
    const NAME: &str = "tool server";
    let url = far.address();
    let end = match far.far_end() {
        Ok(end) => end,
        Err(error) => return Finding::fail(NAME, error_chain(&error), "Correct the file that it names."),
    };
    match end.probe().await {
        Ok(()) => Finding::ok(NAME, format!("{url} can be connected to")),
        Err(error) => {
            let remedy = "See that it runs there, and that its port can be reached from here.";
            Finding::fail(NAME, format!("{url} cannot be connected to: {error}"), remedy)
        }
    }
}

/// The tier, before there are roots: the tool server tries an empty directory.
pub(crate) async fn tier(settings: &ChildSettings) -> Finding {
    let without_roots = |(name, _): &&(String, String)| name != TOOL_ALLOWED_ROOTS.name();
    let environment = settings.tool_server.iter().filter(without_roots).cloned().collect();
    sandbox_with(settings, environment, &["check", "--quick", "--json"]).await
}

async fn sandbox_with(
    settings: &ChildSettings,
    environment: Vec<(String, String)>,
    arguments: &[&str],
) -> Finding {
    const NAME: &str = "sandbox";
    let asked = asked_quietly(&settings.programs, "tool-server", arguments, environment);
    let answer = match ask(asked).await {
        Ok(answer) => answer,
        Err(error) => return Finding::fail(NAME, error, "Run `tool-server check`."),
    };
    let report: Value = serde_json::from_slice(&answer.stdout).unwrap_or_default();
    let commands = &report["commands"];
    let text = |field: &str| commands[field].as_str().unwrap_or("unknown").to_owned();
    match (commands["tier"].as_str(), answer.status.success()) {
        (Some("A"), true) => Finding::ok(NAME, "commands run in tier A"),
        (Some(tier), true) => {
            let remedy = "Run `tool-server check` to see what tier A needs.";
            Finding::warn(NAME, format!("commands run in tier {tier}"), remedy)
        }
        (None, true) => Finding::ok(NAME, "commands are disabled"),
        (_, false) if commands.is_object() => {
            Finding::warn(NAME, format!("commands cannot run here: {}", text("reason")), text("remedy"))
        }
        (_, false) => Finding::fail(NAME, stderr(&answer), "Run `tool-server check`."),
    }
}

/// The rules of calls, as the tool server reads them.
async fn policy(config: &Config) -> Finding {
    const NAME: &str = "policy";
    let environment = config.children.tool_server.clone();
    let asked = asked_quietly(&config.children.programs, "tool-server", &["policy", "list"], environment);
    match ask(asked).await {
        Ok(answer) if answer.status.success() => {
            let own = stdout(&answer).lines().filter(|rule| rule.starts_with("policy.toml")).count();
            Finding::ok(NAME, format!("{own} rules of calls in policy.toml; the defaults come last"))
        }
        Ok(answer) => Finding::fail(NAME, stderr(&answer), "Correct the file; see docs/policy.md."),
        Err(error) => Finding::fail(NAME, error, "Run `tool-server policy list`."),
    }
}

/// Whether the kernel has what the programs confine themselves with.
pub(super) fn confinement() -> Finding {
    const NAME: &str = "confinement";
    if is_landlock_complete() {
        return Finding::ok(NAME, "the programs confine themselves with Landlock and a system call filter");
    }
    let what = "this kernel lacks Landlock or some of its rights: a program that is taken over could open \
                any file of its user";
    Finding::warn(NAME, what, "Use Linux 6.12 or newer, with landlock in the boot parameter lsm=.")
}

/// Whether the model's server answers, at no cost.
pub(super) async fn model(settings: &ChildSettings) -> Finding {
    model_by(settings, &["check", "--json"]).await
}

/// Whether the model answers a request, which costs a few tokens.
pub(crate) async fn model_answers(settings: &ChildSettings) -> Finding {
    model_by(settings, &["check", "--request", "--json"]).await
}

async fn model_by(settings: &ChildSettings, arguments: &[&str]) -> Finding {
    const NAME: &str = "model";
    let asked = asked_quietly(&settings.programs, "agent-worker", arguments, settings.worker.clone());
    let keys = settings.worker_secrets.iter();
    let secrets = keys.map(|(name, key)| (name.clone(), key.expose().to_owned())).collect();
    let answer = match ask_with(asked, Given { secrets, ..Given::default() }).await {
        Ok(answer) => answer,
        Err(error) => return Finding::fail(NAME, error, "Run `agent-worker check`."),
    };
    let report: Value = serde_json::from_slice(&answer.stdout).unwrap_or_default();
    let verdict = serde_json::from_value(report["verdict"].clone());
    match (verdict, report["what"].as_str()) {
        (Ok(verdict), Some(what)) => Finding {
            name: NAME.into(),
            verdict,
            what: what.to_owned(),
            remedy: report["remedy"].as_str().map(str::to_owned),
        },
        (_, _) => Finding::fail(NAME, stderr(&answer), "Correct the variable; see docs/models.md."),
    }
}

fn asked(directory: &Path, program: &str, arguments: &[&str]) -> Program {
    Program {
        name: program.to_owned(),
        path: directory.join(program),
        arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
        environment: Vec::new(),
        reads_stdout: true,
    }
}

/// A program that logs errors only; a later variable overrides an earlier one.
fn asked_quietly(
    directory: &Path,
    program: &str,
    arguments: &[&str],
    mut environment: Vec<(String, String)>,
) -> Program {
    environment.push(("RUST_LOG".to_owned(), "error".to_owned()));
    Program { environment, ..asked(directory, program, arguments) }
}

async fn ask(program: Program) -> Result<Output, String> {
    ask_with(program, Given::default()).await
}

async fn ask_with(program: Program, given: Given) -> Result<Output, String> {
    let child = start(&program, given).map_err(|error| error_chain(&error))?;
    let path = program.path.display();
    match timeout(PATIENCE, child.wait_with_output()).await {
        Err(_) => Err(format!("{path} did not answer within {} s", PATIENCE.as_secs())),
        Ok(answer) => answer.map_err(|error| format!("{path}: {error}")),
    }
}

/// This command is not confined and needs no launcher.
fn start(program: &Program, given: Given) -> Result<tokio::process::Child, SpawnError> {
    let _only = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut descriptors = given.descriptors;
    descriptors.push(secrets::into_pipe(&given.secrets)?);
    let streams = [Stdio::null(), Stdio::piped(), Stdio::piped()];
    let command = command(program, streams, descriptors).map_err(std::io::Error::other);
    let started =
        command.and_then(|command| tokio::process::Command::from(command).kill_on_drop(true).spawn());
    started.map_err(|error| SpawnError::Start(program.path.clone(), error))
}

fn stdout(answer: &Output) -> String {
    String::from_utf8_lossy(&answer.stdout).trim().to_owned()
}

/// The last line that a child logged.
fn stderr(answer: &Output) -> String {
    let text = String::from_utf8_lossy(&answer.stderr).into_owned();
    text.lines()
        .rfind(|line| !line.trim().is_empty())
        .unwrap_or("it exited without an error message")
        .to_owned()
}
