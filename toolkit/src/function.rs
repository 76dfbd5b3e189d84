//! What a model can call: a name, a description, and the schema of typed arguments.

use std::marker::PhantomData;

use jsonschema::Validator;
use protocol::{Annotations, Risk, ToolError, ToolSpec};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::arguments::{as_texts, leave_out_nulls, parse_object, typed, validate};
use crate::description::Description;
use crate::schema::{self, take_description};

/// Why a function cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum FunctionError {
    /// The arguments' type has no doc comment.
    #[error("the arguments of `{0}` have no doc comment, so the tool has no description")]
    NoDescription(&'static str),
    /// An essential argument is not in the schema.
    #[error("`{0}` has no argument `{1}` that could be essential")]
    UnknownArgument(&'static str, &'static str),
    /// The schema of the arguments is not valid.
    #[error("the schema of `{0}` is not valid: {1}")]
    InvalidSchema(&'static str, String),
}

/// What a function is beside its types.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// Its name.
    pub name: &'static str,
    /// The worst that a call can do.
    pub risk: Risk,
    /// What a client may assume.
    pub annotations: Annotations,
    /// The optional arguments that a small model gets.
    pub essential: &'static [&'static str],
    /// The arguments that take any JSON.
    pub json_texts: &'static [&'static str],
}

/// A function with arguments of the type `A`, whose doc comments are the descriptions.
pub struct Function<A> {
    spec: ToolSpec,
    validator: Validator,
    json_texts: &'static [&'static str],
    arguments: PhantomData<fn() -> A>,
}

impl<A: DeserializeOwned + JsonSchema> Function<A> {
    /// A function that answers with data of the type `D`. `more` is what its description has behind the doc
    /// comment's first paragraph.
    ///
    /// # Errors
    /// Without a doc comment, with an essential argument that does not exist, or with an invalid schema.
    pub fn new<D: JsonSchema>(about: About, more: Option<&str>) -> Result<Self, FunctionError> {
        let About { name, risk, annotations, essential, json_texts } = about;
        let mut input_schema = schema::input_schema::<A>();
        let comment = take_description(&mut input_schema).ok_or(FunctionError::NoDescription(name))?;
        let Description { text, details } = Description::of(&comment, more);
        let is_argument = |name: &&str| input_schema["properties"].get(name).is_some();
        if let Some(unknown) = essential.iter().find(|name| !is_argument(name)) {
            return Err(FunctionError::UnknownArgument(name, unknown));
        }
        let validator = jsonschema::validator_for(&input_schema)
            .map_err(|error| FunctionError::InvalidSchema(name, error.to_string()))?;
        let spec = ToolSpec {
            name: name.to_owned(),
            description: text,
            details,
            risk,
            annotations,
            input_schema,
            essential: essential.iter().map(|name| (*name).to_owned()).collect(),
            output_schema: schema::output_schema::<D>(),
        };
        Ok(Self { spec, validator, json_texts, arguments: PhantomData })
    }

    /// Its entry in a catalogue.
    pub fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// The arguments of a call, as JSON text.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` with what does not fit the schema.
    pub fn parse(&self, arguments: &[u8]) -> Result<A, ToolError> {
        let mut arguments = parse_object(arguments).map(Value::Object)?;
        self.normalize(&mut arguments);
        self.validate(&arguments)?;
        typed(arguments)
    }

    /// Makes arguments what the schema has.
    pub(crate) fn normalize(&self, arguments: &mut Value) {
        leave_out_nulls(arguments, &self.spec.input_schema);
        as_texts(arguments, self.json_texts);
    }

    pub(crate) fn validate(&self, arguments: &Value) -> Result<(), ToolError> {
        validate(&self.validator, &self.spec.input_schema, arguments)
    }
}
