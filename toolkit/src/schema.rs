//! JSON Schema from a type, in the few words that every reader of schemas knows.
//!
//! Model providers and client generators each take another part of JSON Schema, so a schema here has one
//! plain `type` per value, an `enum` where the type has a fixed set of values, and nothing that refers or
//! composes. Optional fields are not in `required`; they are never declared to be `null`.

use protocol::Envelope;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use serde_json::{Map, Value, json};

/// The keywords that schemas of tools may have.
pub const KEYWORDS: [&str; 15] = [
    "additionalProperties", "default", "description", "enum", "items", "maxItems", "maxLength", "maximum",
    "minItems", "minLength", "minimum", "pattern", "properties", "required", "type",
];

/// The schema of the JSON that is read into a type. It has `properties` even where there are none, since some
/// model providers and client generators ask for them.
pub(crate) fn input_schema<T: JsonSchema>() -> Value {
    let mut schema = generated::<T>(SchemaSettings::draft2020_12().for_deserialize());
    if let Some(schema) = schema.as_object_mut() {
        schema.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

/// The schema of what a type is written as.
pub(crate) fn output_schema<T: JsonSchema>() -> Value {
    generated::<T>(SchemaSettings::draft2020_12().for_serialize())
}

/// The schema of an envelope with data of this schema, without descriptions. Where a call failed, the data is
/// what the code of its error adds.
pub fn envelope_of(data: &Value) -> Value {
    let mut envelope = output_schema::<Envelope>();
    without_descriptions(&mut envelope);
    let of_failure = json!({"type": "object"});
    envelope["properties"]["meta"]["properties"]["data"] = json!({"anyOf": [data, of_failure]});
    envelope
}

/// A property that has this name is none.
fn without_descriptions(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("description").is_some_and(Value::is_string) {
                fields.remove("description");
            }
            fields.values_mut().for_each(without_descriptions);
        }
        Value::Array(values) => values.iter_mut().for_each(without_descriptions),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn generated<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let settings = settings
        .with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        })
        .with_transform(Plain);
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Rewrites what schemars makes of Rust types, innermost schemas first.
#[derive(Debug, Clone)]
struct Plain;

impl Transform for Plain {
    fn transform(&mut self, schema: &mut schemars::Schema) {
        transform_subschemas(self, schema);
        let Some(schema) = schema.as_object_mut() else { return };
        // Type names and integer widths, which only Rust readers would use.
        schema.remove("title");
        schema.remove("format");
        absent_instead_of_null(schema);
        absent_instead_of_empty(schema);
        enum_instead_of_constants(schema);
        if let Some(Value::String(text)) = schema.get_mut("description") {
            *text = unwrapped(text);
        }
    }
}

fn absent_instead_of_null(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if schema.get("default") == Some(&Value::Null) {
        schema.remove("default");
    }
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        choices.retain(|choice| *choice != json!({"type": "null"}));
        if let [Value::Object(only)] = choices.as_mut_slice() {
            let only = std::mem::take(only);
            schema.remove("anyOf");
            for (keyword, value) in only {
                schema.entry(keyword).or_insert(value);
            }
        }
    }
}

/// An empty list or table is what an absent one means. Said as a default it costs a model tokens, and some
/// generators of clients leave out a tool that says it.
fn absent_instead_of_empty(schema: &mut Map<String, Value>) {
    if schema.get("default").is_some_and(|value| [json!([]), json!({})].contains(value)) {
        schema.remove("default");
    }
}

/// An enum whose variants have doc comments comes as a choice between constants.
fn enum_instead_of_constants(schema: &mut Map<String, Value>) {
    let Some(choices) = schema.get("oneOf").and_then(Value::as_array) else { return };
    let values: Option<Vec<Value>> =
        choices.iter().map(constants).collect::<Option<Vec<_>>>().map(|all| all.concat());
    if let Some(values) = values {
        schema.remove("oneOf");
        schema.insert("type".to_owned(), Value::from("string"));
        schema.insert("enum".to_owned(), Value::Array(values));
    }
}

fn constants(choice: &Value) -> Option<Vec<Value>> {
    match (&choice["const"], &choice["enum"]) {
        (Value::String(value), _) => Some(vec![Value::from(value.as_str())]),
        (_, Value::Array(values)) => Some(values.clone()),
        _ => None,
    }
}

/// A doc comment without its line breaks, which cost a model tokens; paragraphs and lists stay.
fn unwrapped(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    for line in text.lines() {
        let starts_anew = line.is_empty() || line.starts_with("- ") || line.starts_with("* ");
        match whole.chars().last() {
            None | Some('\n') => {}
            Some(_) if starts_anew => whole.push('\n'),
            Some(_) => whole.push(' '),
        }
        whole.push_str(line);
        if line.is_empty() {
            whole.push('\n');
        }
    }
    whole
}

/// A tool's description, taken out of its arguments' schema.
pub(crate) fn take_description(schema: &mut Value) -> Option<String> {
    match schema.as_object_mut()?.remove("description")? {
        Value::String(description) => Some(description),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    use super::*;

    /// What to do.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Mode {
        /// The one.
        First,
        /// The other.
        Second,
    }

    /// Comes as an enum of all values and null, unlike `Mode`.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Signal {
        Hangup,
    }

    /// A type with a long comment.
    ///
    /// - a list
    /// - of two
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Everything {
        /// A mode or none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<Mode>,
        /// A signal or none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<Signal>,
        /// A count or none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u32>,
        /// Always written.
        #[serde(default)]
        list: Vec<String>,
    }

    fn properties() -> Value {
        json!({
            "mode": {"type": "string", "enum": ["first", "second"], "description": "A mode or none."},
            "signal": {"type": "string", "enum": ["hangup"], "description": "A signal or none."},
            "count": {"type": "integer", "minimum": 0, "description": "A count or none."},
            "list": {"type": "array", "items": {"type": "string"}, "description": "Always written."},
        })
    }

    #[test]
    fn what_is_read_has_plain_types_and_requires_only_what_has_no_default() {
        let mut schema = input_schema::<Everything>();
        let description = take_description(&mut schema).unwrap();
        assert_eq!(description, "A type with a long comment.\n\n- a list\n- of two");
        let expected = json!({"type": "object", "additionalProperties": false, "properties": properties()});
        assert_eq!(schema, expected);
    }

    #[test]
    fn what_is_written_requires_what_is_always_there() {
        let schema = output_schema::<Everything>();
        assert_eq!(schema["required"], json!(["list"]));
        assert_eq!(schema["properties"]["mode"], properties()["mode"]);
    }
}
