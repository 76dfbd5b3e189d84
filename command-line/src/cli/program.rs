//! Reads the command line and the settings, and runs the command.
//!
//! Secrets are removed from the environment first, before any thread starts.

use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use crate::cli::audit::AuditArguments;
use crate::cli::backup::BackupArguments;
use crate::cli::chat::{self, Terminals};
use crate::cli::check::CheckArguments;
use crate::cli::config::{ConfigArguments, ConfigCommand};
use crate::cli::next_steps::next_steps;
use crate::cli::queue::CommandOutput;
use crate::cli::{self, Arguments, Command, RunArguments, TokenArguments, WhichToken, print};
use crate::terminal::{Paint, Screen};
use anyhow::Context;
use clap::{CommandFactory as _, Parser as _};
use process::confinement::{Confinement, Powers, confine};
use process::exit::BadSetting;
use process::shutdown::{Hangup, Request, Requests};
use settings::config_file::ConfigFileError;
use settings::table::{CONFIG_DIR, TOOL_APPROVER_TOKEN};
use settings::{Search, Source, is_bad_setting};
use supervisor::children::launcher;
use supervisor::config::{Config, data_dir_from, roots, secret_variables};
use supervisor::data_dir::DataDir;
use supervisor::reload::SettingsOrigin;
use supervisor::run::RunError;
use supervisor::startup_resources::StartupResources;
use supervisor::tokens::Tokens;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use toml_edit::DocumentMut;

/// Enough for one task at a time and a few clients.
const THREADS: usize = 2;

/// Runs the command that the command line names.
pub(crate) fn main() -> ExitCode {
    process::exit::end("supervisor", run_command(), is_bad_setting)
}

fn run_command() -> anyhow::Result<ExitCode> {
    process::hardening::harden()?;
    let arguments = Arguments::parse();
    match arguments.command {
        Command::Launcher => {
            process::secrets::leave_environment(&secret_variables(&Source::without_secrets()))?;
            launcher::serve().map(|()| ExitCode::SUCCESS)
        }
        Command::Completions(completions) => {
            cli::print_bytes(&manual::completions(Arguments::command(), &completions));
            Ok(ExitCode::SUCCESS)
        }
        Command::Man(man) => {
            manual::write_man_pages(Arguments::command(), &man).context("cannot write the man pages")?;
            Ok(ExitCode::SUCCESS)
        }
        command => with_settings(command, arguments.data_dir),
    }
}

/// Carries out a command that needs settings. `named` is the data directory of the command line.
fn with_settings(command: Command, named: Option<PathBuf>) -> anyhow::Result<ExitCode> {
    let environment = Source::without_secrets();
    let search = named.as_deref().map_or(Search::Default, Search::Named);
    let file = settings::find(&environment, search);
    let with_file = |source: &Source| source.clone().with_file(file.as_ref().ok().and_then(Option::as_ref));
    process::secrets::leave_environment(&secret_variables(&with_file(&environment)))?;
    let environment = Source::of_this_process()?;
    let source = with_file(&environment);
    let data = data_dir_from(&source, named.as_deref())?;
    let file = file.map(drop);
    let done = match (command, file) {
        (Command::Check(check), file) => run_checks(&source, file, &data, &check),
        (Command::Config(config), file) => configure(&source, file, &data, &config),
        (command @ Command::Version(_), _) => carry_out(command, &source, &data),
        (_, Err(error)) => Err(error.into()),
        (Command::Run(run), Ok(())) => run_all(&run, &source, &data, SettingsOrigin::new(environment, named)),
        (Command::Setup(setup), Ok(())) => {
            let path = cli::config::place(&source, &data);
            let set_up = crate::setup::run(path, &environment, &data, &setup);
            runtime().and_then(|runtime| runtime.block_on(set_up)).map(|()| ExitCode::SUCCESS)
        }
        (command, Ok(())) => carry_out(command, &source, &data),
    };
    done.map_err(|error| source.located_any(error))
}

