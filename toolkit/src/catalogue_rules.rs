//! What every tool in a catalogue keeps, whichever program runs it: a test of each program holds its own.

use protocol::ToolSpec;
use serde_json::Value;

use crate::schema::KEYWORDS;

/// The longest first sentence of a description, and the longest description, in bytes: every turn pays for
/// them.
const MAX_SENTENCE_BYTES: usize = 110;
const MAX_DESCRIPTION_BYTES: usize = 400;

/// The fault of a tool's entry; nothing if it is right.
pub fn breaches(spec: &ToolSpec) -> Vec<String> {
    let mut found = Vec::new();
    for (schema, place) in [(&spec.input_schema, "arguments"), (&spec.output_schema, "data")] {
        uncommon(schema, place, &mut found);
        undescribed(schema, place, &mut found);
    }
    let first = spec.description.split("\n\n").next().unwrap_or_default();
    let sentence = first.lines().next().unwrap_or_default();
    for (holds, what) in [
        (spec.input_schema["additionalProperties"] == false, "unknown arguments are not refused"),
        (sentence.ends_with('.'), "the description does not begin with a sentence"),
        (sentence.len() < MAX_SENTENCE_BYTES, "the first sentence is too long"),
        (spec.description.len() < MAX_DESCRIPTION_BYTES, "the description is too long"),
        (!spec.annotations.read_only || !spec.annotations.destructive, "it only reads and destroys"),
        (
            spec.essential.iter().all(|name| spec.input_schema["properties"].get(name).is_some()),
            "no such argument",
        ),
    ] {
        if !holds {
            found.push(what.to_owned());
        }
    }
    found.into_iter().map(|what| format!("{}: {what}", spec.name)).collect()
}

/// Names every property of a schema that has no description.
fn undescribed(schema: &Value, place: &str, found: &mut Vec<String>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let place = format!("{place}.{name}");
        if property["description"].as_str().is_none_or(str::is_empty) {
            found.push(format!("{place} is not described"));
        }
        undescribed(property, &place, found);
        undescribed(&property["items"], &place, found);
    }
}

/// Names everything in a schema that a reader of schemas may not take.
fn uncommon(schema: &Value, place: &str, found: &mut Vec<String>) {
    let Some(keywords) = schema.as_object() else { return found.push(format!("{place}: no object")) };
    let unknown = keywords.keys().filter(|word| !KEYWORDS.contains(&word.as_str()));
    found.extend(unknown.map(|word| format!("{place}: {word}")));
    if !schema["type"].is_string() {
        found.push(format!("{place}: type {}", schema["type"]));
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        uncommon(property, &format!("{place}.{name}"), found);
    }
    if schema["type"] == "array" {
        uncommon(&schema["items"], &format!("{place}[]"), found);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::function_schemas::tests::spec as spec_of;

    #[test]
    fn each_breach_is_named() {
        let spec = |description: &str, input_schema: Value| ToolSpec {
            name: "fly".to_owned(),
            description: description.to_owned(),
            ..spec_of(input_schema)
        };
        let of = |property: Value| {
            let properties = json!({"a": property});
            json!({"type": "object", "additionalProperties": false, "properties": properties})
        };
        let good = json!({"type": "string", "description": "How."});
        assert_eq!(breaches(&spec("Flies.", of(good.clone()))), Vec::<String>::new());
        for (description, schema, expected) in [
            ("Flies.", of(json!({"type": "string"})), "fly: arguments.a is not described"),
            ("Flies.", of(json!({"description": "How.", "anyOf": []})), "fly: arguments.a: anyOf"),
            ("Flies.", json!({"type": "object"}), "fly: unknown arguments are not refused"),
            ("Flies", of(good.clone()), "fly: the description does not begin with a sentence"),
            (&format!("{}.", "x".repeat(500)), of(good), "fly: the first sentence is too long"),
        ] {
            assert_eq!(breaches(&spec(description, schema)).first().map(String::as_str), Some(expected));
        }
    }
}
