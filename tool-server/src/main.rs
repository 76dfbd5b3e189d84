//! The tool server's command line.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use cage::control_files::ControlFiles;
use clap::{CommandFactory as _, Parser, Subcommand};
use fetcher::Fetcher;
use files::change::Durability;
use files::output_store::OutputStore;
use files::roots::{DeniedPaths, Roots, Workspaces};
use manual::{CompletionsArguments, ManArguments};
use process::allocator::{self, Allocator};
use process::confinement::{Powers, confine};
use process::exit::BadSetting;
use process::lifeline::{self, Parting};
use process::log_queue::{self, LogSink};
use process::secrets::Divided;
use process::shutdown::{self, Hangup, Request};
use process::{Secret, hardening, logs, secrets};
use progress_line::ProgressLine;
use protocol::SessionId;
use redaction::{RedactingWriter, Redactor};
use sandbox::Depth;
use settings::table::{DATA_DIR, TOOL_APPROVER_TOKEN, TOOL_JOURNAL, TOOL_LISTEN, TOOL_MCP_USERS_DECIDE};
use settings::{FILE_ENDING, Search, Source, is_bad_setting};
use tool_server::call_rules;
use tool_server::client_data::ClientData;
use tool_server::config::{Config, DEFAULT_JOURNAL, SECRET_VARIABLES};
use tool_server::guard_check;
use tool_server::http::api_document;
use tool_server::journal::{Chain, verify};
use tool_server::listen::Listen;
use tool_server::own_token::TokenPlace;
use tool_server::self_check;
use tool_server::server::{Server, THREADS};
use tool_server::service_report::ServiceReport;
use tool_server::startup_resources::StartupResources;
use tool_server::tokens::NewToken;
use tool_server::tool_context::ToolContext;
use tool_server::tools;
use toolkit::Registry;
use toolkit::policy::Caller;

/// Runs an agent's tools over HTTP, each call confined by the kernel and answered with one envelope.
///
/// Settings come from AUTONOUS_… variables; the only one that must be set is AUTONOUS_TOOL_ALLOWED_ROOTS.
#[derive(Parser)]
#[command(name = "tool-server", version)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

#[derive(Subcommand)]
enum Command {
    /// Serve the tools (also without any command).
    Serve {
        /// Exit when stdin reports end of file, because the parent process is gone.
        #[arg(long)]
        lifeline: bool,
    },
    /// Serve the tools in these directories, with defaults for everything else, and print how to call them.
    ///
    /// Journal, outputs and the token are below the user's directory for states (~/.local/state), unless
    /// AUTONOUS_DATA_DIR is set. The token stays the same.
    Run {
        /// A directory that tools may use; can be given several times.
        ///
        /// Without one, those in AUTONOUS_TOOL_ALLOWED_ROOTS.
        #[arg(long = "root", value_name = "DIR")]
        roots: Vec<PathBuf>,
        /// The address to listen on [default: $AUTONOUS_TOOL_LISTEN, else 127.0.0.1:8701]
        #[arg(long, value_name = "ADDRESS", value_parser = |text: &str| TOOL_LISTEN.parse(text))]
        listen: Option<SocketAddr>,
    },
    /// Serve the tools over MCP to the client that starts this program, on stdin and stdout.
    Mcp {
        /// A directory that tools may use; can be given several times.
        ///
        /// Without one, those in AUTONOUS_TOOL_ALLOWED_ROOTS.
        #[arg(long = "root", value_name = "DIR")]
        roots: Vec<PathBuf>,
    },
    /// Try every known way out of the sandbox, and report what holds. Needs no settings.
    Check {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        /// Try only what a start tries, which shows the tier.
        #[arg(long)]
        quick: bool,
    },
    /// Print the OpenAPI document.
    Openapi,
    /// Look at the rules of calls: those of policy.toml in AUTONOUS_CONFIG_DIR, and the defaults.
    Policy {
        #[command(subcommand)]
        command: PolicyCommand,
    },
    /// Make a token for a caller that may do less than the server's own.
    Token {
        #[command(subcommand)]
        command: TokenCommand,
    },
    /// Maintain the journal of tool calls.
    Journal {
        #[command(subcommand)]
        command: JournalCommand,
    },
    /// Print the script with which a shell completes this program's command line.
    Completions(CompletionsArguments),
    /// Write the man pages into a directory; packages do.
    #[command(hide = true)]
    Man(ManArguments),
}

