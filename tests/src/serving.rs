//! How the fake servers are served: each on a runtime of its own, so that tests need none.

use std::net::SocketAddr;

use axum::Router;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// Serves a router on a runtime of its own until the runtime is dropped.
pub(crate) fn serve(address: SocketAddr, router: Router) -> (SocketAddr, Runtime) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime can be made");
    let listener = runtime.block_on(TcpListener::bind(address)).expect("the address is free");
    let address = listener.local_addr().expect("a bound socket has an address");
    runtime.spawn(async move { axum::serve(listener, router).await });
    (address, runtime)
}
