//! Parts of the server in this process, to measure the pieces of a call alone.
//!
//! Changes are not synced here, and no command runs; what needs the whole server is measured over HTTP.

use std::io;
use std::path::Path;
use std::sync::Arc;

use files::change::{DEFAULT_MAX_UNDO_BYTES, Durability};
use files::output_store::OutputStore;
use files::roots::Roots;
use process::Variables;
use protocol::journal::{CallEnded, CallReplayed, CallStarted};
use protocol::{Envelope, EventId, SessionId};
use redaction::Redactor;
use tokio::runtime::Runtime;
use tool_server::config::Config;
use tool_server::journal::Journal;
use tool_server::tool_context::ToolContext;
use toolkit::policy::Policy;
use toolkit::runner::CallIds;
use toolkit::runner::WorkingDirectory;
use toolkit::{Recorder, Registry, Request, Runner, RunnerSettings, arguments};

use crate::measure::Durations;

/// A runner of the file tools: a whole call except HTTP, the journal and syncing.
pub(crate) struct InProcess {
    runtime: Runtime,
    runner: Arc<Runner>,
}

impl InProcess {
    pub(crate) fn new(config: &Config) -> anyhow::Result<Self> {
        Self::with(config, Policy::default(), 2)
    }

    /// The same with these rules and threads; with more than two, quick calls change no thread.
    pub(crate) fn with(config: &Config, policy: Policy, threads: usize) -> anyhow::Result<Self> {
        let settings = RunnerSettings {
            disabled: config.disabled.clone(),
            max_commands: config.limits.max_commands,
            timeout: config.limits.timeout,
            bounds: config.limits.bounds,
            cwd: WorkingDirectory::Shared(config.files.roots[0].display().to_string()),
            policy: Arc::new(policy),
            approvals: None,
            token_variable: "AUTONOUS_TOOL_TOKEN",
            url: String::new(),
            state_dir: Some(config.files.journal_dir().to_owned()),
        };
        let redactor = Arc::new(Redactor::new([]));
        let runner = Runner::new(registry(config)?, settings, Arc::new(Nowhere), redactor)?;
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
        Ok(Self { runtime, runner: Arc::new(runner) })
    }

    /// To a thread that may block, and back.
    pub(crate) fn hop(&self, times: usize) -> anyhow::Result<Durations> {
        let hop = || self.runtime.block_on(async { tokio::task::spawn_blocking(|| ()).await });
        Ok(Durations::of(times, hop)?)
    }

    /// Runs one call, which must succeed.
    pub(crate) fn call(&self, tool: &str, body: &str) -> anyhow::Result<Envelope> {
        let envelope = self.runtime.block_on(self.runner.run(Request::new(tool, body)));
        anyhow::ensure!(envelope.ok, "{tool} in this process: {}", envelope.stderr);
        Ok(envelope)
    }
}

impl InProcess {
    /// The same on a thread of the runtime, where a server's calls arrive.
    pub(crate) fn call_within(&self, tool: &'static str, body: &'static str) -> anyhow::Result<()> {
        let runner = Arc::clone(&self.runner);
        let call = self.runtime.spawn(async move { runner.run(Request::new(tool, body)).await });
        let envelope = self.runtime.block_on(call)?;
        anyhow::ensure!(envelope.ok, "{tool} in this process: {}", envelope.stderr);
        Ok(())
    }
}

/// The settings of a server with this root and its own files in `place`.
pub(crate) fn config(root: &Path, place: &Path) -> anyhow::Result<Config> {
    let (root, place) = (root.display().to_string(), place.display().to_string());
    let variables =
        Variables::from_pairs([("AUTONOUS_TOOL_ALLOWED_ROOTS", &root), ("AUTONOUS_DATA_DIR", &place)]);
    Config::from_variables(&variables, Path::new("/"))
}

pub(crate) fn roots(config: &Config) -> anyhow::Result<Roots> {
    let files = &config.files;
    Ok(Roots::open(&files.roots, files.denied.clone(), files.protected.clone(), |_| None)?)
}

pub(crate) fn registry(config: &Config) -> anyhow::Result<Registry> {
    let files = &config.files;
    std::fs::create_dir_all(&files.output_dir)?;
    let output = Arc::new(OutputStore::open(&files.output_dir)?);
    let pending = files.journal_dir().join("pending");
    let most = config.limits.max_edit_bytes;
    let context = ToolContext::files_only(
        roots(config)?,
        &pending,
        output,
        most,
        DEFAULT_MAX_UNDO_BYTES,
        Durability::Cached,
    )?;
    Ok(tool_server::tools::registry(&context)?)
}

/// Measures writing the records of the start and the end of a call.
pub(crate) fn journal(
    config: &Config,
    times: usize,
    tool: &str,
    body: &str,
    output: &str,
) -> anyhow::Result<Durations> {
    let journal = Journal::open(&config.files.journal)?;
    let ids =
        CallIds { call: EventId::new(), parent: None, task: None, session: SessionId::default_session() };
    Ok(Durations::of(times, || {
        journal.started(&ids, started(tool, body))?;
        journal.ended(&ids, ended(tool, output));
        io::Result::Ok(())
    })?)
}

fn started(tool: &str, body: &str) -> CallStarted {
    CallStarted {
        tool_name: tool.to_owned(),
        arguments: arguments::parse_object(body.as_bytes()).unwrap_or_default(),
        arguments_sha256: None,
        arguments_file: None,
        risk: protocol::Risk::Low,
        request_id: None,
        traceparent: None,
    }
}

fn ended(tool: &str, output: &str) -> CallEnded {
    CallEnded { tool_name: tool.to_owned(), output_text: output.to_owned(), ..CallEnded::default() }
}

/// Records nothing.
struct Nowhere;

impl Recorder for Nowhere {
    fn started(&self, _ids: &CallIds, _body: CallStarted) -> io::Result<()> {
        Ok(())
    }

    fn replayed(&self, _ids: &CallIds, _body: CallReplayed) -> io::Result<()> {
        Ok(())
    }

    fn ended(&self, _ids: &CallIds, _body: CallEnded) {}
}
