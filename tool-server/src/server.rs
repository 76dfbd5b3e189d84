//! The server from its settings to its last answer, giving up privileges step by step.
//!
//! Open the roots and fork the spawner ([`crate::startup_resources`]) → read secrets → bind the socket → lock
//! the journal → confine the process → start the runtime. From then on the process can open nothing outside
//! the roots, the journal, the output and the skills.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use bytes::Bytes;
use cage::command::{CommandQuota, Commands, Environment, GuardedSpawner};
use cage::control_files::ControlGuard;
use cage::network::{ListedNetwork, Proxy};
use cage::processes::Processes;
use command_policy::{Policy, PolicySettings};
use fetcher::{Fetcher, ProxyRules};
use files::KeptOutputs;
use files::change::{Changer, Durability};
use files::output_store::OutputStore;
use files::roots::{Roots, Workspaces};
use http_port::Access;
use listenfd::ListenFd;
use process::confinement::{Powers, confine};
use process::sign_of_life::Loss;
use redaction::Redactor;
use sandbox::{Capabilities, Network, Spawner, Tier};
use settings::choices::Division;
use settings::quotas::Limits;
use tokio::sync::oneshot;
use toolkit::approvals::Approvals;
use toolkit::policy::CurrentPolicy;
use toolkit::runner::WorkingDirectory;
use toolkit::{Recorder, Registry, Runner, RunnerSettings};

use crate::config::{CommandSettings, Config};
use crate::entry::{Entry, Port};
use crate::http::{AppState, Catalogues, LiveCalls, api_document};
use crate::journal::Journal;
use crate::late_records::{recorded, recorded_end};
use crate::listen::Listen;
use crate::metrics::Meters;
use crate::rules_reload::RulesReload;
use crate::search::SearchLimits;
use crate::self_check;
use crate::service_report::ServiceReport;
use crate::skills::Skills;
use crate::startup_resources::StartupResources;
use crate::supervisor_link::Supervisor;
use crate::tokens::Tokens;
use crate::tool_context::ToolContext;
use crate::tools;
use crate::vitals::{Part, Vitals};
use crate::web::Web;

/// The runtime's threads: two that are always free, and one for each quick call that may run on one of them.
/// More calls at once than that wait for a place, which takes each a twentieth longer.
pub const THREADS: usize = 18;

/// How often expired files and records are deleted.
const SWEEP_EVERY: Duration = Duration::from_secs(3600);

/// How long running calls may take once no command can run any more.
const LAST_CALLS: Duration = Duration::from_secs(5);

/// What the server keeps of its calls: records, output that answers have no room for, counts.
struct Stores {
    journal: Arc<Journal>,
    output: Arc<OutputStore>,
    meters: Meters,
}

impl Stores {
    fn open(config: &Config) -> anyhow::Result<Self> {
        let files = &config.files;
        let journal = Journal::open_with_max_bytes(&files.journal, files.journal_max_bytes)?;
        let output = Arc::new(OutputStore::open(&files.output_dir)?);
        Ok(Self { journal, output, meters: Meters::new()? })
    }
}

/// A server that is ready to listen.
pub struct Server {
    entry: Entry,
    runner: Arc<Runner>,
    approvals: Option<Arc<Approvals>>,
    vitals: Arc<Vitals>,
    journal: Arc<Journal>,
    output: Arc<OutputStore>,
    context: ToolContext,
    /// The processes that it started before it had secrets.
    helpers: (Option<Arc<Spawner>>, Option<Arc<Fetcher>>),
    division: Division,
    rules: Arc<RulesReload>,
}

