//! `GET /llms.txt`: what an agent needs to use the server over plain HTTP. The page has what holds for every
//! tool; the tools are those that the session can call, each as its schema has it.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use protocol::ToolSpec;
use protocol::ids::channel_of;
use serde_json::Value;

use super::call::session_named;
use super::state::AppState;

const PAGE: &str = include_str!("llms.md");

const MORE: &str = "\n## More\n\n- [The OpenAPI document](/openapi.json): every argument and every answer, \
                    typed\n- [The catalogue](/tools): the tools with their JSON Schemas; `?format=openai`, \
                    `anthropic` or `gemini` as that provider takes them\n- [Swagger UI](/docs/)\n";

/// `GET /llms.txt`
pub(super) async fn llms_txt(State(app): State<Arc<AppState>>, headers: HeaderMap) -> Response {
    let mut page = PAGE.to_owned();
    for tool in app.runner.specs(channel_of(session_named(&headers)), None) {
        page.push_str(&line(tool));
    }
    page.push_str(MORE);
    ([(header::CONTENT_TYPE, "text/markdown; charset=utf-8")], page).into_response()
}

/// A tool on one line, and its arguments below it.
fn line(tool: &ToolSpec) -> String {
    let first = tool.description.split("\n\n").next().unwrap_or_default();
    let mut text = format!("- `{}` ({} risk): {first}\n", tool.name, tool.risk.name());
    let required = tool.input_schema["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|one| one == name));
    for (name, schema) in tool.input_schema["properties"].as_object().into_iter().flatten() {
        let optional = if is_required(name) { "" } else { ", optional" };
        let about = schema["description"].as_str().unwrap_or_default();
        let _ = writeln!(text, "  - `{name}` ({}{optional}): {about}", type_of(schema));
    }
    text
}

/// The type in words; of a fixed set of values, the values.
fn type_of(schema: &Value) -> String {
    match schema["enum"].as_array() {
        Some(values) => values.iter().map(Value::to_string).collect::<Vec<_>>().join(" or "),
        None => schema["type"].as_str().unwrap_or("any").to_owned(),
    }
}
