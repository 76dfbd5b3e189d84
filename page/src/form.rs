//! A form for the arguments of a tool, from its schema, and the arguments from what was filled in.

use maud::{Markup, html};
use serde_json::{Map, Value};

use crate::formatted::markdown;

/// How a field is filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    LongText,
    Number,
    Flag,
    Choice,
    /// Anything else, as JSON.
    Json,
}

/// The fields of a schema's properties, with what was given last.
pub(crate) fn fields(schema: &Value, given: &[(String, String)]) -> Markup {
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let is_required =
        |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    let value =
        |name: &str| given.iter().find(|(one, _)| one == name).map_or("", |(_, value)| value.as_str());
    html! {
        @for required in [true, false] {
            @for (name, property) in properties.iter().filter(|(name, _)| is_required(name) == required) {
                (field(name, property, required, value(name)))
            }
        }
    }
}

fn field(name: &str, property: &Value, is_required: bool, given: &str) -> Markup {
    let id = format!("field-{name}");
    let about = format!("about-{name}");
    let default = match &property["default"] {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let kind = kind(name, property);
    let choices = if kind == Kind::Flag { vec!["true", "false"] } else { choices(property) };
    html! {
        div.field {
            label for=(id) { code { (name) } @if is_required { " (required)" } }
            @match kind {
                Kind::Flag | Kind::Choice => select id=(id) name=(name) aria-describedby=(about)
                    required[is_required && kind == Kind::Choice] {
                    option value="" { "default" @if !default.is_empty() { " (" (default) ")" } }
                    @for choice in choices { option value=(choice) selected[given == choice] { (choice) } }
                },
                Kind::Number => input id=(id) name=(name) type="number" step="any" value=(given)
                    placeholder=(default) aria-describedby=(about) required[is_required];,
                Kind::Text => input id=(id) name=(name) value=(given) placeholder=(default)
                    aria-describedby=(about) required[is_required] autocomplete="off";,
                Kind::LongText => textarea id=(id) name=(name) rows="4" aria-describedby=(about)
                    required[is_required] { "\n" (given) },
                Kind::Json => textarea.json id=(id) name=(name) rows="3" aria-describedby=(about)
                    required[is_required] placeholder="JSON" { "\n" (given) },
            }
            div.about id=(about) { (markdown(property["description"].as_str().unwrap_or(""))) }
        }
    }
}

/// The types that a property may have, but for null.
fn types(property: &Value) -> Vec<&str> {
    match &property["type"] {
        Value::String(one) => vec![one],
        Value::Array(all) => all.iter().filter_map(Value::as_str).filter(|one| *one != "null").collect(),
        _ => Vec::new(),
    }
}

fn choices(property: &Value) -> Vec<&str> {
    property["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn kind(name: &str, property: &Value) -> Kind {
    const LONG: [&str; 7] = ["content", "text", "cmd", "script", "old", "new", "stdin"];
    if !choices(property).is_empty() {
        return Kind::Choice;
    }
    match types(property).as_slice() {
        ["string"] if LONG.iter().any(|long| name.contains(long)) => Kind::LongText,
        ["string"] => Kind::Text,
        ["integer" | "number"] => Kind::Number,
        ["boolean"] => Kind::Flag,
        _ => Kind::Json,
    }
}

/// The arguments that were filled in; a field that was left empty is not given.
///
/// # Errors
/// The name of the field that is no JSON, and why.
pub fn arguments(schema: &Value, given: &[(String, String)]) -> Result<Map<String, Value>, String> {
    let mut arguments = Map::new();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let Some((_, text)) = given.iter().find(|(one, text)| one == name && !text.is_empty()) else {
            continue;
        };
        let value = match kind(name, property) {
            // A browser sends the ends of lines as CRLF.
            Kind::LongText => Value::String(text.replace("\r\n", "\n")),
            Kind::Text | Kind::Choice => Value::String(text.clone()),
            Kind::Number | Kind::Flag | Kind::Json => serde_json::from_str(text)
                .map_err(|error| format!("The field `{name}` is no JSON: {error}."))?,
        };
        arguments.insert(name.clone(), value);
    }
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({"required": ["path"], "properties": {
            "path": {"type": "string", "description": "Where <b>."},
            "content": {"type": ["string", "null"]},
            "limit": {"type": "integer", "default": 200},
            "long": {"type": "boolean"},
            "mode": {"type": "string", "enum": ["a", "b"]},
            "env": {"type": "object"},
        }})
    }

    fn given(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn each_type_has_its_field_and_keeps_what_was_given() {
        let html = fields(&schema(), &given(&[("path", "\"><script>"), ("mode", "b")])).into_string();
        for part in
            ["type=\"number\"", "<option value=\"b\" selected>", "placeholder=\"200\"", "Where &lt;b&gt;."]
        {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.contains("<script>"), "{html}");
    }

    #[test]
    fn what_is_filled_in_has_the_types_of_the_schema() {
        let filled = [
            ("path", "42"),
            ("content", "a\r\nb"),
            ("limit", "7"),
            ("long", "true"),
            ("mode", ""),
            ("env", "{\"A\": \"b\"}"),
            ("other", "x"),
        ];
        let arguments = arguments(&schema(), &given(&filled)).unwrap();
        let expected = json!({"path": "42", "content": "a\nb", "limit": 7, "long": true, "env": {"A": "b"}});
        assert_eq!(Value::Object(arguments), expected);
        let refused = super::arguments(&schema(), &given(&[("env", "{")])).unwrap_err();
        assert!(refused.contains("`env`"), "{refused}");
    }
}