impl Server {
    /// Opens everything else that the server needs, and confines the process to it.
    pub fn open(
        config: &Config,
        listen: Listen,
        resources: StartupResources,
        redactor: Arc<Redactor>,
    ) -> anyhow::Result<Self> {
        let mut inherited = ListenFd::from_env();
        let port = Port::open(&listen, resources.workspaces.whole(), &mut inherited)?;
        let StartupResources { workspaces, readonly_roots, spawner, capabilities, fetcher } = resources;
        let stores = Stores::open(config)?;
        let started = (&spawner, listed_network(config, fetcher.as_ref()));
        let mut context = tool_context(config, workspaces, readonly_roots, started, &stores)?;
        context.web = fetcher.as_ref().map(|one| web(config, &listen, one, &stores, &context.workspaces));
        context.supervisor = Supervisor::of(&mut inherited, listen.is_supervised)?.map(Arc::new);
        let (registry, policy, rules) = registry_and_rules(config, &context)?;
        let report = confine_and_report(config, &context, capabilities)?;
        let Stores { journal, output, meters } = stores;
        let approvals = approvals(config, &listen, &journal)?;
        let settings = runner_settings(config, &context.workspaces, policy, approvals.clone(), &port)?;
        let (runner, meters) = runner(registry, settings, (&journal, &output, meters), &context, &redactor)?;
        let vitals = Vitals::watch(&journal).context("cannot start a thread")?;
        let handler = handler(&runner, approvals.as_ref().filter(|_| listen.asks_clients));
        let entry = match port {
            None => Entry::Stdin(Box::new(handler.for_only(mcp::Caller::only()))),
            Some(port) => {
                let app = Arc::new(AppState {
                    supervisor: context.supervisor.as_ref().and_then(|supervisor| supervisor.as_far()),
                    openapi: openapi(&runner)?,
                    catalogue: Catalogues::new(&runner)?,
                    mcp: Arc::new(mcp::HttpFace::new(handler)),
                    live: Arc::new(LiveCalls::new(redactor)),
                    runner: Arc::clone(&runner),
                    has_public_metrics: listen.has_public_metrics,
                    access: access(listen, port.address()?),
                    tokens: tokens(config, context.workspaces.whole())?,
                    report,
                    meters,
                    approvals: approvals.clone(),
                    journal: Arc::clone(&journal),
                    output: Arc::clone(&output),
                    vitals: Arc::clone(&vitals),
                    commands: context.commands(),
                });
                Entry::Port(port, app)
            }
        };
        let (helpers, division) = ((spawner.ok(), fetcher), config.files.division);
        Ok(Self { entry, runner, approvals, vitals, journal, output, context, helpers, division, rules })
    }

    /// The address that it listens on; none for a client on stdin.
    pub fn address(&self) -> io::Result<Option<SocketAddr>> {
        self.entry.address()
    }

    /// Reads the rules again when it is called, from any thread.
    pub fn reload(&self) -> impl Fn() + Send + Sync + Clone + 'static {
        let rules = Arc::clone(&self.rules);
        move || rules.reload()
    }

    /// Serves until `end` resolves, then waits for running calls as long as it says.
    pub async fn serve(self, end: impl Future<Output = Duration> + Send + 'static) -> anyhow::Result<()> {
        tracing::info!("{}", self.division.meaning());
        let note = |part| {
            let vitals = Arc::clone(&self.vitals);
            move |is_quiet| vitals.note(part, is_quiet)
        };
        let (spawner_note, fetcher_note) = (note(Part::Spawner), note(Part::Fetcher));
        let (spawner, fetcher) = self.helpers;
        let spawner_lost = watch(spawner.map(|spawner| move || spawner.watch(spawner_note)));
        let fetcher_lost = watch(fetcher.map(|fetcher| move || fetcher.watch(fetcher_note)));
        let (approvals, port) = (self.approvals, self.entry.port());
        let closing = (approvals.clone(), port.cloned(), Arc::clone(&self.journal));
        let expiry = tokio::spawn(expire_approvals(approvals));
        let sweep = tokio::spawn(sweep_hourly(self.runner, self.output, self.context.changer));
        let (lose, lost) = oneshot::channel();
        let stop = async move {
            let loss = tokio::select! {
                patience = end => return close(closing, patience),
                loss = spawner_lost => format!("the spawner of commands {loss}"),
                loss = fetcher_lost => format!("the fetcher {loss}"),
                _ = expiry => "the task that ends expired approvals has ended".to_owned(),
                _ = sweep => "the task that deletes what has expired has ended".to_owned(),
            };
            tracing::error!("{loss}; exiting");
            let _ = lose.send(loss);
            close(closing, LAST_CALLS)
        };
        self.entry.serve(stop).await?;
        let commands = self.context.commands;
        tokio::task::spawn_blocking(move || commands.processes().end_all()).await?;
        self.journal.sync()?;
        lost.await.map_or(Ok(()), |loss| anyhow::bail!("{loss}"))
    }
}

