//! Tools as the functions of a model provider: what goes under `tools` in a request.
//!
//! `GET /tools?format=…` answers with these and the worker sends them, so people see the model's tools.
//! Each format has only what its provider accepts. What it cannot say in keywords it says in words.

use protocol::ToolSpec;
use serde_json::{Map, Value, json};

/// A provider's form of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Chat completions, also of compatible servers.
    OpenAi,
    /// Chat completions with `strict`: the model cannot leave the schema.
    OpenAiStrict,
    /// Responses.
    OpenAiResponses,
    /// Messages.
    Anthropic,
    /// `generateContent`, whose schemas are a message of protocol buffers.
    Gemini,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 5] =
        [Self::OpenAi, Self::OpenAiStrict, Self::OpenAiResponses, Self::Anthropic, Self::Gemini];

    /// The name in `?format=`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::OpenAiStrict => "openai-strict",
            Self::OpenAiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }

    /// The value of `tools` in a request that offers these tools.
    pub fn tools<'a>(self, specs: impl IntoIterator<Item = &'a ToolSpec>) -> Vec<Value> {
        let functions = specs.into_iter().map(|spec| self.function(spec)).collect::<Vec<_>>();
        match self {
            Self::Gemini => vec![json!({"functionDeclarations": functions})],
            Self::OpenAi | Self::OpenAiStrict | Self::OpenAiResponses | Self::Anthropic => functions,
        }
    }

    fn function(self, spec: &ToolSpec) -> Value {
        let ToolSpec { name, description, input_schema, .. } = spec;
        match self {
            Self::OpenAi => json!({"type": "function", "function": {
                "name": name, "description": description, "parameters": input_schema,
            }}),
            Self::OpenAiStrict => json!({"type": "function", "function": {
                "name": name, "description": description, "parameters": strict(input_schema), "strict": true,
            }}),
            // This provider takes a function as strict unless it says otherwise.
            Self::OpenAiResponses => json!({
                "type": "function", "name": name, "description": description, "parameters": input_schema,
                "strict": false,
            }),
            Self::Anthropic => {
                json!({"name": name, "description": description, "input_schema": input_schema})
            }
            Self::Gemini => declaration(spec),
        }
    }
}

/// Every property is required, and may be null where it was optional: a tool takes null as absent.
fn strict(schema: &Value) -> Value {
    all_required(&with_null(&without_maps(schema)))
}

fn all_required(schema: &Value) -> Value {
    let mut schema = each_schema(schema, &all_required);
    in_words(&mut schema, &["default", "minLength", "maxLength"]);
    let names = schema["properties"].as_object().map(|all| all.keys().cloned().map(Value::from).collect());
    if let (Some(names), Some(object)) = (names, schema.as_object_mut()) {
        object.insert("required".to_owned(), names);
    }
    schema
}

/// The schema with null allowed for optional fields, as a tool takes it.
pub(crate) fn with_null(schema: &Value) -> Value {
    let mut schema = each_schema(schema, &with_null);
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        let optional = properties.iter_mut().filter(|(name, _)| !required.iter().any(|one| one == *name));
        optional.for_each(|(_, property)| or_null(property));
    }
    schema
}

fn or_null(property: &mut Value) {
    if let Some(only) = property.get("type").filter(|only| only.is_string()).cloned() {
        property["type"] = json!([only, "null"]);
    }
    if let Some(Value::Array(values)) = property.get_mut("enum") {
        values.push(Value::Null);
    }
}

fn declaration(spec: &ToolSpec) -> Value {
    let mut declaration = json!({"name": spec.name, "description": spec.description});
    let schema = without_maps(&spec.input_schema);
    // An object without properties is refused.
    if schema["properties"].as_object().is_some_and(|properties| !properties.is_empty()) {
        declaration["parameters"] = proto(&schema);
    }
    declaration
}

/// The schema without the optional properties that are maps of any names, which these providers refuse.
fn without_maps(schema: &Value) -> Value {
    let mut schema = each_schema(schema, &without_maps);
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        let is_map = |property: &Value| {
            property["type"] == "object" && property["properties"].as_object().is_none_or(Map::is_empty)
        };
        properties.retain(|name, property| required.iter().any(|one| one == name) || !is_map(property));
    }
    schema
}

/// The provider's own schema message: types are names of an enum, and unknown fields are errors.
fn proto(schema: &Value) -> Value {
    let mut schema = each_schema(schema, &proto);
    in_words(&mut schema, &["default"]);
    if let Some(object) = schema.as_object_mut() {
        object.remove("additionalProperties");
        if let Some(Value::String(name)) = object.get_mut("type") {
            name.make_ascii_uppercase();
        }
    }
    schema
}