#[derive(Subcommand)]
enum TokenCommand {
    /// Print a new token, once, and the lines for the file that AUTONOUS_TOOL_TOKENS_FILE names.
    New(NewToken),
}

#[derive(Subcommand)]
enum PolicyCommand {
    /// Print the rules in their order.
    List,
    /// Print which rule decides about a call, and why. Nothing is run.
    Test {
        /// The tool, or file_download or file_upload.
        tool: String,
        /// Its arguments, as JSON.
        arguments: String,
        /// The session of the call.
        #[arg(long, default_value = "default")]
        session: SessionId,
        /// Suppose that the server has no token.
        #[arg(long)]
        without_token: bool,
    },
}

#[derive(Subcommand)]
enum JournalCommand {
    /// Check that no record was changed, removed or reordered, through all files of the journal.
    ///
    /// The archives beside the journal (tool-calls.jsonl.000001 and so on) belong to its chain. If the oldest
    /// were removed, the check begins with the first that exists.
    Verify {
        /// The journal; by default AUTONOUS_TOOL_JOURNAL, or the one in AUTONOUS_DATA_DIR.
        path: Option<PathBuf>,
        /// Fail if the last record has another hash than this one.
        ///
        /// A chain proves nothing about its own end: keep the last hash elsewhere, and compare it here.
        #[arg(long, value_name = "HASH")]
        expect: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

fn main() -> ExitCode {
    allocator::give_back_at_once();
    let ended = hardening::harden()
        .map_err(anyhow::Error::from)
        .and_then(|()| run(Cli::parse().command.unwrap_or(Command::Serve { lifeline: false })));
    process::exit::end("tool-server", ended.map(|()| ExitCode::SUCCESS), is_bad_setting)
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Serve { lifeline } => serve(&Callers::OnPort { lifeline }),
        Command::Run { roots, listen } => serve(&Callers::OfOneUser { roots, listen }),
        Command::Mcp { roots } => serve(&Callers::OnStdin { roots }),
        Command::Check { json, quick } => check(json, if quick { Depth::Quick } else { Depth::Full }),
        Command::Openapi => print_openapi(),
        Command::Completions(arguments) => {
            Ok(std::io::stdout().write_all(&manual::completions(Cli::command(), &arguments))?)
        }
        Command::Man(arguments) => Ok(manual::write_man_pages(Cli::command(), &arguments)?),
        Command::Policy { command } => policy(command),
        Command::Token { command: TokenCommand::New(token) } => {
            Ok(write!(std::io::stdout(), "{}", token.text()?)?)
        }
        Command::Journal { command: JournalCommand::Verify { path, expect, json } } => {
            verify_journal(path, expect.as_deref(), json)
        }
    }
}

/// Who is served.
enum Callers {
    OnPort { lifeline: bool },
    OfOneUser { roots: Vec<PathBuf>, listen: Option<SocketAddr> },
    OnStdin { roots: Vec<PathBuf> },
}

impl Callers {
    fn config(&self, source: &Source, current_dir: &Path) -> anyhow::Result<(Config, Option<ClientData>)> {
        let read = match self {
            Self::OnPort { .. } => Config::read(source, current_dir).map(|config| (config, None)),
            Self::OfOneUser { roots, .. } => {
                Config::for_roots(source, current_dir, roots).map(|config| (config, None))
            }
            Self::OnStdin { roots } => Config::for_client(source, current_dir, roots),
        };
        read.map_err(|error| source.located_any(error))
    }

