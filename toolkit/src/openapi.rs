//! The OpenAPI 3.1 document: one typed operation per tool, generated from the registry.
//!
//! OpenAPI 3.1 and the tools both use JSON Schema 2020-12, so schemas are copied unchanged.

use protocol::{Envelope, ErrorCode, ToolSpec};
use serde_json::{Map, Value, json};

use crate::Registry;
use crate::schema::output_schema;

/// The header parameter of tools that are not read-only.
const IDEMPOTENCY_KEY: &str = "IdempotencyKey";

/// The document for a registry's tools.
pub fn document(registry: &Registry) -> Value {
    let mut paths: Map<String, Value> = registry
        .examples()
        .map(|(spec, example)| (format!("/tools/{}", spec.name), tool_path(spec, &example)))
        .collect();
    paths.extend(service_paths());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Autonous tool server",
            "description": "Tools for an untrusted agent. Every call returns the same envelope: \
                `ok`, `exit_code`, `stdout`, `stderr`, what was cut, and `meta`. With \
                `Accept: text/plain` the \
                answer is the text form for models.",
            "version": env!("CARGO_PKG_VERSION"),
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [
            {"name": "tools", "description": "Tools that an agent can call."},
            {"name": "server", "description": "The server's state and capabilities."},
        ],
        "security": [{}, {"bearer": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"bearer": {
                "type": "http", "scheme": "bearer",
                "description": "Required when the server has a token.",
            }},
            "schemas": {"Envelope": output_schema::<Envelope>(), "ToolSpec": output_schema::<ToolSpec>()},
            "parameters": header_parameters(),
        },
    })
}

fn tool_path(spec: &ToolSpec, example: &Value) -> Value {
    let description = &spec.description;
    let summary = description.lines().next().unwrap_or_default();
    let headers: Vec<Value> = header_parameters()
        .keys()
        .filter(|name| name.as_str() != IDEMPOTENCY_KEY || !spec.annotations.read_only)
        .map(|name| json!({"$ref": format!("#/components/parameters/{name}")}))
        .collect();
    json!({"post": {
        "operationId": spec.name,
        "tags": ["tools"],
        "summary": summary,
        "description": description,
        "parameters": headers,
        "requestBody": {
            "required": true,
            "content": {"application/json": {"schema": spec.input_schema, "example": example}},
        },
        "responses": responses(&spec.output_schema),
        "x-risk": spec.risk,
        "x-annotations": spec.annotations,
    }})
}

/// The response of a tool that ran, and one response per HTTP status of an error.
fn responses(data: &Value) -> Map<String, Value> {
    let typed = json!({"allOf": [
        {"$ref": "#/components/schemas/Envelope"},
        {"type": "object", "properties": {"meta": {"type": "object", "properties": {"data": {"anyOf": [
            data,
            {"type": "object", "maxProperties": 0, "description": "After an error: empty."},
        ]}}}}},
    ]});
    let mut responses = Map::from_iter([(
        "200".to_owned(),
        json!({
            "description": "The tool ran; `ok` says whether it succeeded.",
            "content": {
                "application/json": {"schema": typed},
                "text/plain": {"schema": {"type": "string"}},
            },
        }),
    )]);
    let mut statuses: Vec<u16> = ErrorCode::ALL.iter().map(|code| code.http_status()).collect();
    statuses.sort_unstable();
    statuses.dedup();
    for status in statuses.into_iter().filter(|status| *status != 200) {
        responses.insert(status.to_string(), error_response(status));
    }
    responses
}

fn error_response(status: u16) -> Value {
    let codes: Vec<&str> =
        ErrorCode::ALL.iter().filter(|code| code.http_status() == status).map(|code| code.as_str()).collect();
    let mut response = json!({
        "description": format!("The call was not run: {}.", codes.join(", ")),
        "content": {
            "application/json": {"schema": {"$ref": "#/components/schemas/Envelope"}},
            "text/plain": {"schema": {"type": "string"}},
        },
    });
    if status == 503 {
        response["headers"] = json!({"Retry-After": {
            "description": "Seconds to wait.", "schema": {"type": "integer"},
        }});
    }
    response
}

/// The optional headers of a tool call, by component name.
fn header_parameters() -> Map<String, Value> {
    let headers = [
        (
            "SessionId",
            "X-Session-Id",
            "The session whose reads and locks the call uses; `default` if absent.",
        ),
        ("TaskId", "X-Task-Id", "The task that the call belongs to."),
        ("ParentEventId", "X-Parent-Event-Id", "The parent of the call's event."),
        ("RequestId", "X-Request-Id", "The caller's own ID for this request; echoed in the response."),
        ("Traceparent", "traceparent", "W3C trace context."),
        (
            IDEMPOTENCY_KEY,
            "Idempotency-Key",
            "A call with this key takes effect at most once; its answer is kept for a day.",
        ),
    ];
    headers
        .into_iter()
        .map(|(component, name, description)| {
            let parameter = json!({
                "name": name, "in": "header", "required": false, "description": description,
                "schema": {"type": "string", "maxLength": protocol::ids::MAX_ID_CHARS},
            });
            (component.to_owned(), parameter)
        })
        .collect()
}

fn service_paths() -> Map<String, Value> {
    let catalogue = json!({
        "type": "object", "required": ["tools"],
        "properties": {"tools": {"type": "array", "items": {"$ref": "#/components/schemas/ToolSpec"}}},
    });
    let report = json!({"type": "object"});
    let routes = [
        ("/tools", "listTools", "List the tools", catalogue, true),
        ("/livez", "livez", "Liveness", report.clone(), false),
        ("/readyz", "readyz", "Readiness, with the result of each self-check", report.clone(), false),
        (
            "/capabilities",
            "capabilities",
            "What the kernel supports and which sandbox layers are active",
            report,
            true,
        ),
    ];
    routes
        .into_iter()
        .map(|(path, id, summary, schema, token)| (path.to_owned(), get(id, summary, &schema, token)))
        .collect()
}

fn get(operation_id: &str, summary: &str, schema: &Value, token: bool) -> Value {
    let mut operation = json!({"get": {
        "operationId": operation_id,
        "tags": ["server"],
        "summary": summary,
        "responses": {"200": {
            "description": summary,
            "content": {"application/json": {"schema": schema}},
        }},
    }});
    if token {
        operation["get"]["responses"]["401"] = error_response(401);
    } else {
        operation["get"]["security"] = json!([]);
    }
    operation
}
