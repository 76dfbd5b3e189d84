//! Tools as operations of an OpenAPI 3.1 document, and the named schemas of what they answer.
//!
//! A generated client gets one flat type per tool, with typed data, and one type for every failure. The
//! arguments are the body and nothing else: readers of such documents that offer operations to a model make
//! an argument of every parameter, so the headers of a call are described beside the operations.

use protocol::{Envelope, ErrorCode, ToolSpec};
use schemars::JsonSchema;
use serde_json::{Value, json};
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::path::{HttpMethod, OperationBuilder, ParameterBuilder, ParameterIn, PathItem};
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::schema::{AnyOf, AnyOfBuilder};
use utoipa::openapi::{
    Components, Content, ContentBuilder, Header, Paths, Ref, RefOr, Required, Response, ResponseBuilder,
    Schema,
};

use crate::function_schemas::with_null;
use crate::schema::output_schema;
use crate::{Registry, Slot};

const JSON: &str = "application/json";

/// The name of the schema of every failure.
const FAILURE: &str = "ToolFailure";

/// The parts of an envelope that all tools share.
const SHARED: [(&str, &str); 3] = [("stats", "Stats"), ("context", "Context"), ("full_output", "FullOutput")];

/// The document under construction.
#[derive(Default)]
pub struct ApiDocument {
    /// The operations; the safest tools come first.
    pub paths: Paths,
    /// The named schemas.
    pub components: Components,
    /// The schema of an answer, without its data.
    envelope: Value,
}

impl ApiDocument {
    /// The operations of the tools that `is_offered` allows.
    pub fn of_tools(registry: &Registry, is_offered: impl Fn(&str) -> bool) -> Self {
        let mut document = Self::default();
        document.add_envelope();
        let mut tools: Vec<_> = registry.in_order().filter(|tool| is_offered(&tool.spec().name)).collect();
        tools.sort_by_key(|tool| tool.spec().risk);
        for tool in tools {
            let (spec, runs_command) = (tool.spec(), tool.slot() == Slot::Command);
            document.add_result(spec, runs_command);
            document.add_tool(spec, tool.example());
        }
        document
    }

    /// Adds the schema of a type under a name.
    pub fn add_schema<T: JsonSchema>(&mut self, name: &str) {
        self.add_value(name, output_schema::<T>());
    }

    /// Adds an operation to a path that may have others.
    pub fn add_operation(&mut self, path: &str, method: HttpMethod, operation: OperationBuilder) {
        let item = PathItem::new(method, operation);
        match self.paths.paths.get_mut(path) {
            Some(present) => present.merge_operations(item),
            None => drop(self.paths.paths.insert(path.to_owned(), item)),
        }
    }

    /// Adds the answer of a transfer that succeeded, whose data has this schema and whose status is one of
    /// these.
    pub fn add_result_of<Data: JsonSchema>(&mut self, name: &str, statuses: &[&str]) {
        self.add_parts(name, self.envelope.clone(), output_schema::<Data>(), Some(statuses));
    }

    /// Adds what all answers have in common, and keeps the rest of the envelope's schema.
    fn add_envelope(&mut self) {
        let mut envelope = output_schema::<Envelope>();
        let properties = &mut envelope["properties"]["meta"]["properties"];
        for (field, name) in SHARED {
            self.add_value(name, properties[field].take());
            properties[field] = reference_to(name);
        }
        self.add_value("ToolError", properties["error"].take());
        properties["error"] = reference_to("ToolError");
        let mut failure = envelope.clone();
        failure["description"] = json!("The answer to a call that failed.");
        let mut meta = failure["properties"]["meta"].take();
        meta["properties"]["status"]["enum"] = json!(["error"]);
        meta["properties"]["data"] = json!({
            "type": "object", "additionalProperties": true,
            "description": "What the error's code adds; empty for most.",
        });
        require(&mut meta, "error");
        failure["properties"]["meta"] = reference_to("FailureMeta");
        self.add_value("FailureMeta", meta);
        self.add_value(FAILURE, failure);
        self.envelope = envelope;
    }

    /// Adds the schemas of what a tool answers when it ran.
    fn add_result(&mut self, spec: &ToolSpec, runs_command: bool) {
        let mut result = self.envelope.clone();
        // A command that failed has run: it has its data, beside its error.
        result["description"] = json!(if runs_command {
            format!("The answer of `{}` when it ran, whatever its exit code.", spec.name)
        } else {
            format!("The answer of `{}` when it succeeded.", spec.name)
        });
        let statuses: Option<&[&str]> = if runs_command { None } else { Some(&["success", "partial"]) };
        self.add_parts(&pascal_case(&spec.name), result, spec.output_schema.clone(), statuses);
    }

    /// Adds an answer, its metadata and its data; with `statuses` it is one without an error.
    fn add_parts(&mut self, name: &str, mut result: Value, data: Value, statuses: Option<&[&str]>) {
        let mut meta = result["properties"]["meta"].take();
        if let (Some(statuses), Some(properties)) = (statuses, meta["properties"].as_object_mut()) {
            properties["status"]["enum"] = json!(statuses);
            properties.remove("error");
        }
        let [data_name, meta_name] = ["Data", "Meta"].map(|part| format!("{name}{part}"));
        meta["properties"]["data"] = reference_to(&data_name);
        result["properties"]["meta"] = reference_to(&meta_name);
        self.add_value(&data_name, data);
        self.add_value(&meta_name, meta);
        self.add_value(&format!("{name}Result"), result);
    }