    /// Where the server listens, and for a person who starts it where its token is.
    fn listen(
        &self,
        source: &Source,
        current_dir: &Path,
        config: &Config,
    ) -> anyhow::Result<(Listen, Option<TokenPlace>)> {
        let network = config.commands.network;
        match self {
            Self::OnPort { .. } => Ok((Listen::read(source, network)?, None)),
            Self::OfOneUser { listen, .. } => {
                let (place, token) = TokenPlace::of(source, current_dir, &config.files.data_dir)?;
                Ok((Listen::with(source, network, *listen, Some(token))?, Some(place)))
            }
            Self::OnStdin { .. } => Ok((Listen::to_stdin(), None)),
        }
    }

    /// Whether the users of clients are asked about their calls.
    fn users_decide(&self, source: &Source) -> anyhow::Result<bool> {
        match self {
            Self::OnPort { .. } | Self::OfOneUser { .. } => Ok(TOOL_MCP_USERS_DECIDE.read(source)?),
            Self::OnStdin { .. } => Ok(true),
        }
    }

    /// A server below the supervisor is asked by a line.
    fn on_hangup(&self) -> Hangup {
        if self.have_lifeline() { Hangup::Ends } else { Hangup::of_a_service() }
    }

    /// Whether the parent holds stdin open as long as it lives, and says nothing else there.
    fn have_lifeline(&self) -> bool {
        matches!(self, Self::OnPort { lifeline: true })
    }
}

/// The environment and the settings file of a server that its user starts. The default data directory, where
/// commands could write, is not looked into.
fn own_settings() -> anyhow::Result<Source> {
    let environment = Source::without_secrets();
    let file = settings::find(&environment, Search::OnlyGiven)?;
    Ok(environment.with_file(file.as_ref()))
}

fn serve(callers: &Callers) -> anyhow::Result<()> {
    let current_dir = std::env::current_dir()?;
    // The supervisor passes on what its own file says.
    let source = if callers.have_lifeline() { Source::without_secrets() } else { own_settings()? };
    let of_fetcher = fetcher::secret_variables(&source, &current_dir);
    let own = SECRET_VARIABLES.iter().map(|name| (*name).to_owned());
    secrets::leave_environment(&own.chain(of_fetcher.iter().cloned()).collect::<Vec<_>>())?;
    process::open_files::raise_limit()?;
    let (config, _held) = callers.config(&source, &current_dir)?;
    // Its secrets are taken out of the pipe before this process reads the others.
    let divided = secrets::divide(&of_fetcher)?;
    let has_approver = is_set(TOOL_APPROVER_TOKEN.name(), &source, divided.as_ref());
    let can_ask = has_approver || callers.users_decide(&source)?;
    let secrets_of_fetcher = divided.map(|divided| divided.theirs);
    let start_fetcher = || Fetcher::start(&config.web, &source, secrets_of_fetcher);
    let fetcher = config.needs_the_web(can_ask).then(start_fetcher).transpose()?;
    let mut resources = StartupResources::acquire(&config, Depth::Quick)?;
    fetcher
        .as_ref()
        .map_or(Ok(()), Fetcher::ready)
        .context(BadSetting("the web cannot be used as it is set up"))?;
    resources.fetcher = fetcher.map(Arc::new);
    // From here on this process has secrets; the spawner has none.
    let source = source.receive_secrets()?.with_secret_files(SECRET_VARIABLES)?;
    let (listen, token) = callers.listen(&source, &current_dir, &config)?;
    let redactor =
        Arc::new(Redactor::new(listen.token.iter().chain(&listen.approver_token).map(Secret::expose)));
    let log_redactor = Arc::clone(&redactor);
    logs::start_to(&settings::logs(&source)?, move || {
        RedactingWriter::new(LogSink, Arc::clone(&log_redactor))
    });
    let certificate = listen.tls.as_ref().map(|tls| tls.certificate.clone());
    let server = Server::open(&config, listen, resources, redactor)?;
    log_queue::begin_writing().context("cannot start the thread of the log")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build()?;
    let served = runtime.block_on(async {
        // Before the server announces that it listens: a request to end could follow at once.
        let requests = shutdown::Requests::catch(callers.on_hangup()).context("could not catch signals")?;
        if let (Some(token), Some(address)) = (token, server.address()?) {
            greet(&token.greeting(address, certificate.as_deref(), &config)).context("cannot print")?;
        }
        let reload = server.reload();
        server.serve(end(requests, callers.have_lifeline(), reload)).await
    });
    runtime.shutdown_background();
    served
}

fn greet(greeting: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout();
    stdout.write_all(greeting.as_bytes())?;
    stdout.flush()
}

/// Whether a secret will be there, before any is read.
fn is_set(secret: &str, source: &Source, divided: Option<&Divided>) -> bool {
    source.text(&format!("{secret}{FILE_ENDING}")).is_some()
        || divided.is_some_and(|divided| divided.ours.iter().any(|name| name == secret))
}

/// Starts as a server would, runs the self-check, and prints what it found.
fn check(json: bool, depth: Depth) -> anyhow::Result<()> {
    let source = own_settings()?;
    let read_config = || Config::for_check(&source, &std::env::current_dir()?);
    let mut config = read_config()?;
    let scratch = tempfile::tempdir()?;
    if config.files.roots.is_empty() {
        let note = "AUTONOUS_TOOL_ALLOWED_ROOTS is not set; checking with an empty temporary directory";
        writeln!(std::io::stderr(), "tool-server: {note}")?;
        config = config.with_scratch(scratch.path())?;
    }
    // It forks.
    let progress = ProgressLine::without_clock();
    progress.step("Trying the ways out of the sandbox");
    let mut resources = StartupResources::acquire(&config, depth)?;
    scratch.close()?;
    if resources.spawner.is_ok() && depth == Depth::Full {
        resources.capabilities.findings.extend(guard_check::findings(read_config()?, &progress));
    }
    drop(progress);
    // This process has nothing more to open, so it can try the server's own confinement on itself.
    let confinement = confine(&Powers::default())?;
    let mut checks = self_check::run(&config, confinement, &resources.capabilities);
    checks.push(self_check::own_confinement());
    let report = ServiceReport {
        checks,
        confinement,
        capabilities: resources.capabilities,
        raw_files: config.raw_files,
    };
    let text = if json { serde_json::to_string_pretty(&report.capabilities())? } else { report.to_text() };
    writeln!(std::io::stdout(), "{}", text.trim_end())?;
    anyhow::ensure!(
        resources.spawner.is_ok() || config.commands.disable_exec,
        "this machine cannot sandbox commands"
    );
    if let (Ok(_), Some(escape)) = (&resources.spawner, report.capabilities.escape()) {
        anyhow::bail!("a guard of the tool server does not hold: {}", escape.attempt);
    }
    Ok(())
}

/// Resolves when the server should exit, with how long running calls may take.
async fn end(
    mut requests: shutdown::Requests,
    lifeline: bool,
    reload: impl Fn() + Send + Clone + 'static,
) -> Duration {
    let reload_by_line = reload.clone();
    let asked = async {
        loop {
            match requests.next().await {
                Request::Reload => reload(),
                Request::End(signal) => {
                    tracing::info!(signal, "exiting");
                    return LAST_CALLS;
                }
            }
        }
    };
    let parted = async {
        if !lifeline {
            std::future::pending::<()>().await;
        }
        match lifeline::parting(reload_by_line).await {
            Parting::Finish => {
                tracing::info!("finishing the running calls");
                Duration::MAX
            }
            Parting::Gone => {
                tracing::info!("the parent process is gone; exiting");
                LAST_CALLS
            }
        }
    };
    tokio::select! {
        patience = asked => patience,
        patience = parted => patience,
    }
}

/// How long running calls may take after a signal; a parent decides by itself.
const LAST_CALLS: Duration = Duration::from_secs(10);

/// The document with all tools. It does not depend on the roots, so an empty temporary directory is enough.
fn print_openapi() -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    let document = api_document::document(&openapi_registry(scratch.path())?, |_| true);
    writeln!(std::io::stdout(), "{}", document.to_pretty_json()?)?;
    Ok(())
}

