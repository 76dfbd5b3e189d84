//! Arguments: from the raw body to what the tool's schema accepts, with errors that a model can act on.
//!
//! The schema is the only rule, so the docs and the validation cannot disagree. An unknown argument is
//! refused, with the closest known name: a call with a typo in a limit must not run without the limit.

use jsonschema::Validator;
use jsonschema::error::ValidationErrorKind;
use protocol::{ErrorCode, ToolError};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::output::head_chars;
use crate::path_text;
use crate::strict_json;

/// The most problems that one error names.
const MAX_PROBLEMS: usize = 5;

/// How much of the caller's own text an error repeats, in characters.
const MAX_QUOTED_CHARS: usize = 60;

/// Parses a body into an object.
pub fn parse_object(body: &[u8]) -> Result<Map<String, Value>, ToolError> {
    if body.is_empty() {
        return Err(invalid("The body is empty. Send a JSON object, at least {}."));
    }
    match strict_json::parse(body) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(other) => Err(invalid(format!("The body must be a JSON object, not {}.", describe(&other)))),
        Err(error) => {
            Err(invalid(format!("The body is not valid JSON: {}.", elide(&error.to_string(), 200))))
        }
    }
}

/// Arguments as their type.
pub fn typed<T: DeserializeOwned>(arguments: Value) -> Result<T, ToolError> {
    serde_json::from_value(arguments)
        .map_err(|error| invalid(format!("The arguments do not match the schema: {error}.")))
}

/// Removes every known argument that is null: models and typed clients write null for what they leave out.
pub fn leave_out_nulls(arguments: &mut Value, schema: &Value) {
    match arguments {
        Value::Object(fields) => {
            fields.retain(|name, value| !value.is_null() || schema["properties"].get(name).is_none());
            for (name, value) in fields {
                leave_out_nulls(value, &schema["properties"][name.as_str()]);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| leave_out_nulls(item, &schema["items"])),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Puts the JSON text of these arguments in the place of values that are not strings.
pub fn as_texts(arguments: &mut Value, names: &[&str]) {
    for name in names {
        match arguments.get_mut(*name) {
            None | Some(Value::String(_)) => {}
            Some(value) => *value = Value::String(value.to_string()),
        }
    }
}

/// Checks arguments against a tool's schema.
pub fn validate(validator: &Validator, schema: &Value, arguments: &Value) -> Result<(), ToolError> {
    if validator.is_valid(arguments) {
        return Ok(());
    }
    let problems: Vec<String> = validator
        .iter_errors(arguments)
        .take(MAX_PROBLEMS)
        .map(|error| problem(&error.instance_path().to_string(), error.instance(), error.kind(), schema))
        .collect();
    Err(invalid(problems.join(" ")).with_hint(accepted(schema)))
}

/// An `INVALID_ARGUMENT` with a message.
pub fn invalid(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorCode::InvalidArgument, message)
}

/// The one of `names` that is closest to what was written, if it is close enough to be a typo.
pub(crate) fn nearest<'a>(written: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    names
        .map(|name| (strsim::jaro_winkler(&written.to_lowercase(), name), name))
        .filter(|(similarity, _)| *similarity > 0.75)
        .max_by(|(left, _), (right, _)| left.total_cmp(right))
        .map(|(_, name)| name)
}

fn problem(pointer: &str, instance: &Value, kind: &ValidationErrorKind, schema: &Value) -> String {
    let place = place(pointer);
    match kind {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            unexpected.iter().map(|name| unknown(name, pointer, schema)).collect::<Vec<_>>().join(" ")
        }
        ValidationErrorKind::Required { property } => {
            format!("`{}` is required{}.", property.as_str().unwrap_or_default(), of(&place))
        }
        ValidationErrorKind::Type { .. } => {
            format!("{place} must be {}, not {}.", expected_type(pointer, schema), describe(instance))
        }
        ValidationErrorKind::Minimum { limit } => format!("{place} must be at least {limit}."),
        ValidationErrorKind::Maximum { limit } => format!("{place} must be at most {limit}."),
        ValidationErrorKind::Enum { options } => format!("{place} must be one of {options}."),
        ValidationErrorKind::MinItems { limit } => format!("{place} needs at least {limit} items."),
        ValidationErrorKind::MaxItems { limit } => format!("{place} may have at most {limit} items."),
        ValidationErrorKind::MinLength { limit: 1 } => format!("{place} must not be empty."),
        ValidationErrorKind::MinLength { limit } => format!("{place} needs at least {limit} characters."),
        ValidationErrorKind::MaxLength { limit } => format!("{place} may have at most {limit} characters."),
        ValidationErrorKind::Pattern { pattern } => mismatch(&place, pattern, instance),
        other => format!("{place} does not match the schema (`{}`).", other.keyword()),
    }
}

fn mismatch(place: &str, pattern: &str, instance: &Value) -> String {
    match path_text::complaint(pattern, instance.as_str().unwrap_or_default()) {
        Some(complaint) => format!("{place} {complaint}."),
        None => format!("{place} must match the pattern `{pattern}`."),
    }
}

fn unknown(name: &str, pointer: &str, schema: &Value) -> String {
    let known = subschema(pointer, schema)["properties"].as_object();
    let names = known.into_iter().flat_map(Map::keys).map(String::as_str);
    match nearest(name, names) {
        Some(near) => format!("Unknown argument `{}`; did you mean `{near}`?", elide(name, MAX_QUOTED_CHARS)),
        None => format!("Unknown argument `{}`.", elide(name, MAX_QUOTED_CHARS)),
    }
}

fn accepted(schema: &Value) -> String {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let known = schema["properties"].as_object().into_iter().flat_map(Map::keys);
    let mark = |name: &String| if required.contains(&name.as_str()) { " (required)" } else { "" };
    let names: Vec<String> = known.map(|name| format!("{name}{}", mark(name))).collect();
    format!("The arguments are: {}.", names.join(", "))
}

