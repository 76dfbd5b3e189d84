//! Accepts connections and serves them, within limits of time and number.
//!
//! When as many are open as may be, a new one takes the place of one that waits for its client. If every one
//! is at work, it is served by [`Routes::when_full`]: a few more connections that learn that the server is
//! alive, and that they should come back later.

use std::convert::Infallible;
use std::os::fd::AsFd;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;
use tower::ServiceExt as _;

use crate::body::{RequestBody, ResponseBody};
use crate::connections::Connections;
use crate::limits::Bounds;
use crate::metrics::Metrics;
use crate::next_request::Clients;
use crate::progress::Progress;
use crate::self_wakes::SelfWaking;
use crate::stream::WatchedStream;
use crate::tls::Tls;

/// The largest head of a request, and about what a connection may take of memory for each direction.
const MAX_BUFFER_BYTES: usize = 64 * 1024;

/// How often overdue connections are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The pause after a connection could not be accepted, because descriptors or memory ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The routes.
#[derive(Debug, Clone)]
pub struct Routes {
    /// Everything.
    pub all: Router,
    /// The answer while the server has all the connections that it may, each at work: `/livez`, and a
    /// refusal.
    pub when_full: Router,
    /// Where connections and responses are counted, if they are.
    pub metrics: Option<Metrics>,
}

/// How many connections may wait until they are accepted. With the 128 of the standard library, a burst
/// makes the kernel drop handshakes, and a client repeats its own only after a second.
const QUEUE_LENGTH: i32 = 4096;

/// What the kernel keeps of an answer that is not read yet; it would grow to some megabytes for each
/// connection.
const SEND_BUFFER_BYTES: usize = 256 * 1024;

/// Prepares a socket that listens already for many connections. A process that confines itself calls this
/// before.
pub fn prepare(listener: impl AsFd) -> std::io::Result<()> {
    // Accepted connections inherit it.
    rustix::net::sockopt::set_socket_send_buffer_size(&listener, SEND_BUFFER_BYTES)?;
    Ok(rustix::net::listen(&listener, QUEUE_LENGTH)?)
}

/// How serving ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Every running request was answered.
    Answered,
    /// Some were cut off.
    CutOff,
}

/// Serves until `stop` resolves, then gives running requests as much more time as it says.
pub async fn serve(
    listener: TcpListener,
    tls: Option<Tls>,
    routes: Routes,
    bounds: Bounds,
    stop: impl Future<Output = Duration>,
) -> End {
    let mut server = Server {
        tls,
        routes,
        bounds,
        open: Connections::new(bounds.connections),
        reserve: Connections::new(bounds.reserve),
        tasks: JoinSet::new(),
        clients: Clients::default(),
    };
    let patience = server.accept(&listener, stop).await;
    drop(listener);
    server.open.finish();
    server.reserve.finish();
    let all_ended = async { while server.tasks.join_next().await.is_some() {} };
    match tokio::time::timeout(patience, all_ended).await {
        Ok(()) => End::Answered,
        Err(_) => End::CutOff,
    }
}

struct Server {
    tls: Option<Tls>,
    routes: Routes,
    bounds: Bounds,
    open: Connections,
    reserve: Connections,
    tasks: JoinSet<()>,
    clients: Clients,
}

impl Server {
    async fn accept(&mut self, listener: &TcpListener, stop: impl Future<Output = Duration>) -> Duration {
        let mut stop = pin!(stop);
        let mut look = tokio::time::interval(LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let is_busy = !(self.open.is_empty() && self.reserve.is_empty());
            tokio::select! {
                patience = &mut stop => return patience,
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => self.add(stream),
                    Err(error) => {
                        tracing::error!(%error, "could not accept a connection");
                        self.open.close_one();
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                },
                Some(ended) = self.tasks.join_next_with_id() => {
                    let id = ended.map_or_else(|error| error.id(), |(id, ())| id);
                    self.open.remove(id);
                    self.reserve.remove(id);
                    self.routes.metrics.iter().for_each(Metrics::disconnected);
                }
                _ = look.tick(), if is_busy => {
                    self.open.close_overdue(&self.bounds.time);
                    self.reserve.close_overdue(&self.bounds.time);
                }
            }
        }
    }

    /// Serves a new connection, or drops it where there is no room even in the reserve.
    fn add(&mut self, stream: TcpStream) {
        let progress = Arc::new(Progress::new());
        let stream = WatchedStream::new(stream, Arc::clone(&progress), self.clients.connected());
        let is_full = !self.open.make_room();
        if is_full && !self.reserve.make_room() {
            return;
        }
        let (routes, pool) = if is_full {
            (&self.routes.when_full, &mut self.reserve)
        } else {
            (&self.routes.all, &mut self.open)
        };
        let answering = Answering { routes: routes.clone(), metrics: self.routes.metrics.clone() };
        let connection = Connection {
            answering,
            body_limit: self.bounds.time.body,
            keep_alive: !is_full,
            progress: Arc::clone(&progress),
        };
        // Before its first request is answered.
        self.routes.metrics.iter().for_each(Metrics::connected);
        let task = match self.tls.clone() {
            None => self.tasks.spawn(SelfWaking::new(connection.serve(stream))),
            Some(tls) => self.tasks.spawn(SelfWaking::new(connection.serve_over(tls, stream))),
        };
        pool.add(task.id(), progress);
    }
}

/// What answers the requests of a connection.
#[derive(Clone)]
struct Answering {
    routes: Router,
    metrics: Option<Metrics>,
}

/// One connection, until its end or until it is closed.
struct Connection {
    answering: Answering,
    body_limit: Duration,
    keep_alive: bool,
    progress: Arc<Progress>,
}

impl Connection {
    /// The handshake counts as a part of the first head.
    async fn serve_over(self, tls: Tls, stream: WatchedStream) {
        let opened = tokio::select! {
            opened = tls.accept(stream) => opened,
            () = self.progress.closed() => return,
        };
        match opened {
            Ok(stream) => self.serve(stream).await,
            Err(error) => tracing::debug!(%error, "a client and this server found no common TLS"),
        }
    }

    async fn serve(self, stream: impl AsyncRead + AsyncWrite + Unpin) {
        let Self { answering, body_limit, keep_alive, progress } = self;
        let service = service_fn(|request: Request<Incoming>| {
            let (Answering { routes, metrics }, progress) = (answering.clone(), Arc::clone(&progress));
            async move {
                if !progress.begin_request(!request.body().is_end_stream()) {
                    return std::future::pending().await;
                }
                let request =
                    request.map(|body| Body::new(RequestBody::new(body, body_limit, Arc::clone(&progress))));
                let answered: Result<_, Infallible> = routes.oneshot(request).await;
                answered
                    .iter()
                    .zip(&metrics)
                    .for_each(|(response, metrics)| metrics.responded(response.status()));
                answered.map(|response| response.map(|inner| ResponseBody { inner, progress }))
            }
        });
        let mut http = http1::Builder::new();
        // The accept loop keeps the time, for heads too.
        http.header_read_timeout(None).max_buf_size(MAX_BUFFER_BYTES).keep_alive(keep_alive);
        let mut served = pin!(http.serve_connection(TokioIo::new(stream), service));
        loop {
            tokio::select! {
                ended = served.as_mut() => {
                    if let Err(error) = ended {
                        tracing::trace!(%error, "a connection ended with an error");
                    }
                    return;
                }
                () = progress.closed() => return,
                () = progress.last_request() => served.as_mut().graceful_shutdown(),
            }
        }
    }
}
