//! Runs the fake servers, each on its own runtime, so that tests need none.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};

use axum::Router;
use tokio::runtime::{Builder, Runtime};

/// Any free port of this machine.
pub(crate) const ANY_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

#[derive(Debug)]
pub(crate) struct Serving {
    pub(crate) address: SocketAddr,
    runtime: Option<Runtime>,
}

impl Serving {
    pub(crate) fn start(router: Router) -> Self {
        Self::start_at(ANY_PORT, router)
    }

    pub(crate) fn start_at(address: SocketAddr, router: Router) -> Self {
        let listener = TcpListener::bind(address).expect("the address is free");
        listener.set_nonblocking(true).expect("a socket can be made non-blocking");
        let address = listener.local_addr().expect("a bound socket has an address");
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime can be made");
        runtime.spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            axum::serve(listener, router).await
        });
        Self { address, runtime: Some(runtime) }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Without waiting, because a handler may block until the test ends.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
