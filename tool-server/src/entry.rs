//! How callers reach the server: over a port, or as the one client on stdin.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use http_port::{Bounds, End};

use crate::http::{self, AppState};

/// How callers reach the server.
pub(crate) enum Entry {
    Port(TcpListener, Arc<AppState>),
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
            Self::Port(listener, _) => listener.local_addr().map(Some),
            Self::Stdin(_) => Ok(None),
        }
    }

    /// Serves until `stop` resolves, then waits for running calls as long as it says.
    pub(crate) async fn serve(
        self,
        stop: impl Future<Output = Duration> + Send + 'static,
    ) -> anyhow::Result<()> {
        let (listener, app) = match self {
            Self::Port(listener, app) => (listener, app),
            // What its commands do is of no use without it.
            Self::Stdin(handler) => {
                let served = mcp::serve_stdio(*handler, async {
                    let _ = stop.await;
                })
                .await;
                return served.map_err(|error| anyhow::anyhow!(error));
            }
        };
        let (url, token) = (url(&listener)?, app.access.has_token());
        let token = if token { "with a token" } else { "without a token" };
        tracing::info!("listening on {url} ({token}), docs at {url}/docs/");
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let bounds = Bounds::for_open_files(process::open_files::limit());
        if http_port::serve(listener, http::routes(&app), bounds, stop).await == End::CutOff {
            tracing::warn!("exiting while calls are still running");
        }
        Ok(())
    }
}

/// The address of a port.
pub(crate) fn url(listener: &TcpListener) -> io::Result<String> {
    Ok(format!("http://{}", listener.local_addr()?))
}