fn openapi_registry(directory: &Path) -> anyhow::Result<Registry> {
    let roots =
        Roots::open(&[directory.to_owned()], DeniedPaths::new([])?, ControlFiles::default(), |_| None)?;
    let output = Arc::new(OutputStore::open(directory)?);
    let context =
        ToolContext::files_only(roots, &directory.join("pending"), output, 0, 0, Durability::Cached)?;
    Ok(tools::registry(&context)?)
}

/// Reads the settings as a server would, and asks the rules.
fn policy(command: PolicyCommand) -> anyhow::Result<()> {
    let config = Config::for_check(&own_settings()?, &std::env::current_dir()?)?;
    let scratch = tempfile::tempdir()?;
    let config = if config.files.roots.is_empty() { config.with_scratch(scratch.path())? } else { config };
    let files = &config.files;
    let roots = Roots::open(&files.roots, files.denied.clone(), files.protected.clone(), |_| None)?;
    let workspaces = Workspaces::new(roots, files.division);
    let output = Arc::new(OutputStore::open(scratch.path())?);
    let pending = scratch.path().join("pending");
    let context =
        ToolContext::files_only(workspaces, &pending, Arc::clone(&output), 0, 0, Durability::Cached)?;
    let registry = tools::registry(&context.with_web(config.web.clone(), output))?;
    let policy = call_rules::of(&config, &registry)?;
    let text = match command {
        PolicyCommand::List => {
            let line = |rule: &toolkit::policy::Rule| {
                format!("{}: {} ({})\n", rule.origin(), rule.decision().name(), rule.reason())
            };
            let listed: String = policy.rules().iter().map(line).collect();
            format!("{listed}otherwise: allow")
        }
        PolicyCommand::Test { tool, arguments, session, without_token } => {
            let caller = if without_token { Caller::Anonymous } else { Caller::Token };
            let verdict =
                registry.verdict(&policy, (&tool, arguments.as_bytes()), &session.into(), caller)?;
            format!("{}: {} ({})", verdict.rule, verdict.decision.name(), verdict.reason)
        }
    };
    writeln!(std::io::stdout(), "{text}")?;
    Ok(())
}

