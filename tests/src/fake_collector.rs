//! A collector of traces that takes OTLP over HTTP, as its standard has it.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;

use crate::serving::Serving;

#[derive(Default)]
struct Shared {
    requests: Vec<(HeaderMap, ExportTraceServiceRequest)>,
    /// Whether it refuses what comes.
    is_full: bool,
}

pub struct FakeCollector {
    shared: Arc<Mutex<Shared>>,
    serving: Serving,
}

impl FakeCollector {
    pub fn start() -> Self {
        let shared = Arc::<Mutex<Shared>>::default();
        let router = Router::new().route("/v1/traces", post(take)).with_state(Arc::clone(&shared));
        Self { shared, serving: Serving::start(router) }
    }

    /// What `OTEL_EXPORTER_OTLP_ENDPOINT` has to be.
    pub fn url(&self) -> String {
        format!("http://{}", self.serving.address)
    }

    /// Refuses everything from now on, or no more.
    pub fn refuse(&self, is_full: bool) {
        self.locked().is_full = is_full;
    }

    /// The spans that came, in their order.
    pub fn spans(&self) -> Vec<Span> {
        let shared = self.locked();
        let of_resources = shared.requests.iter().flat_map(|(_, request)| &request.resource_spans);
        of_resources.flat_map(|one| &one.scope_spans).flat_map(|one| one.spans.clone()).collect()
    }

    /// What the first request says of its service.
    pub fn resource(&self, name: &str) -> Option<String> {
        let shared = self.locked();
        let (_, request) = shared.requests.first()?;
        let resource = request.resource_spans.first()?.resource.as_ref()?;
        resource.attributes.iter().find(|one| one.key == name).and_then(text)
    }

    /// The headers of the first request.
    pub fn headers(&self) -> HeaderMap {
        self.locked().requests.first().map(|(headers, _)| headers.clone()).unwrap_or_default()
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An attribute of a span, as text.
pub fn attribute(span: &Span, name: &str) -> Option<String> {
    span.attributes.iter().find(|one| one.key == name).and_then(text)
}

fn text(attribute: &opentelemetry_proto::tonic::common::v1::KeyValue) -> Option<String> {
    match attribute.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text.clone()),
        Value::IntValue(number) => Some(number.to_string()),
        other => Some(format!("{other:?}")),
    }
}

async fn take(State(shared): State<Arc<Mutex<Shared>>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
    if shared.is_full {
        return StatusCode::TOO_MANY_REQUESTS;
    }
    if headers.get("content-type").is_none_or(|kind| kind != "application/x-protobuf") {
        return StatusCode::UNSUPPORTED_MEDIA_TYPE;
    }
    let Ok(request) = ExportTraceServiceRequest::decode(body) else { return StatusCode::BAD_REQUEST };
    shared.requests.push((headers, request));
    StatusCode::OK
}
