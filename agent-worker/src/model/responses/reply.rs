//! Builds a response from the events of a stream or from one body.
//!
//! A response is a list of items: reasoning, messages and calls. Each arrives whole when it is done, so its
//! deltas only show that the model is at work. Unknown events and items are skipped.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::model::endpoint::{
    ProviderError, ReplyBuilder, ReplyError, ReplyStage, check_content, check_size,
};
use crate::model::{Origin, Reasoning, Reply, ToolCall, Usage};

#[derive(Debug, Default)]
pub(super) struct ResponseBuilder {
    /// The items that are done, by their place.
    items: BTreeMap<u64, Value>,
    bytes: usize,
    /// Whether an item is being written that is not reasoning; a model may think for long between items.
    is_writing: bool,
    incomplete: Option<String>,
    usage: Usage,
    is_done: bool,
}

impl ReplyBuilder for ResponseBuilder {
    fn add_event(&mut self, data: &[u8]) -> Result<(), ReplyError> {
        let mut event: Value = serde_json::from_slice(data).map_err(ReplyError::invalid)?;
        match event["type"].as_str().unwrap_or_default() {
            "response.output_item.added" => {
                self.is_writing = matches!(kind(&event["item"]), "message" | "function_call");
            }
            "response.output_item.done" => {
                self.is_writing = false;
                self.add_item(event["output_index"].as_u64(), event["item"].take());
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.end(event["response"].take())?;
            }
            "error" => {
                let error = if event["error"].is_object() { &event["error"] } else { &event };
                return Err(ReplyError::Provider(ProviderError::in_reply(error)));
            }
            _ => self.bytes += event["delta"].as_str().map_or(0, str::len),
        }
        check_size(self.bytes)
    }

    fn add_body(&mut self, body: &[u8]) -> Result<(), ReplyError> {
        self.end(serde_json::from_slice(body).map_err(ReplyError::invalid)?)?;
        check_size(self.bytes)
    }

    fn stage(&self) -> ReplyStage {
        ReplyStage::of(usize::from(self.is_writing), false, self.is_done)
    }

    fn finish(self, origin: &Origin) -> Result<Reply, ReplyError> {
        let items: Vec<Value> = self.items.into_values().collect();
        let calls = calls(&items)?;
        let text = text(&items, calls.is_empty());
        let reason = self.incomplete.as_deref();
        let mut reply = match reason {
            Some("content_filter") => Reply::filtered(text),
            _ => Reply { text, calls, ..Reply::default() },
        };
        if can_go_back(&items) {
            reply.reasoning = Some(Reasoning::around(&reply, origin, Value::Array(items)));
        }
        let cut = reason.is_some_and(|reason| reason != "content_filter");
        check_content(Reply { cut, usage: self.usage, ..reply })
    }
}

impl ResponseBuilder {
    fn add_item(&mut self, place: Option<u64>, item: Value) {
        let place = place.unwrap_or_else(|| self.items.last_key_value().map_or(0, |(last, _)| last + 1));
        self.bytes += item.to_string().len();
        self.items.insert(place, item);
    }

    /// The response as it is at the end. Its items are those that were done before; not every server repeats
    /// them, and one that does not stream sends them only here.
    fn end(&mut self, mut response: Value) -> Result<(), ReplyError> {
        if !response["error"].is_null() {
            return Err(ReplyError::Provider(ProviderError::in_reply(&response["error"])));
        }
        let Some(Value::Array(items)) = response.get_mut("output").map(Value::take) else {
            return Err(ReplyError::invalid("the response has no output"));
        };
        if self.items.is_empty() {
            items.into_iter().for_each(|item| self.add_item(None, item));
        }
        match response["status"].as_str() {
            Some("incomplete") => {
                let reason = response["incomplete_details"]["reason"].as_str();
                self.incomplete = Some(reason.unwrap_or("unknown").to_owned());
            }
            Some("completed") | None => {}
            Some(other) => return Err(ReplyError::invalid(format!("the response is {other}"))),
        }
        self.usage = usage(&response["usage"]);
        self.is_done = true;
        Ok(())
    }
}

/// Whether the items are worth sending back as they came, and accepted: reasoning that is neither encrypted
/// nor readable is only a name for what the provider did not store.
fn can_go_back(items: &[Value]) -> bool {
    let is_kept = |item: &&Value| kind(item) == "reasoning" || item["phase"].is_string();
    let is_accepted = |item: &Value| {
        kind(item) != "reasoning"
            || item["encrypted_content"].is_string()
            || item["content"].as_array().is_some_and(|content| !content.is_empty())
    };
    items.iter().any(|item| is_kept(&item)) && items.iter().all(is_accepted)
}