fn verify_journal(path: Option<PathBuf>, expected: Option<&str>, json: bool) -> anyhow::Result<()> {
    let source = own_settings()?;
    let data_dir = DATA_DIR.read(&source)?;
    let path = path.or(TOOL_JOURNAL.read(&source)?).unwrap_or_else(|| data_dir.join(DEFAULT_JOURNAL));
    let chain = verify(&path, &ProgressLine::new()).context("the journal is not intact")?;
    let is_expected = expected.is_none_or(|hash| hash.eq_ignore_ascii_case(&chain.last_hash));
    anyhow::ensure!(
        is_expected,
        "{}: the last hash is {}, not the expected one: records were removed, added, or hashed anew",
        path.display(),
        chain.last_hash
    );
    let text = if json { serde_json::to_string_pretty(&chain)? } else { to_text(&chain, &path) };
    writeln!(std::io::stdout(), "{text}")?;
    Ok(())
}

fn to_text(chain: &Chain, path: &Path) -> String {
    let files = if chain.files > 1 { format!(" in {} files", chain.files) } else { String::new() };
    let mut lines = vec![
        format!("{}: {} records{files}, the chain is intact", path.display(), chain.records),
        format!("last hash: {}", chain.last_hash),
    ];
    if chain.files_gone > 0 {
        lines.push(format!("{} older files are gone; the chain begins after them", chain.files_gone));
    }
    if chain.torn_bytes > 0 {
        let torn = chain.torn_bytes;
        lines.push(format!(
            "the last line is unfinished ({torn} bytes): the server was killed during a write"
        ));
    }
    lines.join("\n")
}
