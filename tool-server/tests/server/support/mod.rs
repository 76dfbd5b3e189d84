//! A tool server in the test's own process, so that a test can add tools that no server has.
//!
//! Everything else is real: the router, the journal, the roots, HTTP on port 0.

pub(crate) mod tree;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cage::control_files::ControlFiles;
use files::change::Durability;
use files::output_store::OutputStore;
use files::roots::{DEFAULT_DENIED, DEFAULT_PROTECTED, DeniedPaths, Roots};
use http_port::Access;
use process::confinement::Confinement;
use protocol::{Envelope, JournalRecord};
use redaction::Redactor;
use sandbox::Capabilities;
use serde_json::Value;
use settings::table::{TOOL_MAX_COMMANDS, UNDO_MAX_MB};
use tempfile::TempDir;
use tool_server::http::{AppState, Catalogues, LiveCalls, api_document, routes};
use tool_server::journal::Journal;
use tool_server::metrics::Meters;
use tool_server::search::SearchLimits;
use tool_server::service_report::ServiceReport;
use tool_server::tool_context::ToolContext;
use tool_server::transfers::RawFiles;
use tool_server::vitals::Vitals;
use toolkit::runner::WorkingDirectory;
use toolkit::{Bounds, Registry, Runner, RunnerSettings};

/// The largest file that a test's server edits; small, so that a test can exceed it.
pub(crate) const MAX_EDIT_BYTES: u64 = 1 << 20;

/// A running server; it stops with its test.
pub(crate) struct TestServer {
    pub root: PathBuf,
    address: SocketAddr,
    directory: TempDir,
    client: reqwest::Client,
}

pub(crate) struct Settings {
    pub timeout: Duration,
    pub bounds: Bounds,
    pub search: SearchLimits,
    /// The roots; a fresh one if empty.
    pub roots: Vec<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            bounds: Bounds::default(),
            search: SearchLimits::new(1_000_000),
            roots: Vec::new(),
        }
    }
}

/// A tool context with these roots, the default denied paths and the default control files.
pub(crate) fn tool_context(roots: &[PathBuf], pending: &Path) -> ToolContext {
    let denied = DeniedPaths::new(DEFAULT_DENIED.split(',')).unwrap();
    let protected = ControlFiles::new(DEFAULT_PROTECTED.split(','));
    let roots = Roots::open(roots, denied, protected, |_| None).unwrap();
    let output = pending.with_file_name("output");
    std::fs::create_dir_all(&output).unwrap();
    let output = Arc::new(OutputStore::open(&output).unwrap());
    let undo = UNDO_MAX_MB.default_value();
    ToolContext::files_only(roots, pending, output, MAX_EDIT_BYTES, undo, Durability::Cached).unwrap()
}

impl TestServer {
    pub(crate) async fn start() -> Self {
        Self::with(Settings::default()).await
    }

    /// A server whose root has this tree; see [`tree::make`].
    pub(crate) async fn holding(entries: &[(&str, &str)]) -> Self {
        let server = Self::start().await;
        tree::make(&server.root, entries);
        server
    }

    pub(crate) async fn with(settings: Settings) -> Self {
        Self::start_with(settings, |registry| registry).await
    }

    /// A server with other settings and more tools.
    pub(crate) async fn start_with(settings: Settings, more: impl FnOnce(Registry) -> Registry) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let fresh = directory.path().join("root");
        std::fs::create_dir(&fresh).unwrap();
        let roots = if settings.roots.is_empty() { vec![fresh] } else { settings.roots.clone() };
        let root = roots[0].clone();
        let mut context = tool_context(&roots, &directory.path().join("pending"));
        context.search = settings.search;
        let registry = more(tool_server::tools::registry(&context).unwrap());
        let journal = Journal::open(&directory.path().join("journal.jsonl")).unwrap();
        let settings = runner_settings(&settings, &root, directory.path());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let vitals = Vitals::watch(&journal).unwrap();
        let openapi = api_document::document(&registry, |_| true).to_json().unwrap().into();
        let redactor = Arc::new(Redactor::new([]));
        let live = Arc::new(LiveCalls::new(Arc::clone(&redactor)));
        let runner = Arc::new(Runner::new(registry, settings, Arc::clone(&journal) as _, redactor).unwrap());
        let app = AppState {
            supervisor: None,
            output: outputs(directory.path()),
            openapi,
            live,
            catalogue: Catalogues::new(&runner).unwrap(),
            mcp: Arc::new(mcp::HttpFace::new(mcp::Handler::new(Arc::clone(&runner)))),
            runner,
            access: Arc::new(Access::new(None, address, &[])),
            tokens: None,
            approvals: None,
            journal,
            meters: Arc::new(Meters::new().unwrap()),
            has_public_metrics: false,
            report: ServiceReport {
                checks: Vec::new(),
                confinement: Confinement::None,
                capabilities: Capabilities::switched_off("in a test"),
                raw_files: RawFiles::default(),
            },
            vitals,
            commands: context.commands(),
        };
        tokio::spawn(async move { axum::serve(listener, routes(&Arc::new(app)).all).await.unwrap() });
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { root, address, directory, client }
    }

    /// Calls a tool: the HTTP status, the headers and the envelope.
    pub(crate) async fn post(
        &self,
        tool: &str,
        arguments: &Value,
    ) -> (u16, reqwest::header::HeaderMap, Envelope) {
        let response = self.request(tool, arguments).send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        (status, headers, response.json().await.unwrap())
    }

    pub(crate) async fn call_in(&self, session: &str, tool: &str, arguments: Value) -> Envelope {
        let request = self.request(tool, &arguments).header("x-session-id", session);
        request.send().await.unwrap().json().await.unwrap()
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Envelope {
        self.post(tool, &arguments).await.2
    }

    pub(crate) fn request(&self, tool: &str, arguments: &Value) -> reqwest::RequestBuilder {
        self.client.post(format!("http://{}/tools/{tool}", self.address)).json(arguments)
    }

    pub(crate) fn journal(&self) -> Vec<JournalRecord> {
        let text = std::fs::read_to_string(self.directory.path().join("journal.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn runner_settings(settings: &Settings, root: &Path, directory: &Path) -> RunnerSettings {
    RunnerSettings {
        disabled: BTreeSet::new(),
        max_commands: TOOL_MAX_COMMANDS.default_value(),
        timeout: settings.timeout,
        bounds: settings.bounds,
        cwd: WorkingDirectory::Shared(root.display().to_string()),
        policy: Default::default(),
        approvals: None,
        token_variable: "AUTONOUS_TOOL_TOKEN",
        url: String::new(),
        state_dir: Some(directory.join("state")),
    }
}

fn outputs(directory: &Path) -> Arc<OutputStore> {
    let outputs = directory.join("outputs");
    std::fs::create_dir(&outputs).unwrap();
    Arc::new(OutputStore::open(&outputs).unwrap())
}
