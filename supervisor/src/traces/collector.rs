//! The collector: sends spans over HTTP as OTLP has them.

use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans};
use percent_encoding::percent_decode_str;
use process::error_chain;
use prost::Message as _;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url};
use settings::table::{
    OTEL_ENDPOINT, OTEL_HEADERS, OTEL_PROTOCOL, OTEL_RESOURCE_ATTRIBUTES, OTEL_SDK_DISABLED,
    OTEL_SERVICE_NAME, OTEL_TIMEOUT, OTEL_TRACES_ENDPOINT, TRACE_CONTENT,
};
use settings::{SettingError, Source};

use super::attributes::text;
use super::spans::Span;

/// The path below `OTEL_EXPORTER_OTLP_ENDPOINT`.
const PATH: [&str; 2] = ["v1", "traces"];

const MEDIA_TYPE: &str = "application/x-protobuf";

const SERVICE_NAME: &str = "service.name";
const SERVICE_VERSION: &str = "service.version";

/// Where traces are sent, and what is in them.
#[derive(Debug, Clone)]
pub struct TraceSettings {
    url: Url,
    headers: HeaderMap,
    timeout: Duration,
    /// What every trace says of its program.
    resource: Vec<KeyValue>,
    has_content: bool,
}

impl TraceSettings {
    /// None where no collector is named, or `OTEL_SDK_DISABLED` is set.
    ///
    /// # Errors
    /// Of any of the variables, whether a collector is named or not.
    pub(crate) fn read(source: &Source) -> Result<Option<Self>, SettingError> {
        let all = OTEL_ENDPOINT.read(source)?.map(below);
        let url = OTEL_TRACES_ENDPOINT.read(source)?.or(all);
        let is_off = OTEL_SDK_DISABLED.read(source)?;
        OTEL_PROTOCOL.read(source)?;
        let settings = |url| -> Result<Self, SettingError> {
            Ok(Self {
                url,
                headers: headers(source)?,
                timeout: OTEL_TIMEOUT.read(source)?,
                resource: resource(source)?,
                has_content: TRACE_CONTENT.read(source)?,
            })
        };
        url.filter(|_| !is_off).map(settings).transpose()
    }
}

/// The address of traces below that of all signals.
fn below(mut all: Url) -> Url {
    if let Ok(mut segments) = all.path_segments_mut() {
        segments.pop_if_empty().extend(PATH);
    }
    all
}

