//! Tools for a model that cannot call functions: it writes its calls as JSON into its reply.
//!
//! A wrapper around any provider. The tools and the rules go into the system prompt, results come back as
//! user messages, and replies are parsed leniently. A model whose reply is empty or malformed is asked once
//! more. A small model has a shorter form of its own, to which its server holds it ([`small`]).

mod parse;
mod small;

use super::text_calls::{self, Meaning};
use super::{
    Message, Model, ModelError, ModelErrorClass, Reply, ReplyFuture, ReplySchema, Request, ToolCall,
};
use crate::prompt::PromptForm;
use parse::ParsedReply;
use protocol::ToolSpec;
use serde_json::Value;
use std::sync::OnceLock;

const RULES: &str = include_str!("../../../prompts/json_protocol.md");

/// What the model reads after an unusable reply.
const TRY_AGAIN: &str = "[That was not a usable reply. Write exactly one JSON object: \
     {\"tool_calls\":[{\"name\":\"…\",\"arguments\":{…}}],\"final_answer\":\"\"} to call tools, \
     or {\"tool_calls\":[],\"final_answer\":\"…\"} to answer.]";

/// A model's plain chat, wrapped.
pub(crate) struct JsonProtocol {
    model: Box<dyn Model>,
    form: PromptForm,
    /// Set once the server has refused a schema for replies and taken the same request without.
    refuses_schemas: OnceLock<()>,
}

impl JsonProtocol {
    pub(crate) fn new(model: Box<dyn Model>, form: PromptForm) -> Self {
        Self { model, form, refuses_schemas: OnceLock::new() }
    }

    async fn ask(&self, request: Request<'_>) -> Result<Reply, ModelError> {
        let is_small = self.form == PromptForm::Small;
        let mut messages = plain(request.messages, |said, calls| match is_small {
            true => small::written(said, calls, request.tools),
            false => parse::written(said, calls),
        });
        let system = if is_small { small::system } else { system };
        let system = system(request.system, request.tools);
        let schema = (is_small && !request.tools.is_empty()).then(|| small::schema(request.tools));
        if request.tools.is_empty() {
            let first = self.chat(&system, &messages, request.schema).await?;
            // What has to fit a schema is not read as the protocol's object.
            return Ok(if request.schema.is_some() { first } else { without_tools(first) });
        }
        let first = self.held_chat(&system, &messages, schema.as_ref()).await?;
        let (first_text, first_usage, first_cost) = (first.text.clone(), first.usage, first.cost_micros);
        match understood(first, request) {
            Understood::Reply(reply) => return Ok(reply),
            Understood::PerhapsAnswer(_) | Understood::Nothing => {}
        }
        tracing::warn!("asking the model to follow the JSON protocol");
        // Some providers refuse an empty message.
        let text = if first_text.trim().is_empty() { "{}".to_owned() } else { first_text };
        messages.push(Message::assistant(text, Vec::new()));
        let again = if is_small { small::TRY_AGAIN } else { TRY_AGAIN };
        messages.push(Message::User(again.to_owned()));
        match understood(self.held_chat(&system, &messages, schema.as_ref()).await?, request) {
            Understood::Reply(mut reply) | Understood::PerhapsAnswer(mut reply) => {
                reply.charge(first_usage, first_cost);
                Ok(reply)
            }
            Understood::Nothing => {
                let detail = "the reply does not follow the JSON protocol, not even when asked again";
                Err(ModelError::new(ModelErrorClass::InvalidReply, detail))
            }
        }
    }

    /// A chat in which the server holds the model to a schema, unless it cannot.
    async fn held_chat(
        &self,
        system: &str,
        messages: &[Message],
        schema: Option<&ReplySchema>,
    ) -> Result<Reply, ModelError> {
        let schema = schema.filter(|_| self.refuses_schemas.get().is_none());
        match self.chat(system, messages, schema).await {
            Err(refused) if schema.is_some() && refused.class == ModelErrorClass::BadRequest => {
                let reply = self.chat(system, messages, None).await.map_err(|_| refused)?;
                tracing::warn!("the model's server takes no schema for replies; going on without");
                self.refuses_schemas.get_or_init(|| ());
                Ok(reply)
            }
            end => end,
        }
    }

