//! The worker's command line: the line protocol without arguments, one task by hand with `once`.
//!
//! It only connects the parts: secrets leave the environment first, then settings are read and validated,
//! then the one thread starts. It makes no decisions.

use std::io::Write as _;
use std::process::ExitCode;

use agent_worker::{check, config::Config, once, serve};
use anyhow::Context;
use clap::{Parser, Subcommand};
use process::confinement::{Confinement, Powers, confine};
use process::{hardening, log_queue, logs, secrets};
use settings::table::TOOL_TOKEN;
use settings::{Search, Source, is_bad_setting};

/// Asks a language model what to do, calls the tools, and answers.
///
/// Without a command it speaks the supervisor's line protocol on stdin and stdout. Settings come from
/// the environment: AUTONOUS_TOOL_URL, AUTONOUS_TOOL_TOKEN, AUTONOUS_MODEL_PROVIDER, AUTONOUS_MODEL_NAME,
/// AUTONOUS_MODEL_BASE_URL, AUTONOUS_MODEL_API_KEY and the other settings of docs/models.md, or
/// AUTONOUS_CONFIG_DIR with a models.toml in it, and the limits AUTONOUS_CONTROL_MAX_TURNS,
/// _MAX_WALL_TIME_SECONDS, _MAX_TOKENS and _MAX_RETRIES.
#[derive(Debug, Parser)]
#[command(name = "agent-worker", version)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run one task by hand and print the reply; exit with 1 if there is none.
    ///
    /// A tool server must run at AUTONOUS_TOOL_URL. Without a model key the text is the tool call
    /// itself: agent-worker once "ls path=src".
    Once {
        /// What to do, as a user would write it.
        text: String,
    },
    /// Check whether the model can be reached, at no cost; exit with 1 if it cannot.
    Check {
        /// Ask the model for an answer of one word, too, which costs a few tokens.
        #[arg(long)]
        request: bool,
        /// Print JSON: {"verdict": "ok|warn|fail", "what": …, "remedy": …}.
        #[arg(long)]
        json: bool,
    },
}

fn main() -> ExitCode {
    process::exit::end("agent-worker", run(), is_bad_setting)
}

fn run() -> anyhow::Result<ExitCode> {
    hardening::harden()?;
    let arguments = Arguments::parse();
    let environment = Source::without_secrets();
    // The supervisor passes on what its own file says.
    let file = match arguments.command {
        Some(_) => settings::find(&environment, Search::OnlyGiven)?,
        None => None,
    };
    let mut secret_variables = models::secret_variables(&environment.with_file(file.as_ref()));
    secret_variables.push(TOOL_TOKEN.name().to_owned());
    secrets::leave_environment(&secret_variables)?;
    let source = Source::of_this_process()?.with_file(file.as_ref());
    let source = source.with_secret_files(&secret_variables)?;
    logs::start(&settings::logs(&source)?);
    let config = Config::read(&source)?;
    confine_to_connections()?;
    log_queue::begin_writing().context("cannot start the thread of the log")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the async runtime")?;
    let end = runtime.block_on(async {
        match arguments.command {
            Some(Command::Check { request, json }) => {
                let mut finding = check::check(config.model.probes()?).await;
                if request && finding.verdict != "fail" {
                    finding = check::ask(&*config.into_model()?).await;
                }
                print_finding(&finding, json)
            }
            Some(Command::Once { text }) => once::run(&config.into_agents()?, &text).await,
            None => Ok(exit_code(serve::run(config.into_agents()?).await)),
        }
    });
    // A pending read of stdin must not delay the exit.
    runtime.shutdown_background();
    end
}

/// From here on the worker opens connections and nothing else: no file but the resolver's, no process.
fn confine_to_connections() -> anyhow::Result<()> {
    let landlock = confine(&Powers::only_connections())?;
    match landlock {
        Confinement::Full => {}
        Confinement::Partial => tracing::warn!(
            "this kernel knows only some of Landlock's rights; a newer one confines the worker fully"
        ),
        Confinement::None => tracing::error!(
            "this kernel has no Landlock: if the worker were taken over, it could read and change every file \
             of its user"
        ),
    }
    Ok(())
}

/// Exit code 0 unless the model cannot be reached.
fn print_finding(finding: &check::Finding, json: bool) -> anyhow::Result<ExitCode> {
    let text = match (json, finding.remedy) {
        (true, _) => serde_json::to_string(finding)?,
        (false, None) => format!("{}: {}", finding.verdict, finding.what),
        (false, Some(remedy)) => format!("{}: {}\n{remedy}", finding.verdict, finding.what),
    };
    writeln!(std::io::stdout(), "{text}")?;
    Ok(if finding.verdict == "fail" { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Exit code 0 when stdin ended, 2 after a protocol violation by the supervisor.
fn exit_code(end: Result<(), serve::ServeError>) -> ExitCode {
    match end {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(%error, "worker stops");
            ExitCode::from(2)
        }
    }
}
