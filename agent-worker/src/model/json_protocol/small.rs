//! The protocol's form for a small model: one call or the answer, and nothing to leave empty.
//!
//! Tools stand in the prompt as such models were trained to read them, with how to reply behind them. With
//! the rules first and a line for each tool, a model of 1.5 billion parameters answered without any call.
//!
//! The object of the usual form has room for calls beside an answer, and a small model fills in both. Here
//! the schema of a reply has a branch for each tool and one for the answer, so a server that can hold the
//! model to it gets no other reply.

use protocol::ToolSpec;
use serde_json::{Value, json};

use crate::model::{ReplySchema, ToolCall};

const RULES: &str = include_str!("../../../prompts/small_json.md");

/// What the model reads after an unusable reply.
pub(super) const TRY_AGAIN: &str = "[That was not a usable reply. Write one JSON object with the name of one \
     of your tools: {\"name\":\"…\",\"parameters\":{…}}, or the answer: {\"final_answer\":\"…\"}.]";

/// The prompt, the rules and the tools.
pub(super) fn system(prompt: &str, tools: &[ToolSpec]) -> String {
    if tools.is_empty() {
        return prompt.to_owned();
    }
    let tools: Vec<String> = tools.iter().map(line).collect();
    format!("{prompt}\n# Tools\n\n{}\n\n{RULES}", tools.join("\n"))
}

/// A tool in a line, in the form of functions, with its arguments in their order.
fn line(tool: &ToolSpec) -> String {
    json!({"name": tool.name, "description": tool.description, "parameters": tool.input_schema}).to_string()
}

fn required(tool: &ToolSpec) -> impl Iterator<Item = &str> {
    tool.input_schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// What a reply has to be.
pub(super) fn schema(tools: &[ToolSpec]) -> ReplySchema {
    let object = |properties: Value, required: Value| {
        json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        })
    };
    let call = |tool: &ToolSpec| {
        let name = json!({"type": "string", "enum": [tool.name]});
        let arguments =
            object(tool.input_schema["properties"].clone(), tool.input_schema["required"].clone());
        // Objects are written in the order of their fields' names, and the name of the tool must come first.
        object(json!({"name": name, "parameters": arguments}), json!(["name", "parameters"]))
    };
    let answer = object(json!({"final_answer": {"type": "string"}}), json!(["final_answer"]));
    let branches: Vec<Value> = tools.iter().map(call).chain([answer]).collect();
    ReplySchema { name: "reply", schema: json!({"anyOf": branches}) }
}

/// The calls of an earlier turn in this form.
pub(super) fn written(said: &str, calls: &[ToolCall], tools: &[ToolSpec]) -> String {
    let calls = calls.iter().map(|call| {
        let (name, arguments) = (Value::from(&*call.name), arguments(call, tools));
        format!("{{\"name\": {name}, \"parameters\": {arguments}}}")
    });
    let said = Some(said.to_owned()).filter(|said| !said.is_empty());
    said.into_iter().chain(calls).collect::<Vec<_>>().join("\n")
}

/// A call's arguments in the order in which the model had to write them.
fn arguments(call: &ToolCall, tools: &[ToolSpec]) -> String {
    let Ok(arguments) = call.arguments_object() else { return Value::from(&*call.arguments).to_string() };
    let tool = tools.iter().find(|tool| tool.name == call.name);
    let place = |name: &str| tool.and_then(|tool| required(tool).position(|known| known == name));
    let mut fields: Vec<_> = arguments.into_iter().collect();
    fields.sort_by_key(|(name, _)| place(name).unwrap_or(usize::MAX));
    let fields = fields.into_iter().map(|(name, value)| format!("{}:{value}", Value::from(name)));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::test_tool;

    fn tools() -> Vec<ToolSpec> {
        let mode = json!({"type": "string", "enum": ["overwrite", "append"]});
        let schema = json!({
            "type": "object",
            "properties": {"mode": mode, "path": {"type": "string"}},
            "required": ["path", "mode"],
        });
        vec![test_tool("write", "Writes.", schema)]
    }

    #[test]
    fn calls_are_written_back_in_the_order_of_their_arguments() {
        let calls = [
            ToolCall::new("a", "write", "{\"content\":\"a\",\"mode\":1,\"path\":\"b\"}"),
            ToolCall::new("b", "ls", "path=."),
        ];
        let arguments = "{\"path\":\"b\",\"mode\":1,\"content\":\"a\"}";
        let expected = "Hm.\n{\"name\": \"write\", \"parameters\": ARGUMENTS}\n\
             {\"name\": \"ls\", \"parameters\": \"path=.\"}";
        let expected = expected.replace("ARGUMENTS", arguments);
        assert_eq!(written("Hm.", &calls, &tools()), expected);
    }
}
