//! The OpenAPI document: the tools, and what the server says about itself.

use protocol::ToolSpec;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use toolkit::Registry;
use toolkit::function_schemas::Format;
use toolkit::openapi::{
    ApiDocument, answer, either, named, parameter, schema, with_refusals, with_retry_after,
};
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::path::{HttpMethod, OperationBuilder, ParameterIn};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{Contact, InfoBuilder, License, OpenApi, OpenApiBuilder, Server};

use super::approval_document;
use super::service::Liveness;
use super::{change_document, effect_document, file_document, journal_document};
use crate::service_report::{CapabilitiesReport, Readiness};

const BEARER: &str = "bearer";

/// What the page of the docs says first.
const ABOUT: &str = "\
Tools for an untrusted agent. Every call is answered with one envelope: `ok`, `exit_code`, `stdout`, \
`stderr`, what was cut, and `meta` with typed `data`.

With `Accept: text/plain` the answer is a text for models instead: one status line, then stdout, then stderr.

With `Accept: text/event-stream`, tools that run or read commands send their output as it comes: an event \
`output` for each part, its `id` the part's number and its data `{\"stream\", \"text\"}`; an event `dropped` \
with `{\"bytes\"}` where the reader was too slow; at the end one event `envelope`, whose data is the answer \
in JSON. These two forms are in no operation, so that generated clients have the typed answer alone.

A call may carry these headers, which are no parameters of the operations so that a model is never offered \
them as arguments:
";

/// The optional headers of a call.
const HEADERS: [(&str, &str); 10] = [
    ("X-Session-Id", "The session whose reads and locks the call uses; `default` if absent."),
    ("X-Task-Id", "The task that the call belongs to."),
    (
        protocol::task::SCHEDULED_TASK,
        "With any value: the task was set earlier and nobody asks now, so no yes for a chat covers it.",
    ),
    (
        protocol::task::UNATTENDED_TASK,
        "With any value: no person can be asked, so a call that needs a yes is refused at once without one.",
    ),
    ("X-Parent-Event-Id", "The parent of the call's event."),
    ("X-Request-Id", "The caller's own ID for this request; echoed in the response."),
    ("traceparent", "W3C trace context."),
    ("Prefer", "`wait=N`: a call that a person must approve waits up to N seconds for the decision."),
    ("Idempotency-Key", "A call with this key takes effect at most once; its answer is kept for a day."),
    (
        "Last-Event-ID",
        "The `id` of the last event of a stream that broke: with the same key, the stream continues there.",
    ),
];

/// What `GET /tools` answers.
#[derive(JsonSchema, Serialize)]
struct WholeCatalogue {
    /// The tools, sorted by name.
    tools: Vec<ToolSpec>,
}

/// What `GET /tools?format=…` answers.
#[derive(JsonSchema, Serialize)]
struct FunctionCatalogue {
    /// The value of `tools` in a request to that provider.
    tools: Vec<serde_json::Map<String, Value>>,
}

