//! The supervisor's program: reads the command line and the settings, and hands over.
//!
//! Secrets leave the environment before anything else happens, threads included.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use process::Variables;
use process::exit::BadSetting;
use supervisor::cli::audit::AuditArguments;
use supervisor::cli::backup::BackupArguments;
use supervisor::cli::chat::{ChatArguments, chat};
use supervisor::cli::next_steps::next_steps;
use supervisor::cli::queue::CommandOutput;
use supervisor::cli::{self, Arguments, Command, RunArguments, Screen, TokenArguments, WhichToken};
use supervisor::config::{Config, SECRET_VARIABLES, data_dir_from};
use supervisor::data_dir::DataDir;
use supervisor::run::RunError;
use supervisor::terminal::Paint;
use supervisor::tokens::Tokens;
use tokio_util::sync::CancellationToken;

/// Enough for one task at a time and a few callers.
const THREADS: usize = 2;

fn main() -> ExitCode {
    obey().unwrap_or_else(|error| {
        let _ = writeln!(std::io::stderr(), "supervisor: {error:#}");
        process::exit::code_of(&error)
    })
}

fn obey() -> anyhow::Result<ExitCode> {
    process::secrets::leave_environment(SECRET_VARIABLES)?;
    let arguments = Arguments::parse();
    let variables = Variables::of_this_process()?;
    let data = data_dir_from(&variables, arguments.data_dir.as_deref())?;
    match arguments.command {
        Command::Run(run) => run_all(&run, &variables, data.path()),
        Command::Chat(chat) => talk(&data, chat),
        Command::Tasks(tasks) => say(cli::tasks::run(&data, &tasks, screen(&variables))),
        Command::Audit(audit) => show_audit(&data, &audit, screen(&variables)),
        Command::Requeue(requeue) => finish(runtime()?.block_on(cli::queue::requeue(&data, &requeue))?),
        Command::Cancel(cancel) => finish(runtime()?.block_on(cli::queue::cancel(&data, &cancel))?),
        Command::Check(check) => {
            let config = Config::from_variables(&variables, Some(data.path()));
            finish(runtime()?.block_on(cli::check::run(&data, config, &check, screen(&variables))))
        }
        Command::Backup(backup) => make_backup(&data, &backup),
        Command::Prune(prune) => say(runtime()?.block_on(cli::prune::run(&data, &prune))),
        Command::Tree(tree) => say(cli::tree::run(&data, &tree)),
        Command::Token(token) => show_token(&data, &token),
    }
}

fn run_all(arguments: &RunArguments, variables: &Variables, data: &Path) -> anyhow::Result<ExitCode> {
    process::logs::start(variables)?;
    let config = Config::from_variables(variables, Some(data))?;
    if variables.secret("AUTONOUS_TOOL_TOKEN").is_some() {
        tracing::warn!("AUTONOUS_TOOL_TOKEN is not used: the supervisor makes a new one at each start");
    }
    let tells = arguments.print_next_steps || std::io::stdout().is_terminal();
    let (program, data) = (program_name(), data.to_owned());
    let announce = move |tokens: &Tokens| {
        let text = if tells {
            next_steps(tokens, &program, &data)
        } else {
            format!("ready: control {} tools {}", tokens.control_url, tokens.tool_url)
        };
        print(&text);
    };
    runtime()?.block_on(async {
        let stop = CancellationToken::new();
        tokio::spawn(cancel_on_request(stop.clone()));
        match supervisor::run::run(config, stop, announce).await {
            Err(error @ RunError::BadSettings(_)) => Err(error).context(BadSetting("it can not run so")),
            ended => Ok(ended?),
        }
    })?;
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
}

async fn cancel_on_request(stop: CancellationToken) {
    match process::shutdown::requested().await {
        Ok(signal) => tracing::info!(signal, "stopping"),
        Err(error) => tracing::error!(%error, "signals can not be received; stopping"),
    }
    stop.cancel();
}

fn talk(data: &DataDir, arguments: ChatArguments) -> anyhow::Result<ExitCode> {
    let json = arguments.json;
    let status = runtime()?.block_on(chat(data, arguments))?;
    if json {
        print(&serde_json::to_string(&status).context("the reply could not be written as JSON")?);
    } else {
        print(status.reply.as_deref().unwrap_or("(no reply)"));
    }
    Ok(if status.status == "done" { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints what a command has to say.
fn say<E: std::error::Error + Send + Sync + 'static>(text: Result<String, E>) -> anyhow::Result<ExitCode> {
    print(&text?);
    Ok(ExitCode::SUCCESS)
}

/// A path may stand for a link: both the path and what it leads to are meant.
fn show_audit(data: &DataDir, arguments: &AuditArguments, screen: Screen) -> anyhow::Result<ExitCode> {
    let mut meant = Vec::new();
    if let Some(file) = &arguments.file {
        meant.extend(std::fs::canonicalize(file));
        meant.push(std::path::absolute(file).context("--file has no absolute path")?);
    }
    say(cli::audit::run(data, arguments, &meant, screen))
}

fn make_backup(data: &DataDir, arguments: &BackupArguments) -> anyhow::Result<ExitCode> {
    let file = std::path::absolute(&arguments.file).context("the backup's file has no absolute path")?;
    say(cli::backup::run(data, arguments, &file))
}

/// Prints what became of some tasks; one that was refused shows in the exit code.
fn finish(said: CommandOutput) -> anyhow::Result<ExitCode> {
    print(&said.text);
    Ok(if said.succeeded { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Colours are for terminals whose user has not said no (`NO_COLOR`).
fn screen(variables: &Variables) -> Screen {
    Screen { paint: Paint(std::io::stdout().is_terminal() && variables.text("NO_COLOR").is_none()) }
}

fn show_token(data: &DataDir, arguments: &TokenArguments) -> anyhow::Result<ExitCode> {
    let tokens = Tokens::read(&data.tokens())?;
    match arguments.which {
        None if arguments.json => {
            print(&serde_json::to_string(&tokens).context("the tokens could not be written as JSON")?);
        }
        Some(WhichToken::Control) => print(&tokens.control_token),
        Some(WhichToken::Tool) => print(&tokens.tool_token),
        None => {
            print(&format!("AUTONOUS_CONTROL_TOKEN={}", tokens.control_token));
            print(&format!("AUTONOUS_TOOL_TOKEN={}", tokens.tool_token));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build();
    runtime.context("the asynchronous runtime could not be started")
}

/// How this program was called, for the commands that it suggests.
fn program_name() -> String {
    std::env::args().next().unwrap_or_else(|| "supervisor".to_owned())
}

/// Prints a line; a reader that went away is nobody's error.
fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{text}").and_then(|()| stdout.flush());
}