fn carry_out(command: Command, source: &Source, data: &DataDir) -> anyhow::Result<ExitCode> {
    match command {
        Command::Launcher
        | Command::Completions(_)
        | Command::Man(_)
        | Command::Run(_)
        | Command::Setup(_)
        | Command::Check(_)
        | Command::Config(_) => Ok(ExitCode::FAILURE),
        Command::Chat(arguments) => chat::run(&runtime()?, data, arguments, terminals(source)),
        Command::Follow(follow) => {
            cli::follow::run(data, &follow, terminals(source).stdout)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Tasks(tasks) => print_output(cli::tasks::run(data, &tasks, screen(source))),
        Command::Audit(audit) => show_audit(data, &audit, screen(source)),
        Command::Requeue(requeue) => exit_with(runtime()?.block_on(cli::queue::requeue(data, &requeue))?),
        Command::Cancel(cancel) => exit_with(runtime()?.block_on(cli::queue::cancel(data, &cancel))?),
        Command::Resend(resend) => exit_with(runtime()?.block_on(cli::resend::run(data, &resend))?),
        Command::Undo(undo) => exit_with(runtime()?.block_on(cli::undo::run(data, &undo))?),
        Command::Usage(usage) => print_output(cli::usage::run(data, &usage, screen(source))),
        Command::Schedules(schedules) => print_output(cli::schedules::run(data, &schedules, screen(source))),
        Command::Chats(chats) => print_once_done(cli::chats::show(data, chats, screen(source))),
        Command::Nodes(nodes) => print_once_done(cli::nodes::run(data, nodes, screen(source))),
        Command::Pair(pair) => print_once_done(cli::chats::pair(data, pair)),
        Command::Unpair(unpair) => print_once_done(cli::chats::unpair(data, unpair)),
        Command::Approvals(list) => print_once_done(cli::approvals::show(data, &list, screen(source))),
        Command::Approve(approve) => print_once_done(cli::approvals::approve(data, &approve)),
        Command::Answer(answer) => print_once_done(cli::approvals::answer(data, &answer)),
        Command::Deny(deny) => print_once_done(cli::approvals::deny(data, &deny)),
        Command::Backup(backup) => make_backup(source, data, &backup),
        Command::MoveDatabase(to) => print_output(cli::move_database::run(data, &to, screen(source))),
        Command::Prune(prune) => print_once_done(cli::prune::run(data, &prune)),
        Command::Journal { command } => print_once_done(cli::journal::run(data, &command)),
        Command::Tree(tree) => print_output(cli::tree::run(data, &tree, screen(source))),
        Command::Open(open) => {
            let has_desktop = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| source.text(name).is_some());
            print_once_done(cli::page::open(data, &open, has_desktop))
        }
        Command::SignOut => print_once_done(cli::page::sign_out(data)),
        Command::Version(version) => {
            exit_with(runtime()?.block_on(cli::version::run(data, &version, screen(source)))?)
        }
        Command::Token(token) => show_token(data, &token),
    }
}

fn run_all(
    arguments: &RunArguments,
    source: &Source,
    data: &DataDir,
    origin: SettingsOrigin,
) -> anyhow::Result<ExitCode> {
    let data = data.path();
    process::logs::start(&settings::logs(source)?);
    process::open_files::raise_limit().context("could not raise the limit of open files")?;
    let source = &source.with_secret_files(&secret_variables(source))?;
    let config = Config::read(source, Some(data))?;
    let origin = SettingsOrigin { at_start: source.clone(), ..origin };
    warn_of_what_is_ignored(&config, source);
    let announce = announcing(arguments, data);
    let resources = StartupResources::acquire(&config)?;
    confine_self(&config)?;
    process::log_queue::begin_writing().context("could not start the thread of the log")?;
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        let stop = CancellationToken::new();
        // Before it announces that it is ready: a request to stop could follow at once.
        let requests = Requests::catch(Hangup::of_a_service()).context("could not catch signals")?;
        tokio::spawn(follow_requests(requests, stop.clone(), Arc::clone(&origin.asked)));
        match supervisor::run::run(config, resources, origin, stop, announce).await {
            Err(error @ RunError::BadSettings(_)) => {
                Err(error).context(BadSetting("cannot run with these settings"))
            }
            ended => Ok(ended?),
        }
    });
    // What hangs on a disk must not delay the exit.
    runtime.shutdown_background();
    ended?;
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
}