/// The tools, of which the settings may switch some off by their names, and the rules of their calls.
fn registry_and_rules(
    config: &Config,
    context: &ToolContext,
) -> anyhow::Result<(Registry, CurrentPolicy, Arc<RulesReload>)> {
    let registry = tools::registry(context)?;
    tools::refuse_unknown(&config.disabled, &registry)?;
    let (policy, rules) = RulesReload::begin(config, &registry, context.commands())?;
    Ok((registry, policy, rules))
}

/// The runner of all calls, which are recorded and counted, and their outputs kept.
fn runner(
    registry: Registry,
    settings: RunnerSettings,
    (journal, output, meters): (&Arc<Journal>, &Arc<OutputStore>, Meters),
    context: &ToolContext,
    redactor: &Arc<Redactor>,
) -> io::Result<(Arc<Runner>, Arc<Meters>)> {
    let meters = Arc::new(meters.of_tools(&registry));
    let keeper = KeptOutputs::new(Arc::clone(output), Arc::clone(&context.workspaces));
    let runner = Runner::new(registry, settings, Arc::clone(journal) as _, Arc::clone(redactor))?;
    let runner = runner.counted_by(Arc::clone(&meters) as _).keeping_outputs(Arc::new(keeper));
    Ok((Arc::new(runner), meters))
}

/// Ends the waits for decisions and the streams that only listen, and hands on how long the calls may take.
fn close(
    (approvals, port, journal): (Option<Arc<Approvals>>, Option<Arc<AppState>>, Arc<Journal>),
    patience: Duration,
) -> Duration {
    approvals.iter().for_each(|approvals| approvals.close());
    port.iter().for_each(|port| port.mcp.close());
    port.iter().filter_map(|port| port.supervisor.as_ref()).for_each(|supervisor| supervisor.close());
    journal.close();
    patience
}

/// None where there is no one to ask.
fn approvals(
    config: &Config,
    listen: &Listen,
    journal: &Arc<Journal>,
) -> anyhow::Result<Option<Arc<Approvals>>> {
    if !listen.can_ask() {
        return Ok(None);
    }
    let directory = config.files.journal_dir().join("approvals");
    let recorder = Arc::clone(journal) as Arc<dyn Recorder>;
    let limits = &config.limits;
    let all = Approvals::open(&directory, recorder, limits.approval_timeout, limits.question_timeout)
        .context("cannot open the approvals")?;
    Ok(Some(Arc::new(all)))
}

fn working_directory(workspaces: &Workspaces) -> WorkingDirectory {
    let whole = workspaces.whole();
    if workspaces.are_divided() {
        WorkingDirectory::PerSession(whole.to_paths())
    } else {
        WorkingDirectory::Shared(whole.first().display().to_string())
    }
}

/// The server as clients of MCP see it; with approvals, their users decide.
fn handler(runner: &Arc<Runner>, approvals: Option<&Arc<Approvals>>) -> mcp::Handler {
    let handler = mcp::Handler::new(Arc::clone(runner));
    match approvals {
        Some(approvals) => handler.asking_users(Arc::clone(approvals)),
        None => handler,
    }
}

/// None without a file of them.
fn tokens(config: &Config, roots: &Roots) -> anyhow::Result<Option<Arc<Tokens>>> {
    let Some(file) = &config.files.tokens_file else { return Ok(None) };
    Ok(Some(Arc::new(Tokens::open(file, roots)?)))
}

fn access(listen: Listen, address: SocketAddr) -> Arc<Access> {
    let access = Access::new(listen.token, address, &listen.allowed_hosts);
    Arc::new(access.with_approver(listen.approver_token).taking_addresses(listen.is_supervised))
}

/// Confines the process to the files that it needs, starts the threads of commands, and says what holds now.
fn confine_and_report(
    config: &Config,
    context: &ToolContext,
    capabilities: Capabilities,
) -> anyhow::Result<ServiceReport> {
    let confinement = confine(&powers(config, context.workspaces.whole()))?;
    context.commands.watch_roots().context("cannot start a thread")?;
    recover(Arc::clone(&context.commands)).context("cannot start a thread")?;
    let checks = self_check::run(config, confinement, &capabilities);
    let report = ServiceReport { checks, confinement, capabilities, raw_files: config.raw_files };
    report.require()?;
    Ok(report)
}

