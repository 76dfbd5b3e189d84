//! The server from its settings to its last answer, in the order in which power is given up.
//!
//! Roots are opened → the socket is bound → the journal is locked → the process confines itself → the
//! runtime starts. After that nothing outside the roots, the journal and the output can be opened.

use std::fs::DirBuilder;
use std::net::TcpListener;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use listenfd::ListenFd;
use sandbox::Reach;
use serde_json::json;
use toolkit::{Runner, RunnerSettings, openapi};

use crate::config::Config;
use crate::http::{self, Access, App};
use crate::journal::Journal;
use crate::roots::Roots;
use crate::self_check;
use crate::service_report::ServiceReport;
use crate::tools;
use crate::workplace::Workplace;

/// How long running calls may take to end after the server was asked to.
const LAST_CALLS: Duration = Duration::from_secs(5);

/// A server that is ready to listen.
pub struct Server {
    app: Arc<App>,
    listener: TcpListener,
    journal: Arc<Journal>,
}

impl Server {
    /// Opens all that the server needs, and confines the process to it. `search_path` is PATH.
    pub fn open(config: &Config, search_path: &str) -> anyhow::Result<Self> {
        make_private(&config.files.output_dir)?;
        let files = &config.files;
        let roots = Roots::open(&files.roots, files.denied.clone(), files.protected.clone(), |root| {
            self_check::why_forbidden(root, config)
        })
        .and_then(|roots| roots.with_output(&files.output_dir))
        .context("AUTONOUS_TOOL_ALLOWED_ROOTS cannot be used")?;
        let listener = listen(config)?;
        let journal = Journal::open(&config.files.journal)?;
        let workplace = Workplace::open(roots, config).context("what the tools share cannot be opened")?;
        let registry = tools::registry(&workplace)?;
        let roots = &workplace.roots;
        let confinement = sandbox::confine_this_thread(&reach(config, roots))?;
        let report = ServiceReport { checks: self_check::run(config, confinement, search_path), confinement };
        report.require()?;
        let settings = RunnerSettings {
            disabled: config.disabled.clone(),
            timeout: config.limits.timeout,
            bounds: config.limits.bounds,
            cwd: roots.first().display().to_string(),
            idempotency_dir: config.files.idempotency_dir(),
        };
        let runner = Arc::new(Runner::new(registry, settings, Arc::clone(&journal) as _)?);
        let access =
            Access::new(config.listen.token.clone(), listener.local_addr()?, &config.listen.allowed_hosts);
        let app = Arc::new(App {
            openapi: Bytes::from(serde_json::to_vec(&openapi::document(runner.registry()))?),
            catalogue: Bytes::from(serde_json::to_vec(&json!({"tools": runner.specs()}))?),
            runner,
            access,
            report,
        });
        Ok(Self { app, listener, journal })
    }

    /// Serves until `end` resolves, then lets running calls end.
    pub async fn serve(self, end: impl Future<Output = ()> + Send + 'static) -> anyhow::Result<()> {
        let address = self.listener.local_addr()?;
        let token = if self.app.access.has_token() { "with a token" } else { "without a token" };
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        tracing::info!("listening on http://{address} ({token}), docs at http://{address}/docs/");
        let (ending, ended) = tokio::sync::oneshot::channel();
        let signal = async move {
            end.await;
            let _ = ending.send(());
        };
        let serving = axum::serve(listener, http::router(self.app)).with_graceful_shutdown(signal);
        tokio::select! {
            served = serving => served?,
            () = async {
                let _ = ended.await;
                tokio::time::sleep(LAST_CALLS).await;
            } => tracing::warn!("calls that still run are left behind"),
        }
        self.journal.sync()?;
        Ok(())
    }
}

/// The socket that a parent passed on (`LISTEN_FDS`), or one of our own.
fn listen(config: &Config) -> anyhow::Result<TcpListener> {
    let listener =
        match ListenFd::from_env().take_tcp_listener(0).context("LISTEN_FDS passes no TCP socket")? {
            Some(listener) => listener,
            None => TcpListener::bind(config.listen.address).with_context(|| {
                format!("AUTONOUS_TOOL_LISTEN={}: cannot listen there", config.listen.address)
            })?,
        };
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn make_private(directory: &Path) -> anyhow::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .with_context(|| format!("the directory {} cannot be made", directory.display()))
}

/// What the server can still reach once it has confined itself.
fn reach(config: &Config, roots: &Roots) -> Reach {
    let mut read_write: Vec<_> = roots.paths().map(Path::to_owned).collect();
    read_write.push(config.files.output_dir.clone());
    read_write.extend(config.files.journal.parent().map(Path::to_owned));
    Reach { read_write, read_only: vec![config.files.skills_dir.clone()] }
}
