//! A question whose answer has to be a JSON object of one form: asked, repaired once, then given up.

use protocol::{ErrorCode, ToolError};
use serde::de::DeserializeOwned;
use serde_json::Value;
use toolkit::Call;

use super::link::{Prompt, TaskLink};
use crate::model::{Message, ReplySchema};

/// A question of a tool to the model.
pub(super) struct Question {
    /// The tool that asks.
    pub(super) purpose: &'static str,
    /// Another configured model, by its name.
    pub(super) model: Option<String>,
    /// What the model is to do.
    pub(super) system: &'static str,
    /// What it is to do it with.
    pub(super) text: String,
    pub(super) schema: ReplySchema,
}

impl Question {
    /// Asks until `accept` takes the answer, at most twice. `accept` says what is wrong with it.
    pub(super) fn ask<T: DeserializeOwned, U>(
        self,
        link: &TaskLink,
        call: &Call,
        accept: impl Fn(T) -> Result<U, String>,
    ) -> Result<U, ToolError> {
        let Self { purpose, model, system, text, schema } = self;
        // A provider may take no schema, so the model reads it as well.
        let system = format!("{}\n{}\n", system.trim_end(), schema.schema);
        let mut messages = vec![Message::User(text)];
        let mut mistake = String::new();
        for _ in 0..2 {
            let (model, messages_now, schema) = (model.clone(), messages.clone(), schema.clone());
            let system = system.clone();
            let prompt =
                Prompt { purpose, call_id: call.id.clone(), model, system, messages: messages_now, schema };
            let reply = link.ask(call, prompt)?;
            mistake = match parsed(&reply.text).and_then(&accept) {
                Ok(accepted) => return Ok(accepted),
                Err(mistake) => mistake,
            };
            // Some providers refuse an empty message.
            let said = if reply.text.trim().is_empty() { "{}".to_owned() } else { reply.text };
            messages.push(Message::assistant(said, Vec::new()));
            messages.push(Message::User(format!(
                "[That cannot be used: {mistake}. Reply with the corrected JSON object and nothing else.]"
            )));
        }
        let message = format!("invalid {} response: {mistake}", schema.name);
        Err(ToolError::new(ErrorCode::IoError, message)
            .with_hint("Go on without it, or call again with simpler arguments or another model."))
    }
}

/// The object in a text, which some models put into a fence or between words.
fn parsed<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let (Some(start), Some(end)) = (text.find('{'), text.rfind('}')) else {
        return Err("it has no JSON object".to_owned());
    };
    let object = text.get(start..=end).ok_or("it has no JSON object")?;
    let value: Value = serde_json::from_str(object).map_err(|error| format!("it is no JSON: {error}"))?;
    serde_json::from_value(value).map_err(|error| format!("it does not fit the schema: {error}"))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Answer {
        a: u32,
    }

    #[test]
    fn an_object_is_found_in_what_models_write_around_it() {
        for (text, expected) in [
            ("{\"a\":1}", Ok(1)),
            ("```json\n{\"a\": 2}\n```", Ok(2)),
            ("Here it is: {\"a\":3, \"more\": {}} Good luck!", Ok(3)),
            ("", Err("it has no JSON object")),
            ("} {", Err("it has no JSON object")),
            ("{\"a\": }", Err("it is no JSON")),
            ("{\"b\": 1}", Err("it does not fit the schema: missing field `a`")),
        ] {
            match (parsed::<Answer>(text), expected) {
                (Ok(answer), Ok(a)) => assert_eq!(answer, Answer { a }, "{text}"),
                (Err(error), Err(part)) => assert!(error.starts_with(part), "{text}: {error}"),
                (end, _) => panic!("{text}: {end:?}"),
            }
        }
    }
}
