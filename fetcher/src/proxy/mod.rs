//! The proxy of one command, in the process that was forked for it: the only way out of a network that has
//! nothing but a loopback interface.
//!
//! The command connects to a socket that listens there; this process accepts the connections, judges the
//! name that each request asks for, resolves it itself, judges its addresses as those of a fetch, and
//! connects to one of these. What goes through a tunnel is not changed. It opens no file and knows no secret,
//! and it ends when the tool server closes its end of the stream.

mod forward;
mod handle;
mod refusals;
mod target;
mod tunnel;

use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::fetch::connect::{connect, judged_addresses};
use crate::judge::Hosts;
use crate::messages::FetchError;
use crate::stream;

pub use handle::{Proxy, ProxyRules, Refused};

use forward::{Body, plain};
use refusals::Refusals;
use target::{Target, Verdict};

/// Connections at once; more wait.
const MOST_CONNECTIONS: usize = 64;

/// How long a client may take for the head of a request, also for the next one of its connection.
const HEAD: Duration = Duration::from_secs(60);

/// The most bytes of a request's head.
const MAX_HEAD_BYTES: usize = 32 << 10;

/// Names that are resolved at once.
const RESOLVERS: usize = 8;

/// How long accepting pauses after it failed, such as for want of descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// What all connections share.
struct Shared {
    hosts: Hosts,
    refusals: Refusals,
}

/// Serves the connections until the tool server is gone.
pub(crate) fn run(mut stream: UnixStream, listener: TcpListener) {
    let Ok(rules) = stream::receive::<ProxyRules>(&mut stream) else { return };
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(RESOLVERS).build();
    let (watched, unblocked) = (stream::end_with(&stream), listener.set_nonblocking(true));
    let (Ok(()), Ok(runtime), Ok(())) = (watched, runtime, unblocked) else { return };
    let hosts = Hosts::of(&rules.domains);
    let shared = Arc::new(Shared { hosts, refusals: Refusals::new(stream, rules.setting) });
    runtime.block_on(async {
        let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
        let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        while let Ok(place) = Arc::clone(&places).acquire_owned().await {
            match listener.accept().await {
                Ok((client, _)) => drop(tokio::spawn(serve(client, Arc::clone(&shared), place))),
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    });
}

/// Answers the requests of a connection, each judged by itself.
async fn serve(client: TcpStream, shared: Arc<Shared>, place: OwnedSemaphorePermit) {
    let _ = client.set_nodelay(true);
    let place = Arc::new(place);
    let service = service_fn(|request| {
        let (shared, place) = (Arc::clone(&shared), Arc::clone(&place));
        async move { Ok::<_, std::convert::Infallible>(answer(request, shared, place).await) }
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(MAX_HEAD_BYTES);
    // A client that breaks off is no failure of ours.
    let _ = server.serve_connection(TokioIo::new(client), service).with_upgrades().await;
}

async fn answer(
    mut request: Request<Incoming>,
    shared: Arc<Shared>,
    place: Arc<OwnedSemaphorePermit>,
) -> Response<Body> {
    let target = match Target::of(request.method(), request.uri(), &shared.hosts) {
        Ok(target) => target,
        Err(Verdict::Wrong(why)) => return plain(StatusCode::BAD_REQUEST, &why),
        Err(Verdict::Refused { name, why }) => return shared.refusals.refuse(&name, why),
        Err(Verdict::Address(name)) => return shared.refusals.refuse_for_good(&name, "it is an address"),
    };
    let server = match reach(&target).await {
        Ok(server) => server,
        Err(FetchError::Blocked { reason, .. }) => {
            return shared.refusals.refuse_for_good(target.name(), &reason);
        }
        Err(error) => return plain(StatusCode::BAD_GATEWAY, &error.to_string()),
    };
    if request.method() != Method::CONNECT {
        return forward::forward(request, &target, server).await;
    }
    let upgrade = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        if let Ok(client) = upgrade.await {
            let _ = tunnel::tunnel(TokioIo::new(client), server, &target, &shared.refusals).await;
        }
        drop(place);
    });
    Response::new(Body::Left(Full::default()))
}

/// Resolves the name once, judges all its addresses, and connects to one of those.
async fn reach(target: &Target) -> Result<TcpStream, FetchError> {
    connect(&judged_addresses(target.url(), false).await?).await
}