    fn add_tool(&mut self, spec: &ToolSpec, example: Value) {
        let name = pascal_case(&spec.name);
        let content =
            ContentBuilder::new().schema(Some(schema(with_null(&spec.input_schema)))).example(Some(example));
        let body = RequestBodyBuilder::new().required(Some(Required::True)).content(JSON, content.build());
        let ran = either([format!("{name}Result").as_str(), FAILURE]);
        let ran = answer("The tool ran; `ok` says whether it succeeded.", ran).build();
        let mut operation = OperationBuilder::new()
            .operation_id(Some(spec.name.as_str()))
            .tag("tools")
            .summary(spec.description.lines().next())
            .description(Some(description_of(spec)))
            .request_body(Some(body.build()))
            .extensions(Some(Extensions::from_iter([(
                "x-tool",
                json!({"risk": spec.risk, "annotations": spec.annotations}),
            )])))
            .response("200", ran);
        let mut statuses: Vec<u16> = ErrorCode::ALL.iter().map(|code| code.http_status()).collect();
        statuses.push(BODY_TIMEOUT);
        statuses.sort_unstable();
        statuses.dedup();
        // The path is a tool's and the method is right.
        statuses.retain(|status| ![200, 404, 405].contains(status));
        operation = with_refusals(operation, statuses);
        self.add_operation(&format!("/tools/{}", spec.name), HttpMethod::Post, operation);
    }

    fn add_value(&mut self, name: &str, value: Value) {
        self.components.schemas.insert(name.to_owned(), schema(value));
    }
}

/// The status of a call whose body came too slowly.
const BODY_TIMEOUT: u16 = 408;

/// An operation of a group.
pub fn operation(group: &str, id: &str, summary: &str, about: &str) -> OperationBuilder {
    OperationBuilder::new().operation_id(Some(id)).tag(group).summary(Some(summary)).description(Some(about))
}

/// The same for an operation that only the approver's token opens.
pub fn for_approvers(group: &str, id: &str, summary: &str, about: &str) -> OperationBuilder {
    with_refusals(operation(group, id, summary, about), [401, 403, 503])
}

/// A text beside the body; one in the path is required.
pub fn parameter(place: ParameterIn, name: &str, about: &str) -> ParameterBuilder {
    let required = if matches!(place, ParameterIn::Path) { Required::True } else { Required::False };
    ParameterBuilder::new()
        .name(name)
        .parameter_in(place)
        .required(required)
        .description(Some(about))
        .schema(Some(schema(json!({"type": "string"}))))
}

/// A body.
pub fn body(media_type: &str, schema: RefOr<Schema>, required: Required) -> RequestBody {
    RequestBodyBuilder::new().required(Some(required)).content(media_type, content(schema)).build()
}

/// Adds the answers with which a request is refused.
pub fn with_refusals(
    operation: OperationBuilder,
    statuses: impl IntoIterator<Item = u16>,
) -> OperationBuilder {
    let add =
        |operation: OperationBuilder, status: u16| operation.response(status.to_string(), refusal(status));
    statuses.into_iter().fold(operation, add)
}

/// The answer to a call that failed.
pub fn failure(about: &str) -> Response {
    answer(about, named(FAILURE)).build()
}

/// The answer to a request that was refused with one of the codes of a status.
pub fn refusal(status: u16) -> Response {
    let codes = ErrorCode::ALL.iter().filter(|code| code.http_status() == status).map(|code| code.as_str());
    let codes: Vec<&str> = if status == BODY_TIMEOUT { vec!["TIMEOUT"] } else { codes.collect() };
    let description = format!("The call was not run: {}.", codes.join(", "));
    let response = answer(&description, named(FAILURE));
    match status {
        503 => with_retry_after(response).build(),
        _ => response.build(),
    }
}

/// Adds the header that says when to try again.
pub fn with_retry_after(response: ResponseBuilder) -> ResponseBuilder {
    let mut header = Header::new(schema(json!({"type": "integer", "minimum": 0})));
    header.description = Some("Seconds to wait.".to_owned());
    response.header("Retry-After", header)
}

/// The part of a tool's description that models read, and after it the part for people.
fn description_of(spec: &ToolSpec) -> String {
    match spec.details.as_str() {
        "" => spec.description.clone(),
        details => format!("{}\n\n{details}", spec.description),
    }
}

/// An answer in JSON.
pub fn answer(description: &str, schema: RefOr<Schema>) -> ResponseBuilder {
    ResponseBuilder::new().description(description).content(JSON, content(schema))
}

/// An answer that is no JSON.
pub fn text_answer(description: &str, media_type: &str) -> Response {
    let content = content(schema(json!({"type": "string"})));
    ResponseBuilder::new().description(description).content(media_type, content).build()
}

fn content(schema: RefOr<Schema>) -> Content {
    ContentBuilder::new().schema(Some(schema)).build()
}

/// A reference to a named schema.
pub fn named(name: &str) -> RefOr<Schema> {
    RefOr::Ref(Ref::from_schema_name(name))
}

/// A choice between named schemas.
pub fn either<const N: usize>(names: [&str; N]) -> RefOr<Schema> {
    let choice: AnyOf =
        names.into_iter().fold(AnyOfBuilder::new(), |choice, name| choice.item(named(name))).build();
    RefOr::T(Schema::AnyOf(choice))
}

/// A schema of plain keywords, as utoipa has it.
pub fn schema(value: Value) -> RefOr<Schema> {
    serde_json::from_value(value).expect("an object of the keywords in `schema::KEYWORDS` is a schema")
}

fn reference_to(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn require(schema: &mut Value, name: &str) {
    if let Some(required) = schema["required"].as_array_mut() {
        required.push(Value::from(name));
    }
}

/// `multi_edit` as `MultiEdit`.
fn pascal_case(name: &str) -> String {
    name.split('_').map(|word| format!("{}{}", word[..1].to_uppercase(), &word[1..])).collect()
}