/// The document for the tools that `is_offered` allows.
pub fn document(registry: &Registry, is_offered: impl Fn(&str) -> bool) -> OpenApi {
    let mut document = ApiDocument::of_tools(registry, is_offered);
    file_document::add_to(&mut document);
    change_document::add_to(&mut document);
    approval_document::add_to(&mut document);
    journal_document::add_to(&mut document);
    effect_document::add_to(&mut document);
    add_service_routes(&mut document);
    let ApiDocument { paths, mut components, .. } = document;
    let mut bearer = Http::new(HttpAuthScheme::Bearer);
    bearer.description = Some("Required when the server has a token.".to_owned());
    components.add_security_scheme(BEARER, SecurityScheme::Http(bearer));
    let mut license = License::new("MIT OR Apache-2.0");
    license.identifier = Some("MIT OR Apache-2.0".to_owned());
    let mut contact = Contact::new();
    contact.name = Some("Autonous".to_owned());
    contact.url = Some(env!("CARGO_PKG_REPOSITORY").to_owned());
    let info = InfoBuilder::new()
        .title("Autonous tool server")
        .description(Some(about()))
        .version(env!("CARGO_PKG_VERSION"))
        .contact(Some(contact))
        .license(Some(license));
    let tag =
        |name: &str, description: &str| TagBuilder::new().name(name).description(Some(description)).build();
    let mut document = OpenApiBuilder::new()
        .info(info)
        .servers(Some([Server::new("/")]))
        .tags(Some([
            tag("tools", "Tools that an agent can call, the safest first."),
            tag("files", "Whole files, byte by byte, and undoing changes."),
            tag("approvals", "What a person decides about calls."),
            tag("journal", "The records of all calls."),
            tag("effects", "What tools ask of a supervisor on another machine."),
            tag("server", "The server's state and capabilities."),
        ]))
        .security(Some([SecurityRequirement::default(), bearer_required()]))
        .paths(paths)
        .components(Some(components))
        .build();
    document.extensions = Some(Extensions::from_iter([("x-optional-headers", headers())]));
    document
}

fn bearer_required() -> SecurityRequirement {
    SecurityRequirement::new::<_, [&str; 0], &str>(BEARER, [])
}

fn about() -> String {
    let lines: Vec<String> = HEADERS.iter().map(|(name, meaning)| format!("- `{name}`: {meaning}")).collect();
    format!("{ABOUT}\n{}", lines.join("\n"))
}

/// For the group in which Swagger UI offers them.
fn headers() -> Value {
    HEADERS.iter().map(|(name, meaning)| json!({"name": name, "description": meaning})).collect()
}

fn add_service_routes(document: &mut ApiDocument) {
    document.add_schema::<WholeCatalogue>("Catalogue");
    document.add_schema::<FunctionCatalogue>("FunctionCatalogue");
    document.add_schema::<Liveness>("Liveness");
    document.add_schema::<Readiness>("Readiness");
    document.add_schema::<CapabilitiesReport>("Capabilities");
    let about = "The provider whose form of a function the tools should have.";
    let format = parameter(ParameterIn::Query, "format", about)
        .schema(Some(schema(json!({"type": "string", "enum": Format::ALL.map(Format::name)}))));
    let catalogue = "The tools; with `format`, as they stand under `tools` in a request to that provider.";
    let list = operation("listTools", "List the tools", catalogue)
        .parameter(format)
        .response("200", answer(catalogue, either(["Catalogue", "FunctionCatalogue"])))
        .response("304", utoipa::openapi::Response::new("The caller has this catalogue already."));
    document.add_operation("/tools", HttpMethod::Get, with_refusals(list, [400, 401, 503]));

    let capabilities = "What the kernel supports and which sandbox layers are active.";
    let reported = operation("capabilities", "Capabilities", capabilities)
        .response("200", answer(capabilities, named("Capabilities")));
    document.add_operation("/capabilities", HttpMethod::Get, with_refusals(reported, [401, 503]));

    let alive = "The server is alive. It answers this even when it has no room for anything else.";
    let livez = operation("livez", "Liveness", alive).response("200", answer(alive, named("Liveness")));
    document.add_operation("/livez", HttpMethod::Get, livez.securities(Some([])));

    let ready = "Whether the server can work, with the result of each self-check.";
    let not_ready = "A required self-check failed, or the server has no room for the request.";
    let readyz = operation("readyz", "Readiness", ready)
        .response("200", answer(ready, named("Readiness")))
        .response("503", with_retry_after(answer(not_ready, either(["Readiness", "ToolFailure"]))));
    document.add_operation("/readyz", HttpMethod::Get, readyz.securities(Some([])));
}

/// An operation that any foreign host is refused.
fn operation(id: &str, summary: &str, description: &str) -> OperationBuilder {
    with_refusals(toolkit::openapi::operation("server", id, summary, description), [403])
}
