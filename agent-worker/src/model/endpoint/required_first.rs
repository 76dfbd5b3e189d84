//! JSON whose schemas name their properties in the order of `required`.
//!
//! Our maps are sorted, and most models do not mind. But a server that holds a model to a schema has it write
//! the arguments in the schema's order, and then a small model invents the content of a file before it has
//! said which file.

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// A value to write. It means the same, so only bytes differ.
pub(super) struct RequiredFirst<'a>(pub(super) &'a Value);

/// The properties of an object's schema, and the names in `required`.
struct Properties<'a>(&'a Map<String, Value>, &'a [Value]);

impl Serialize for RequiredFirst<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| list.serialize_element(&RequiredFirst(item)))?;
                list.end()
            }
            Value::Object(fields) => {
                let required = fields.get("required").and_then(Value::as_array);
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                for (name, value) in fields {
                    match (name.as_str(), value, required) {
                        ("properties", Value::Object(properties), Some(required)) => {
                            map.serialize_entry(name, &Properties(properties, required))?;
                        }
                        (_, value, _) => map.serialize_entry(name, &RequiredFirst(value))?,
                    }
                }
                map.end()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                self.0.serialize(serializer)
            }
        }
    }
}

impl Serialize for Properties<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(properties, required) = self;
        let place = |name: &str| required.iter().position(|known| known == name).unwrap_or(required.len());
        let mut sorted: Vec<_> = properties.iter().collect();
        sorted.sort_by_key(|(name, _)| place(name));
        serializer.collect_map(sorted.into_iter().map(|(name, schema)| (name, RequiredFirst(schema))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn properties_come_in_the_order_of_required_and_nothing_else_changes() {
        let value = json!({"b": [1, {"properties": {"c": {}, "d": {
            "properties": {"x": true, "y": null}, "required": ["y", "x"],
        }, "a": {}}, "required": ["d", "c"]}], "a": {"properties": {"z": 1, "y": "é"}}});
        let text = serde_json::to_string(&RequiredFirst(&value)).unwrap();
        let inner = r#"{"properties":{"y":null,"x":true},"required":["y","x"]}"#;
        let outer = format!(r#"{{"properties":{{"d":{inner},"c":{{}},"a":{{}}}},"required":["d","c"]}}"#);
        let expected = format!(r#"{{"a":{{"properties":{{"y":"é","z":1}}}},"b":[1,{outer}]}}"#);
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