/// What the confined server can still do.
fn powers(config: &Config, roots: &Roots) -> Powers {
    let mut read_write: Vec<_> = roots.paths().map(Path::to_owned).collect();
    read_write.push(config.files.output_dir.clone());
    read_write.extend(config.files.journal.parent().map(Path::to_owned));
    // The index of denied names looks into what commands may read.
    let readonly = if config.commands.disable_exec { &[][..] } else { &config.commands.readonly_roots };
    // An editor may put another file in the place of that of the tokens, or of the rules.
    let tokens = config.files.tokens_file.iter().filter_map(|file| file.parent().map(Path::to_owned));
    let read_again = tokens.chain(config.files.config_dir.clone());
    let read_only = readonly.iter().chain([&config.files.skills_dir]).cloned().chain(read_again).collect();
    Powers { read_write, read_only, ..Powers::default() }
}

/// What the tools may use, but for the web.
fn tool_context(
    config: &Config,
    workspaces: Arc<Workspaces>,
    readonly_roots: Vec<sandbox::Root>,
    (spawner, listed_network): (&Result<Arc<Spawner>, String>, Option<ListedNetwork>),
    stores: &Stores,
) -> anyhow::Result<ToolContext> {
    let pending = config.files.journal_dir().join("pending");
    let alone = ToolContext::files_only(
        workspaces,
        &pending,
        Arc::clone(&stores.output),
        config.limits.max_edit_bytes,
        config.limits.max_undo_bytes,
        Durability::Synced,
    )
    .context("cannot open the files of the tools")?;
    let policy = Policy::new(PolicySettings {
        network: has_network(config.commands.network, spawner),
        extra_denied: config.commands.denied_words.clone(),
        roots: alone.workspaces.whole().to_paths(),
        disabled_tools: config.disabled.clone(),
    });
    let commands = commands(config, &alone.workspaces, readonly_roots, spawner, stores)
        .context("cannot open what commands need")?;
    Ok(ToolContext {
        raw_files: config.raw_files,
        search: SearchLimits::new(config.limits.search_max_entries),
        commands: Arc::new(commands.with_listed_network(listed_network)),
        policy: Arc::new(policy),
        skills: Arc::new(Skills::open(&config.files.skills_dir).context("cannot open the skills")?),
        command_timeout: config.limits.timeout,
        ..alone
    })
}

/// Whether commands reach another machine. In tier B they cannot be kept to a part of the network.
fn has_network(network: Network, spawner: &Result<Arc<Spawner>, String>) -> bool {
    let is_tier_b = spawner.as_ref().is_ok_and(|spawner| spawner.tier() == Tier::B);
    match network {
        Network::Off => false,
        Network::Listed => !is_tier_b,
        Network::Public | Network::All => true,
    }
}

/// The proxies of commands, if these reach listed domains.
fn listed_network(config: &Config, fetcher: Option<&Arc<Fetcher>>) -> Option<ListedNetwork> {
    let (domains, fetcher) = (config.commands.domains.as_ref()?, Arc::clone(fetcher?));
    let setting = domains.written();
    let rules = ProxyRules { domains: domains.patterns(), setting: setting.clone() };
    Some(ListedNetwork::new(setting, move |listener| {
        let proxy = fetcher.proxy(listener, &rules)?;
        Ok(Proxy::new(move || proxy.refused().into_iter().map(|refused| refused.name).collect()))
    }))
}

/// Runs the commands of tools; without a spawner, says why none can run.
fn commands(
    config: &Config,
    workspaces: &Arc<Workspaces>,
    readonly_roots: Vec<sandbox::Root>,
    spawner: &Result<Arc<Spawner>, String>,
    stores: &Stores,
) -> anyhow::Result<Commands> {
    let (files, settings) = (&config.files, &config.commands);
    let spawner = match spawner {
        Ok(spawner) => {
            let recovered = recorded(Arc::clone(&stores.journal));
            let guard = ControlGuard::open(Arc::clone(workspaces), &files.output_dir, recovered)?;
            Ok(GuardedSpawner::new(Arc::clone(spawner), Arc::clone(workspaces), readonly_roots, guard)?)
        }
        Err(reason) => Err(reason.clone()),
    };
    let limits = Limits::read(files.config_dir.as_deref())?;
    let commands = Commands::new(
        spawner,
        Arc::clone(workspaces),
        environment(settings, workspaces),
        Arc::clone(&stores.output),
        settings.min_free_bytes,
        settings.max_memory_bytes,
    );
    let processes = Processes::new(settings.processes, recorded_end(Arc::clone(&stores.journal)));
    let quota = CommandQuota::open(&limits, files.journal_dir())?;
    let commands = commands.with_start_times(stores.meters.start_times());
    Ok(commands.with_quota(quota).with_processes(processes))
}

