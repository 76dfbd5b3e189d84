//! `GET /metrics`: what a program counts, in Prometheus's text format.
//!
//! A label never has what a caller, a model or a file wrote: each has a fixed set of values, so the number of
//! time series is bounded and none of them is about a person.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use prometheus::core::Collector;
use prometheus::{Error, IntCounterVec, IntGauge, Opts, Registry, TextEncoder};

/// The metrics of a program; clones share them.
#[derive(Debug, Clone)]
pub struct Metrics {
    registry: Registry,
    connections: IntGauge,
    responses: IntCounterVec,
}

impl Metrics {
    /// Those that each program has: of its version and of its port.
    ///
    /// # Errors
    /// None of these names is taken, so there is none.
    pub fn new(version: &str) -> Result<Self, Error> {
        let registry = Registry::new();
        let build = Opts::new("autonous_build_info", "Always 1; the label has the version.");
        let build = IntGauge::with_opts(build.const_label("version", version))?;
        build.set(1);
        registry.register(Box::new(build))?;
        let connections = IntGauge::new("autonous_open_connections", "Connections to this port.")?;
        let responses = Opts::new("autonous_http_responses_total", "Responses of this port by HTTP status.");
        let responses = IntCounterVec::new(responses, &["status"])?;
        // A series that begins at 0 shows its first increase.
        responses.with_label_values(&[StatusCode::UNAUTHORIZED.as_str()]);
        registry.register(Box::new(connections.clone()))?;
        registry.register(Box::new(responses.clone()))?;
        Ok(Self { registry, connections, responses })
    }

    /// Adds a metric, and returns it.
    ///
    /// # Errors
    /// There is one of this name.
    pub fn add<C: Collector + Clone + 'static>(&self, metric: C) -> Result<C, Error> {
        self.registry.register(Box::new(metric.clone()))?;
        Ok(metric)
    }

    /// The response to `GET /metrics`: all of them as they are now.
    pub fn answer(&self) -> Response {
        match TextEncoder::new().encode_to_string(&self.registry.gather()) {
            Ok(text) => {
                let media_type = HeaderValue::from_static(prometheus::TEXT_FORMAT);
                ([(header::CONTENT_TYPE, media_type)], text).into_response()
            }
            Err(error) => {
                tracing::error!(%error, "the metrics cannot be written");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }

    pub(crate) fn connected(&self) {
        self.connections.inc();
    }

    pub(crate) fn disconnected(&self) {
        self.connections.dec();
    }

    pub(crate) fn responded(&self, status: StatusCode) {
        self.responses.with_label_values(&[status.as_str()]).inc();
    }
}