/// The text of all messages. Of a reply without calls, only the answer counts, if it is marked as one.
fn text(items: &[Value], is_answer: bool) -> String {
    let messages = || items.iter().filter(|item| kind(item) == "message");
    let is_final = |item: &&Value| item["phase"] == "final_answer";
    let has_final = is_answer && messages().any(|item| is_final(&item));
    let messages = messages().filter(|item| !has_final || is_final(item));
    let part = |part: &Value| {
        let text = part["text"].as_str().or(part["refusal"].as_str());
        text.unwrap_or_default().to_owned()
    };
    let texts = messages.map(|item| item["content"].as_array().into_iter().flatten().map(part).collect());
    texts.filter(|text: &String| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}

fn calls(items: &[Value]) -> Result<Vec<ToolCall>, ReplyError> {
    let mut calls: Vec<ToolCall> = Vec::new();
    for item in items.iter().filter(|item| kind(item) == "function_call") {
        let field = |name: &str| item[name].as_str().unwrap_or_default();
        if field("name").trim().is_empty() {
            return Err(ReplyError::invalid("a tool call has no name"));
        }
        let id = field("call_id");
        // The ID alone says which call a result belongs to.
        let is_taken = id.is_empty() || calls.iter().any(|call| call.id == id);
        let id = if is_taken { format!("call_{}", calls.len()) } else { id.to_owned() };
        let arguments = Some(field("arguments")).filter(|arguments| !arguments.trim().is_empty());
        calls.push(ToolCall::new(id, field("name"), arguments.unwrap_or("{}")));
    }
    Ok(calls)
}

fn kind(item: &Value) -> &str {
    item["type"].as_str().unwrap_or_default()
}

/// The token counts; a malformed count must not fail the reply.
fn usage(usage: &Value) -> Usage {
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    Usage {
        input_tokens: count(&usage["input_tokens"]),
        cached_input_tokens: count(&usage["input_tokens_details"]["cached_tokens"]),
        output_tokens: count(&usage["output_tokens"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ModelErrorClass;
    use crate::model::endpoint::{MAX_REPLY_BYTES, test_replies};
    use serde_json::json;

    fn whole(status: &str, output: &Value) -> Result<Reply, ReplyError> {
        let details = json!({"reason": status});
        let status = if status == "completed" { "completed" } else { "incomplete" };
        let body = json!({"status": status, "incomplete_details": details, "output": output, "error": null});
        test_replies::whole::<ResponseBuilder>(&body)
    }

    fn message(text: &str) -> Value {
        json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
               "content": [{"type": "output_text", "text": text, "annotations": []}]})
    }

    fn call(id: &str, arguments: &str) -> Value {
        json!({"type": "function_call", "id": "fc_1", "call_id": id, "name": "ls", "arguments": arguments})
    }

    #[test]
    fn items_become_text_calls_and_reasoning() {
        let thought = json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"});
        let items = json!([thought, message("I look."), call("a", "{ }"), call("a", " ")]);
        let kind = "response.output_item.done";
        let done =
            |(index, item): (usize, &Value)| json!({"type": kind, "output_index": index, "item": item});
        let mut events: Vec<Value> = items.as_array().unwrap().iter().enumerate().map(done).collect();
        events.push(json!({"type": "response.from_the_future", "delta": {"x": 1}}));
        let usage =
            json!({"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 2});
        let end = json!({"status": "completed", "output": [], "usage": usage});
        events.push(json!({"type": "response.completed", "response": end}));
        let mut reply = test_replies::streamed::<ResponseBuilder>(&events).unwrap();
        let reasoning = reply.reasoning.take().unwrap();
        assert_eq!(reasoning.content_for(&test_replies::origin()), Some(&items));
        let calls = vec![ToolCall::new("a", "ls", "{ }"), ToolCall::new("call_1", "ls", "{}")];
        let usage = Usage { input_tokens: 9, cached_input_tokens: 4, output_tokens: 2 };
        assert_eq!(reply, Reply { calls, usage, ..Reply::answer("I look.") });
    }

    #[test]
    fn reasoning_that_cannot_be_read_again_is_not_kept() {
        let hidden = json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": null});
        assert_eq!(whole("completed", &json!([hidden, call("a", "{}")])).unwrap().reasoning, None);
        let open = json!({"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]});
        assert!(whole("completed", &json!([open, call("a", "{}")])).unwrap().reasoning.is_some());
        assert_eq!(whole("completed", &json!([message("a")])).unwrap().reasoning, None);
    }

    #[test]
    fn what_is_said_on_the_way_is_no_part_of_the_answer() {
        let phase = |mut message: Value, phase: &str| {
            message["phase"] = json!(phase);
            message
        };
        let said = phase(message("I think."), "commentary");
        let answer = json!([said, phase(message("42"), "final_answer")]);
        assert_eq!(whole("completed", &answer).unwrap().text, "42");
        let reply = whole("completed", &json!([said, call("a", "{}")])).unwrap();
        assert!(reply.text == "I think." && reply.reasoning.is_some(), "the phase goes back");
    }

    #[test]
    fn an_incomplete_response_is_cut_or_filtered() {
        let half = json!([message("half"), call("a", "{\"pa")]);
        assert!(whole("max_output_tokens", &half).unwrap().cut);
        let filtered = whole("content_filter", &half).unwrap();
        assert!(!filtered.cut && filtered.calls.is_empty() && filtered.text.starts_with("half\n\n("));
        let refusal =
            json!([{"type": "message", "content": [{"type": "refusal", "refusal": "I will not."}]}]);
        assert_eq!(whole("completed", &refusal).unwrap().text, "I will not.");
    }

    #[test]
    fn a_model_that_thinks_may_pause_and_one_that_writes_may_not() {
        use ReplyStage::{Ended, Pending, Started};
        let added = |kind: &str| json!({"type": "response.output_item.added", "item": {"type": kind}});
        let done = |item: Value| json!({"type": "response.output_item.done", "item": item});
        let end = json!({"status": "completed", "output": []});
        let mut builder = ResponseBuilder::default();
        for (event, expected) in [
            (json!({"type": "response.created"}), Pending),
            (added("reasoning"), Pending),
            (json!({"type": "response.reasoning_summary_text.delta", "delta": "hm"}), Pending),
            (done(json!({"type": "reasoning"})), Pending),
            (added("message"), Started),
            (json!({"type": "response.output_text.delta", "delta": "a"}), Started),
            (done(message("a")), Pending),
            (json!({"type": "response.completed", "response": end}), Ended),
        ] {
            builder.add_event(event.to_string().as_bytes()).unwrap();
            assert_eq!(builder.stage(), expected, "{event}");
        }
        assert_eq!(builder.finish(&test_replies::origin()).unwrap().text, "a");
    }

    #[test]
    fn an_error_has_a_class_wherever_it_arrives() {
        let error = json!({"code": "rate_limit_exceeded", "message": "slow down"});
        let failed = json!({"status": "failed", "error": error, "output": []});
        for event in [
            json!({"type": "response.failed", "response": failed}),
            json!({"type": "error", "error": error}),
            json!({"type": "error", "code": "rate_limit_exceeded", "message": "slow down"}),
        ] {
            let end = ResponseBuilder::default().add_event(event.to_string().as_bytes());
            let Err(ReplyError::Provider(refusal)) = end else { panic!("no provider error: {end:?}") };
            assert_eq!(refusal.class, ModelErrorClass::RateLimit, "{event}");
        }
    }

    #[test]
    fn malformed_responses_are_refused_with_the_reason() {
        for (output, why) in [
            (json!(null), "the response has no output"),
            (json!("text"), "the response has no output"),
            (json!([]), "the reply has neither text nor tool calls"),
            (json!([{"type": "function_call", "name": " "}]), "a tool call has no name"),
        ] {
            assert_eq!(whole("completed", &output).unwrap_err(), ReplyError::invalid(why));
        }
        let body = json!({"status": "queued", "output": []}).to_string();
        let queued = ResponseBuilder::default().add_body(body.as_bytes());
        assert_eq!(queued, Err(ReplyError::invalid("the response is queued")));
        let odd = json!({"type": "response.completed", "response": "text"}).to_string();
        assert!(matches!(ResponseBuilder::default().add_event(odd.as_bytes()), Err(ReplyError::Invalid(_))));
        let long = json!([message(&"a".repeat(MAX_REPLY_BYTES))]);
        assert!(matches!(whole("completed", &long), Err(ReplyError::Invalid(_))));
    }
}