/// The schema at a JSON pointer.
fn subschema<'a>(pointer: &str, schema: &'a Value) -> &'a Value {
    pointer.split('/').skip(1).fold(schema, |schema, step| match step.parse::<usize>() {
        Ok(_) => &schema["items"],
        Err(_) => schema["properties"].get(step).unwrap_or(&schema["additionalProperties"]),
    })
}

fn expected_type(pointer: &str, schema: &Value) -> String {
    match &subschema(pointer, schema)["type"] {
        Value::String(name) => with_article(name),
        _ => "of a different type".to_owned(),
    }
}

fn with_article(type_name: &str) -> String {
    match type_name {
        "integer" => "an integer".to_owned(),
        "object" => "an object".to_owned(),
        "array" => "an array".to_owned(),
        other => format!("a {other}"),
    }
}

fn place(pointer: &str) -> String {
    let mut place = String::new();
    for step in pointer.split('/').skip(1) {
        match step.parse::<usize>() {
            Ok(index) => place.push_str(&format!("[{index}]")),
            Err(_) if place.is_empty() => place.push_str(step),
            Err(_) => place.push_str(&format!(".{step}")),
        }
    }
    if place.is_empty() { "The body".to_owned() } else { format!("`{place}`") }
}

fn of(place: &str) -> String {
    if place == "The body" { String::new() } else { format!(" in {place}") }
}

fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("the boolean {value}"),
        Value::Number(value) => format!("the number {value}"),
        Value::String(value) => format!("the string {:?}", elide(value, MAX_QUOTED_CHARS)),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// The first `max_chars` characters of a text, with `…` where it was cut.
pub fn elide(text: &str, max_chars: usize) -> String {
    let head = head_chars(text, max_chars);
    if head.len() == text.len() { text.to_owned() } else { format!("{head}…") }
}

/// The arguments for the answer, and for the journal where they are too large: strings over 200 characters
/// are elided, and arguments that are still larger than 16 KiB are omitted.
pub fn bounded(arguments: &Map<String, Value>) -> Map<String, Value> {
    let bounded = bounded_fields(arguments);
    let size = serde_json::to_vec(&bounded).map_or(usize::MAX, |text| text.len());
    if size <= 16 * 1024 {
        return bounded;
    }
    Map::from_iter([("…".to_owned(), Value::from(format!("{size} bytes of arguments omitted")))])
}

fn bounded_value(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(elide(text, 200)),
        Value::Array(items) => Value::Array(items.iter().map(bounded_value).collect()),
        Value::Object(fields) => Value::Object(bounded_fields(fields)),
        other => other.clone(),
    }
}

fn bounded_fields(fields: &Map<String, Value>) -> Map<String, Value> {
    fields.iter().map(|(name, value)| (elide(name, 200), bounded_value(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(arguments: Value) -> String {
        let schema = json!({
            "type": "object", "additionalProperties": false, "required": ["path"],
            "properties": {
                "path": {"type": "string"},
                "limit": {"type": "integer", "minimum": 1},
                "edits": {"type": "array", "items": {
                    "type": "object", "additionalProperties": false,
                    "properties": {"find": {"type": "string"}}}},
            },
        });
        let validator = jsonschema::validator_for(&schema).unwrap();
        validate(&validator, &schema, &arguments).map_or_else(|error| error.message, |()| "valid".to_owned())
    }

    #[test]
    fn errors_name_the_argument_and_what_is_accepted() {
        let check = |arguments, expected: &str| assert_eq!(message(arguments), expected);
        check(json!({"path": "a", "limit": 1}), "valid");
        check(json!({}), "`path` is required.");
        check(json!({"path": ["a"]}), "`path` must be a string, not an array.");
        check(json!({"path": "a", "limit": true}), "`limit` must be an integer, not the boolean true.");
        check(json!({"path": "a", "limit": 0}), "`limit` must be at least 1.");
        check(json!({"path": "a", "limt": 1}), "Unknown argument `limt`; did you mean `limit`?");
        check(json!({"path": "a", "zzz": 1}), "Unknown argument `zzz`.");
        check(json!({"path": "a", "edits": [{"fnd": "x"}]}), "Unknown argument `fnd`; did you mean `find`?");
    }

    #[test]
    fn null_is_left_out_where_the_schema_knows_the_argument() {
        let schema = json!({"properties": {
            "path": {}, "limit": {}, "edits": {"items": {"properties": {"all": {}}}},
        }});
        let mut arguments =
            json!({"path": null, "limit": 1, "pth": null, "edits": [{"all": null, "x": null}]});
        leave_out_nulls(&mut arguments, &schema);
        assert_eq!(arguments, json!({"limit": 1, "pth": null, "edits": [{"x": null}]}));
    }

    #[test]
    fn a_body_that_is_not_an_object_is_refused_by_its_type() {
        assert_eq!(parse_object(b"[]").unwrap_err().message, "The body must be a JSON object, not an array.");
        assert!(parse_object(b"").unwrap_err().message.starts_with("The body is empty"));
        assert!(parse_object(b"{").unwrap_err().message.starts_with("The body is not valid JSON: EOF"));
    }

    #[test]
    fn long_strings_are_elided_and_huge_arguments_omitted() {
        let long = Map::from_iter([("content".to_owned(), Value::from("é".repeat(300)))]);
        assert_eq!(bounded(&long)["content"], format!("{}…", "é".repeat(200)));
        let huge = Map::from_iter([("edits".to_owned(), Value::from(vec![1; 20_000]))]);
        assert_eq!(bounded(&huge).keys().collect::<Vec<_>>(), ["…"]);
    }
}
