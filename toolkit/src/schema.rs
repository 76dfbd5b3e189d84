//! JSON Schema from a type: inlined, without titles, in the dialect that OpenAPI 3.1 shares.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use serde_json::Value;

pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12()
        .with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        })
        .with_transform(Plain);
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Removes what only Rust readers would use: type names as titles and integer widths as formats.
#[derive(Debug, Clone)]
struct Plain;

impl Transform for Plain {
    fn transform(&mut self, schema: &mut schemars::Schema) {
        schema.remove("title");
        schema.remove("format");
        transform_subschemas(self, schema);
    }
}

/// A tool's description, taken out of its arguments' schema.
pub(crate) fn take_description(schema: &mut Value) -> Option<String> {
    match schema.as_object_mut()?.remove("description")? {
        Value::String(description) => Some(description),
        _ => None,
    }
}