    async fn chat(
        &self,
        system: &str,
        messages: &[Message],
        schema: Option<&ReplySchema>,
    ) -> Result<Reply, ModelError> {
        let reply = self.model.reply(Request { system, messages, schema, ..Request::default() }).await?;
        // Providers want reasoning back only with native calls, and some refuse it without.
        Ok(Reply { reasoning: None, ..reply })
    }
}

impl Model for JsonProtocol {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn provider(&self) -> &'static str {
        self.model.provider()
    }

    fn reply<'a>(&'a self, request: Request<'a>) -> ReplyFuture<'a> {
        Box::pin(self.ask(request))
    }
}

/// What a reply of the plain chat means.
enum Understood {
    Reply(Reply),
    /// A text with a call in it that may be an example.
    PerhapsAnswer(Reply),
    Nothing,
}

fn understood(reply: Reply, request: Request<'_>) -> Understood {
    if reply.cut {
        // A cut reply may hold half a call. Text is shown as far as it goes, half a protocol object never.
        let text = if parse::looks_like_protocol(&reply.text) { String::new() } else { reply.text };
        return Understood::Reply(Reply { text, ..reply });
    }
    let (text, calls) = match parse::parse(&reply.text) {
        ParsedReply::Answer(text) => (text, Vec::new()),
        ParsedReply::Calls { calls, answer, .. } if !answer.is_empty() && were_answered(&calls, request) => {
            (answer, Vec::new())
        }
        ParsedReply::Calls { said, calls, .. } => (said, calls),
        ParsedReply::Unusable => return Understood::Nothing,
        ParsedReply::Plain(text) => match text_calls::meaning(&text, request) {
            Meaning::Calls { said, calls } => (said, calls),
            Meaning::Answer => (text, Vec::new()),
            Meaning::Unclear => return Understood::PerhapsAnswer(Reply { text, ..reply }),
            Meaning::Nothing => return Understood::Nothing,
        },
    };
    Understood::Reply(Reply { text, calls, ..reply })
}

/// Whether each of these calls was made before in this conversation, so that the model knows its result.
fn were_answered(calls: &[ToolCall], request: Request<'_>) -> bool {
    let arguments = |call: &ToolCall| serde_json::from_str::<Value>(&call.arguments).ok();
    let before = || request.messages.iter().flat_map(Message::calls);
    let is_same = |a: &ToolCall, b: &ToolCall| a.name == b.name && arguments(a) == arguments(b);
    calls.iter().all(|call| before().any(|other| is_same(call, other)))
}

/// Without tools, every reply is an answer.
fn without_tools(reply: Reply) -> Reply {
    match parse::parse(&reply.text) {
        ParsedReply::Answer(text) | ParsedReply::Plain(text) => Reply { text, ..reply },
        ParsedReply::Calls { .. } | ParsedReply::Unusable => reply,
    }
}

fn system(prompt: &str, tools: &[ToolSpec]) -> String {
    if tools.is_empty() {
        return prompt.to_owned();
    }
    let described = tools.iter().map(|tool| {
        format!(
            "\n### {}\n{}\nArguments, as JSON Schema: {}\n",
            tool.name, tool.description, tool.input_schema
        )
    });
    format!("{prompt}\n\n{RULES}{}", described.collect::<String>())
}

