//! How callers reach the server: over a port, or as the one client on stdin.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use files::roots::Roots;
use http_port::{Bounds, End, Tls};
use listenfd::ListenFd;

use crate::http::{self, AppState};
use crate::listen::Listen;

/// The port, with TLS if it is to be spoken there.
pub(crate) struct Port {
    listener: TcpListener,
    tls: Option<Tls>,
}

/// How callers reach the server.
pub(crate) enum Entry {
    Port(Port, Arc<AppState>),
    Stdin(Box<mcp::Handler>),
}

impl Entry {
    /// What the routes share, where there are any.
    pub(crate) fn port(&self) -> Option<&Arc<AppState>> {
        match self {
            Self::Port(_, app) => Some(app),
            Self::Stdin(_) => None,
        }
    }

    /// The address of the port.
    pub(crate) fn address(&self) -> io::Result<Option<SocketAddr>> {
        match self {
            Self::Port(port, _) => port.address().map(Some),
            Self::Stdin(_) => Ok(None),
        }
    }

    /// Serves until `stop` resolves, then waits for running calls as long as it says.
    pub(crate) async fn serve(
        self,
        stop: impl Future<Output = Duration> + Send + 'static,
    ) -> anyhow::Result<()> {
        let (port, app) = match self {
            Self::Port(port, app) => (port, app),
            // What its commands do is of no use without it.
            Self::Stdin(handler) => {
                let served = mcp::serve_stdio(*handler, async {
                    let _ = stop.await;
                })
                .await;
                return served.map_err(|error| anyhow::anyhow!(error));
            }
        };
        let (url, token) = (port.url()?, app.access.has_token());
        let token = if token { "with a token" } else { "without a token" };
        tracing::info!("listening on {url} ({token}), docs at {url}/docs/");
        let listener = tokio::net::TcpListener::from_std(port.listener)?;
        let bounds = Bounds::for_open_files(process::open_files::limit());
        if http_port::serve(listener, port.tls, http::routes(&app), bounds, stop).await == End::CutOff {
            tracing::warn!("exiting while calls are still running");
        }
        Ok(())
    }
}

impl Port {
    /// Opens the port; none for the client on stdin.
    pub(crate) fn open(
        listen: &Listen,
        roots: &Roots,
        inherited: &mut ListenFd,
    ) -> anyhow::Result<Option<Self>> {
        let Some(address) = listen.address else { return Ok(None) };
        let tls = listen.tls.as_ref().map(|files| files.read(roots)).transpose()?;
        Ok(Some(Self { listener: bind(address, inherited)?, tls }))
    }

    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    pub(crate) fn url(&self) -> io::Result<String> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        Ok(format!("{scheme}://{}", self.address()?))
    }
}

/// The socket that the parent passed on (`LISTEN_FDS`), or a new one.
fn bind(address: SocketAddr, inherited: &mut ListenFd) -> anyhow::Result<TcpListener> {
    let listener = match inherited.take_tcp_listener(0).context("LISTEN_FDS has no TCP socket")? {
        Some(listener) => listener,
        None => TcpListener::bind(address)
            .with_context(|| format!("AUTONOUS_TOOL_LISTEN: cannot bind {address}"))?,
    };
    listener.set_nonblocking(true)?;
    http_port::prepare(&listener)?;
    Ok(listener)
}