/// The schema with `change` applied to the schemas of its properties and items.
fn each_schema(schema: &Value, change: &dyn Fn(&Value) -> Value) -> Value {
    let mut schema = schema.clone();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().for_each(|property| *property = change(property));
    }
    if let Some(items) = schema.get_mut("items") {
        *items = change(items);
    }
    schema
}

/// Moves keywords into the description.
fn in_words(schema: &mut Value, keywords: &[&str]) {
    let Some(object) = schema.as_object_mut() else { return };
    let said: Vec<String> = keywords
        .iter()
        .filter_map(|keyword| object.remove(*keyword).map(|value| sentence(keyword, &value)))
        .collect();
    if said.is_empty() {
        return;
    }
    let description = described(object).into_iter().chain(said).collect::<Vec<_>>().join(" ");
    object.insert("description".to_owned(), Value::from(description));
}

fn described(object: &Map<String, Value>) -> Option<String> {
    object.get("description").and_then(Value::as_str).map(str::to_owned)
}

fn sentence(keyword: &str, value: &Value) -> String {
    match keyword {
        "minLength" => format!("At least {value} characters."),
        "maxLength" => format!("At most {value} characters."),
        _ => format!("Default: {value}."),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use protocol::{Annotations, Risk};

    use super::*;

    pub(crate) fn spec(input_schema: Value) -> ToolSpec {
        ToolSpec {
            name: "tool".to_owned(),
            description: "It works.".to_owned(),
            details: String::new(),
            risk: Risk::Low,
            annotations: Annotations::READS,
            input_schema,
            essential: Vec::new(),
            output_schema: json!({"type": "object", "properties": {}}),
        }
    }

    fn example() -> ToolSpec {
        spec(json!({"type": "object", "additionalProperties": false, "required": ["path"], "properties": {
            "path": {"type": "string", "description": "Where.", "maxLength": 9},
            "limit": {"type": "integer", "minimum": 1, "default": 5, "description": "How many."},
            "edits": {"type": "array", "items": {
                "type": "object", "additionalProperties": false,
                "properties": {"mode": {"type": "string", "enum": ["a", "b"]}},
            }},
        }}))
    }

    #[test]
    fn a_strict_function_requires_every_property_and_lets_what_was_optional_be_null() {
        let function = &Format::OpenAiStrict.tools([&example()])[0]["function"];
        let expected = json!({
            "type": "object", "additionalProperties": false, "required": ["edits", "limit", "path"],
            "properties": {
                "path": {"type": "string", "description": "Where. At most 9 characters."},
                "limit": {"type": ["integer", "null"], "minimum": 1, "description": "How many. Default: 5."},
                "edits": {"type": ["array", "null"], "items": {
                    "type": "object", "additionalProperties": false, "required": ["mode"],
                    "properties": {"mode": {"type": ["string", "null"], "enum": ["a", "b", null]}},
                }},
            },
        });
        assert_eq!((&function["parameters"], &function["strict"]), (&expected, &json!(true)));
    }

    #[test]
    fn a_declaration_has_types_of_the_enum_and_no_field_that_the_message_lacks() {
        let tools = Format::Gemini.tools([&example(), &spec(json!({"type": "object", "properties": {}}))]);
        let declarations = &tools[0]["functionDeclarations"];
        let expected = json!({"type": "OBJECT", "required": ["path"], "properties": {
            "path": {"type": "STRING", "description": "Where.", "maxLength": 9},
            "limit": {"type": "INTEGER", "minimum": 1, "description": "How many. Default: 5."},
            "edits": {"type": "ARRAY", "items": {
                "type": "OBJECT", "properties": {"mode": {"type": "STRING", "enum": ["a", "b"]}},
            }},
        }});
        assert_eq!(declarations[0]["parameters"], expected);
        assert_eq!(declarations[1], json!({"name": "tool", "description": "It works."}));
    }

    #[test]
    fn maps_of_any_names_are_left_out_where_a_provider_refuses_them() {
        let map = json!({"type": "object", "additionalProperties": {"type": "string"}});
        let with_map = spec(json!({"type": "object", "additionalProperties": false, "required": ["url"],
            "properties": {"url": {"type": "string"}, "headers": map}}));
        let names =
            |schema: &Value| schema["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let strict = Format::OpenAiStrict.tools([&with_map]);
        assert_eq!(names(&strict[0]["function"]["parameters"]), ["url"]);
        let gemini = Format::Gemini.tools([&with_map]);
        assert_eq!(names(&gemini[0]["functionDeclarations"][0]["parameters"]), ["url"]);
        let openai = Format::OpenAi.tools([&with_map]);
        assert_eq!(names(&openai[0]["function"]["parameters"]), ["headers", "url"]);
    }

    #[test]
    fn each_format_has_its_own_name() {
        let names: std::collections::BTreeSet<_> = Format::ALL.map(Format::name).into();
        assert_eq!(names.len(), Format::ALL.len());
    }
}