/// Calls and results as text; the roles alternate, as the chat templates of many small models require.
fn plain(messages: &[Message], written: impl Fn(&str, &[ToolCall]) -> String) -> Vec<Message> {
    let mut plain: Vec<Message> = Vec::new();
    let mut newest_calls: &[ToolCall] = &[];
    for message in messages {
        let text = match message {
            Message::Assistant { text, calls, .. } => {
                newest_calls = calls;
                let text = if calls.is_empty() { text.clone() } else { written(text, calls) };
                plain.push(Message::assistant(text, Vec::new()));
                continue;
            }
            Message::Image(_) => {
                plain.push(message.clone());
                continue;
            }
            Message::User(text) => text.clone(),
            Message::ToolResult { call_id, text } => {
                let call = newest_calls.iter().find(|call| call.id == *call_id);
                format!("Result of {}:\n{text}", call.map_or("a call", |call| &call.name))
            }
        };
        match plain.last_mut() {
            Some(Message::User(before)) => *before = format!("{before}\n\n{text}"),
            _ => plain.push(Message::User(text)),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    use crate::model::scripted::Scripted;
    use crate::model::test_tool;

    fn tools() -> Vec<ToolSpec> {
        vec![test_tool("ls", "Lists.", json!({"type": "object"}))]
    }

    /// The wrapper's reply if the model says these texts in turn.
    async fn ask(texts: &[&str]) -> Result<Reply, ModelError> {
        let script: Vec<String> =
            texts.iter().map(|text| format!("msgb64:{}", STANDARD.encode(text))).collect();
        let model = Scripted::new(&script.join(",")).unwrap();
        let model = JsonProtocol::new(Box::new(model), PromptForm::Full);
        let messages = [Message::User("go".into())];
        let request = Request { system: "s", messages: &messages, tools: &tools(), ..Request::default() };
        model.ask(request).await
    }

    #[tokio::test]
    async fn a_bare_call_is_made_and_an_example_is_asked_about() {
        let call = r#"{"name":"ls","arguments":{}}"#;
        assert_eq!(ask(&[call]).await.unwrap().calls, [ToolCall::new("call_0", "ls", "{}")]);
        let example = format!("For example: {call}");
        assert_eq!(ask(&[&example, call]).await.unwrap().calls.len(), 1);
        assert_eq!(ask(&[&example, &example]).await.unwrap().text, example);
        let quoting = json!({"final_answer": call}).to_string();
        assert_eq!(ask(&[&quoting]).await.unwrap(), Reply::answer(call));
    }

    #[test]
    fn a_reply_that_was_cut_calls_nothing() {
        for (text, left) in [
            (r#"{"tool_calls":[{"name":"ls","arguments":{}}],"final_answer":""}"#, ""),
            (r#"{"tool_calls":[{"name":"ls","argu"#, ""),
            ("There are three", "There are three"),
        ] {
            let reply = Reply { cut: true, ..Reply::answer(text) };
            let Understood::Reply(reply) = understood(reply, Request::default()) else { panic!("{text}") };
            assert_eq!((reply.text.as_str(), reply.calls.len(), reply.cut), (left, 0, true), "{text}");
        }
    }

    #[test]
    fn calls_and_results_become_text_and_roles_alternate() {
        let result = |id: &str, text: &str| Message::ToolResult { call_id: id.into(), text: text.into() };
        let calls = vec![ToolCall::new("a", "ls", "{\"path\":\".\"}"), ToolCall::new("b", "ls", "{\"path\"")];
        let messages = [
            Message::User("go".into()),
            Message::assistant("I look.", calls),
            result("a", "exit 0"),
            result("b", "exit 2"),
            Message::User("[hurry]".into()),
        ];
        let written = "I look.\n{\"final_answer\":\"\",\"tool_calls\":[\
            {\"arguments\":{\"path\":\".\"},\"name\":\"ls\"},\
            {\"arguments\":\"{\\\"path\\\"\",\"name\":\"ls\"}]}";
        assert_eq!(
            plain(&messages, parse::written),
            [
                Message::User("go".into()),
                Message::assistant(written, Vec::new()),
                Message::User("Result of ls:\nexit 0\n\nResult of ls:\nexit 2\n\n[hurry]".into()),
            ]
        );
    }
}