fn warn_of_what_is_ignored(config: &Config, source: &Source) {
    if config.far.is_none() && source.secret(TOOL_APPROVER_TOKEN.name()).is_some() {
        let name = TOOL_APPROVER_TOKEN.name();
        tracing::warn!("{name} is ignored: the supervisor generates one at each start");
    }
    if config.far.is_some() && has_rules(config.config_dir.as_deref()) {
        tracing::warn!(
            "the rules for calls in policy.toml hold nowhere: those of a tool server on another machine are \
             in the policy.toml there"
        );
    }
}

/// Whether the `policy.toml` of this directory has rules for calls, which only a tool server reads.
fn has_rules(config_dir: Option<&Path>) -> bool {
    let text = config_dir.and_then(|directory| std::fs::read_to_string(directory.join("policy.toml")).ok());
    let policy = text.and_then(|text| text.parse::<DocumentMut>().ok());
    policy.is_some_and(|policy| policy.contains_key("rule"))
}

/// Prints that everything is ready, with whether there is a model.
fn announcing(arguments: &RunArguments, data: &Path) -> impl FnOnce(&Tokens, bool) + Send + 'static {
    let prints_next_steps = arguments.print_next_steps || std::io::stdout().is_terminal();
    let (program, data) = (program_name(), data.to_owned());
    move |tokens, has_model| {
        let text = if prints_next_steps {
            next_steps(tokens, has_model, &program, &data)
        } else {
            format!("ready: control {} tools {}", tokens.control_url, tokens.tool_url)
        };
        // Whatever reads stdout may have stopped reading.
        let printing = thread::Builder::new().name("announce".to_owned()).spawn(move || print(&text));
        if let Err(error) = printing {
            tracing::warn!(%error, "could not print that the supervisor is ready");
        }
    }
}

/// From here on this process starts no program, signals no other process, listens on no further port, and
/// reaches no file but those of the data and configuration directories, those that the address of a database
/// server names, and what resolving names needs. All of `/etc` is readable, because a rule belongs to a file
/// and not to its name, and `/etc/resolv.conf` is replaced while we run.
fn confine_self(config: &Config) -> anyhow::Result<()> {
    let powers = Powers {
        read_write: config.data.own_directories(),
        read_only: [PathBuf::from("/etc")]
            .into_iter()
            .chain(config.config_dir.clone())
            .chain(config.data.files_of_server())
            .collect(),
        connections: true,
        forks: false,
    };
    match confine(&powers)? {
        Confinement::Full => {}
        Confinement::Partial => tracing::warn!(
            "this kernel knows only some of Landlock's rights; a newer one confines the supervisor fully"
        ),
        Confinement::None => tracing::error!(
            "this kernel has no Landlock: the supervisor's files are not confined to its data directory"
        ),
    }
    Ok(())
}

async fn follow_requests(mut requests: Requests, stop: CancellationToken, reload: Arc<Notify>) {
    loop {
        match requests.next().await {
            Request::Reload => reload.notify_one(),
            Request::End(signal) => {
                stop.cancel();
                tracing::info!(signal, "stopping");
                return;
            }
        }
    }
}

fn print_once_done<E: Into<anyhow::Error>>(
    work: impl Future<Output = Result<String, E>>,
) -> anyhow::Result<ExitCode> {
    print_output(runtime()?.block_on(work))
}

fn print_output(text: Result<String, impl Into<anyhow::Error>>) -> anyhow::Result<ExitCode> {
    print(&text.map_err(Into::into)?);
    Ok(ExitCode::SUCCESS)
}

/// Settings that are invalid are a finding, too.
fn run_checks(
    source: &Source,
    file: Result<(), ConfigFileError>,
    data: &DataDir,
    arguments: &CheckArguments,
) -> anyhow::Result<ExitCode> {
    let config = file.map_err(anyhow::Error::from);
    let config = config.and_then(|()| Ok(source.with_secret_files(&secret_variables(source))?));
    let config = config.and_then(|source| Config::read(&source, Some(data.path())));
    let config = config.map_err(|error| source.located_any(error));
    exit_with(runtime()?.block_on(cli::check::run(data, config, arguments, screen(source))))
}