/// The environment of commands, whose PATH has only what they can see.
fn environment(settings: &CommandSettings, workspaces: &Workspaces) -> Environment {
    let visible = settings.readonly_roots.iter().map(PathBuf::as_path).chain(workspaces.whole().paths());
    Environment::new(&settings.search_path, settings.language.as_deref(), visible, &settings.variables)
}

/// The web behind the fetcher. The server's own tokens never go there.
fn web(
    config: &Config,
    listen: &Listen,
    fetcher: &Arc<Fetcher>,
    stores: &Stores,
    workspaces: &Arc<Workspaces>,
) -> Arc<Web> {
    let own_secrets = listen.token.iter().chain(&listen.approver_token);
    let web = Web::new(config.web.clone(), Arc::clone(&stores.output), Arc::clone(workspaces));
    Arc::new(web.behind(Arc::clone(fetcher), own_secrets, listen.can_ask()))
}

fn runner_settings(
    config: &Config,
    workspaces: &Workspaces,
    policy: CurrentPolicy,
    approvals: Option<Arc<Approvals>>,
    port: &Option<Port>,
) -> io::Result<RunnerSettings> {
    Ok(RunnerSettings {
        disabled: config.disabled.clone(),
        max_commands: config.limits.max_commands,
        timeout: config.limits.timeout,
        bounds: config.limits.bounds,
        cwd: working_directory(workspaces),
        policy,
        approvals,
        url: port.as_ref().map(Port::url).transpose()?.unwrap_or_default(),
        token_variable: "AUTONOUS_TOOL_TOKEN",
        state_dir: Some(config.files.journal_dir().to_owned()),
    })
}

/// The OpenAPI document of the tools that are offered.
fn openapi(runner: &Runner) -> anyhow::Result<Bytes> {
    let document = api_document::document(runner.registry(), |name| runner.is_offered(name));
    Ok(Bytes::from(document.to_json()?))
}

/// Checks what the commands of a killed server left, on a thread of its own; the first command waits for it.
fn recover(commands: Arc<Commands>) -> io::Result<()> {
    thread::Builder::new().name("recover".to_owned()).spawn(move || commands.recover()).map(drop)
}

/// Resolves when a process is lost, which `wait` waits for; never where there is none.
async fn watch(wait: Option<impl FnOnce() -> Loss + Send + 'static>) -> Loss {
    let Some(wait) = wait else { return std::future::pending().await };
    let (lose, lost) = oneshot::channel();
    let watcher = thread::Builder::new().name("watch".to_owned()).spawn(move || {
        let _ = lose.send(wait());
    });
    if let Err(error) = watcher {
        tracing::error!(%error, "cannot start a thread");
    }
    // Without the thread, the process would not be watched.
    lost.await.unwrap_or(Loss::Ended)
}

/// Tells those who wait or listen when an approval has expired.
async fn expire_approvals(approvals: Option<Arc<Approvals>>) {
    let Some(approvals) = approvals else { return std::future::pending().await };
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let approvals = Arc::clone(&approvals);
        if let Ok(Err(error)) = tokio::task::spawn_blocking(move || approvals.expire_now()).await {
            tracing::error!(%error, "could not end expired approvals");
        }
    }
}

async fn sweep_hourly(runner: Arc<Runner>, output: Arc<OutputStore>, changer: Arc<Changer>) {
    loop {
        tokio::time::sleep(SWEEP_EVERY).await;
        let swept = runner.sweep().and_then(|()| output.sweep(SystemTime::now()));
        if let Err(error) = swept.and(changer.sweep()) {
            tracing::error!(%error, "could not delete expired files");
        }
    }
}