fn headers(source: &Source) -> Result<HeaderMap, SettingError> {
    let mut headers = HeaderMap::new();
    for (name, value) in OTEL_HEADERS.read(source)?.iter().flat_map(|given| pairs(given.expose())) {
        let refused = || OTEL_HEADERS.refuse("", "`name=value` of HTTP headers, separated by commas");
        let name = HeaderName::try_from(name).map_err(|_| refused())?;
        let mut value = HeaderValue::try_from(value).map_err(|_| refused())?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

fn resource(source: &Source) -> Result<Vec<KeyValue>, SettingError> {
    let given = OTEL_RESOURCE_ATTRIBUTES.read(source)?;
    let own = [SERVICE_NAME, SERVICE_VERSION];
    let others = pairs(&given).filter(|(name, _)| !own.contains(&name.as_str()));
    let mut resource: Vec<KeyValue> = others.map(|(name, value)| text(&name, &value)).collect();
    resource.push(text(SERVICE_NAME, &OTEL_SERVICE_NAME.read(source)?));
    resource.push(text(SERVICE_VERSION, env!("CARGO_PKG_VERSION")));
    Ok(resource)
}

/// A list as these variables have it: `name=value`, separated by commas, with percent-encoded values.
fn pairs(text: &str) -> impl Iterator<Item = (String, String)> {
    let entries = text.split(',').filter_map(|entry| entry.split_once('='));
    entries.map(|(name, value)| {
        let value = percent_decode_str(value.trim()).decode_utf8_lossy().into_owned();
        (name.trim().to_owned(), value)
    })
}

/// Sends spans to a collector.
#[derive(Clone)]
pub(crate) struct Collector {
    client: Client,
    settings: TraceSettings,
    /// Whether the last request failed, which the log says once.
    is_away: bool,
}

impl Collector {
    pub(crate) fn new(settings: TraceSettings) -> Result<Self, reqwest::Error> {
        let client = Client::builder().timeout(settings.timeout).default_headers(settings.headers.clone());
        Ok(Self { client: client.build()?, settings, is_away: false })
    }

    /// Whether spans have arguments and results.
    pub(super) fn wants_content(&self) -> bool {
        self.settings.has_content
    }

    /// Sends spans. What the collector does not take is lost.
    pub(super) async fn send(&mut self, spans: &[Span]) {
        let trouble = self.try_send(spans).await.err();
        match (&trouble, self.is_away) {
            (Some(trouble), false) => {
                tracing::warn!(trouble, "the collector takes no traces; they are lost until it does");
            }
            (None, true) => tracing::info!("the collector takes traces again"),
            (Some(_), true) | (None, false) => {}
        }
        self.is_away = trouble.is_some();
    }

    async fn try_send(&self, spans: &[Span]) -> Result<(), String> {
        let scope = InstrumentationScope { name: "autonous".to_owned(), ..InstrumentationScope::default() };
        let scope_spans =
            vec![ScopeSpans { scope: Some(scope), spans: spans.to_vec(), ..ScopeSpans::default() }];
        let resource = Resource { attributes: self.settings.resource.clone(), ..Resource::default() };
        let of_resource = ResourceSpans { resource: Some(resource), scope_spans, ..ResourceSpans::default() };
        let body = ExportTraceServiceRequest { resource_spans: vec![of_resource] }.encode_to_vec();
        let request = self.client.post(self.settings.url.clone()).header(CONTENT_TYPE, MEDIA_TYPE);
        let response = request.body(body).send().await.map_err(|error| error_chain(&error.without_url()))?;
        match response.status() {
            status if status.is_success() => Ok(()),
            status => Err(format!("it answers {status}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<const N: usize>(pairs: [(&str, &str); N]) -> Result<Option<TraceSettings>, SettingError> {
        TraceSettings::read(&Source::from_pairs(pairs))
    }

    fn url<const N: usize>(pairs: [(&str, &str); N]) -> Option<String> {
        read(pairs).unwrap().map(|settings| settings.url.to_string())
    }

    #[test]
    fn the_address_is_that_of_the_standard_variables() {
        const ALL: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
        const TRACES: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
        assert_eq!(url([]), None);
        assert_eq!(url([(ALL, "http://127.0.0.1:4318")]).unwrap(), "http://127.0.0.1:4318/v1/traces");
        assert_eq!(
            url([(ALL, "https://otel.example/otlp/")]).unwrap(),
            "https://otel.example/otlp/v1/traces"
        );
        let both = [(ALL, "http://127.0.0.1:4318"), (TRACES, "http://127.0.0.1:4319/mine")];
        assert_eq!(url(both).unwrap(), "http://127.0.0.1:4319/mine");
        assert_eq!(url([(ALL, "http://127.0.0.1:4318"), ("OTEL_SDK_DISABLED", "true")]), None);
        for wrong in ["localhost", "ftp://x"] {
            assert!(read([(ALL, wrong)]).is_err(), "{wrong}");
        }
        let grpc = [(ALL, "http://127.0.0.1:4317"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")];
        assert!(read(grpc).unwrap_err().to_string().contains("http/protobuf"));
    }

    #[test]
    fn headers_and_attributes_are_lists_with_encoded_values() {
        let settings = read([
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b,authorization=Bearer%20FAKE-key"),
            ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=home, service.name=ignored"),
        ]);
        let settings = settings.unwrap().unwrap();
        assert_eq!(settings.headers["x-key"], "a b");
        assert!(!format!("{settings:?}").contains("FAKE-key"), "{settings:?}");
        let names: Vec<_> = settings.resource.iter().map(|one| one.key.as_str()).collect();
        assert_eq!(names, ["deployment.environment.name", SERVICE_NAME, SERVICE_VERSION]);
        let wrong =
            [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1"), ("OTEL_EXPORTER_OTLP_HEADERS", "a b=c")];
        assert!(!read(wrong).unwrap_err().to_string().contains("a b"), "it is a secret");
    }
}