/// A file that cannot be used keeps neither a new one nor a judgement from being made.
fn configure(
    source: &Source,
    file: Result<(), ConfigFileError>,
    data: &DataDir,
    arguments: &ConfigArguments,
) -> anyhow::Result<ExitCode> {
    let text = match &arguments.command {
        Some(ConfigCommand::Init { file }) => cli::config::init(source, data, file.as_deref())?,
        Some(ConfigCommand::Check { file }) => cli::config::check(file, data)?,
        None => {
            file?;
            cli::config::show(source, data, arguments)
        }
    };
    print(&text);
    Ok(ExitCode::SUCCESS)
}

/// The path may be a symlink: both it and its target are looked up.
fn show_audit(data: &DataDir, arguments: &AuditArguments, screen: Screen) -> anyhow::Result<ExitCode> {
    let mut paths = Vec::new();
    if let Some(file) = &arguments.file {
        paths.extend(std::fs::canonicalize(file));
        paths.push(std::path::absolute(file).context("--file has no absolute path")?);
    }
    print_output(cli::audit::run(data, arguments, &paths, screen))
}

fn make_backup(source: &Source, data: &DataDir, arguments: &BackupArguments) -> anyhow::Result<ExitCode> {
    let file = std::path::absolute(&arguments.file).context("the backup's file has no absolute path")?;
    let roots: Vec<PathBuf> = roots(source, data)?.into_iter().map(PathBuf::from).collect();
    let config_dir = CONFIG_DIR.read(source)?;
    print_output(cli::backup::run(data, arguments, (&roots, config_dir), &file))
}

/// Prints a command's output; the exit code shows whether it succeeded.
fn exit_with(output: CommandOutput) -> anyhow::Result<ExitCode> {
    print(&output.text);
    Ok(if output.succeeded { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn terminals(source: &Source) -> Terminals {
    let screen = |stream: &dyn AsFd| screen_of(source, stream);
    let reads_keys = std::io::stdin().is_terminal();
    Terminals { reads_keys, stdout: screen(&std::io::stdout()), stderr: screen(&std::io::stderr()) }
}

/// The terminal behind a stream, unless it takes no control characters. Colours are for those without
/// `NO_COLOR`.
fn screen_of(source: &Source, stream: &dyn AsFd) -> Option<Screen> {
    let is_terminal = rustix::termios::isatty(stream) && source.text("TERM") != Some("dumb");
    let columns = || rustix::termios::tcgetwinsize(stream).map_or(0, |size| size.ws_col);
    is_terminal.then(|| Screen::of_terminal(columns(), Paint(source.text("NO_COLOR").is_none())))
}

/// Where tables are printed.
fn screen(source: &Source) -> Screen {
    terminals(source).stdout.unwrap_or(Screen::PLAIN)
}

fn show_token(data: &DataDir, arguments: &TokenArguments) -> anyhow::Result<ExitCode> {
    let tokens = Tokens::read(&data.tokens())?;
    match arguments.which {
        None if arguments.json => {
            print(&serde_json::to_string(&tokens).context("could not encode the tokens as JSON")?);
        }
        Some(WhichToken::Control) => print(&tokens.control_token),
        Some(WhichToken::Tool) => print(&tokens.tool_token),
        Some(WhichToken::Approver) => print(&tokens.approver_token),
        None => {
            print(&format!("AUTONOUS_CONTROL_TOKEN={}", tokens.control_token));
            print(&format!("AUTONOUS_TOOL_TOKEN={}", tokens.tool_token));
            print(&format!("AUTONOUS_TOOL_APPROVER_TOKEN={}", tokens.approver_token));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build();
    runtime.context("could not start the async runtime")
}

/// How this program was called, for the commands it suggests.
fn program_name() -> String {
    std::env::args().next().unwrap_or_else(|| "supervisor".to_owned())
}
