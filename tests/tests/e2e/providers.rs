//! The model providers through the whole system.

use harness::{FakeModel, ModelReply, Request, System};
use serde_json::{Value, json};

use crate::assert_says;

#[test]
fn every_protocol_leads_from_a_message_over_two_calls_to_a_reply() {
    for provider in ["openai", "openai-responses", "anthropic", "gemini"] {
        let call = |path: &str| ("ls".to_owned(), json!({"path": path}).to_string());
        let calls = ModelReply::Calls(vec![call("."), call("nowhere")]);
        let answer = ModelReply::text("There is a.txt – 1 file.");
        let model = FakeModel::answering(vec![calls, answer]);
        // The worker's own tools are in no list of the tool server.
        let system = System::builder()
            .model(&model)
            .variable("AUTONOUS_MODEL_PROVIDER", provider)
            .variable("AUTONOUS_TOOL_DISABLED", "plan_create,plan_update,todo_update")
            .start();
        std::fs::write(system.workspace().join("a.txt"), "a").unwrap();
        assert_eq!(system.reply(&system.say("what is here?")), "There is a.txt – 1 file.", "{provider}");
        let states = system.database().texts("select status from tool_calls order by status");
        assert_eq!(states, ["done", "failed"], "{provider}");
        let served = system.ask_tool_server(Request::get(&format!("/tools?format={provider}"))).json();
        let sent = &model.requests()[0]["tools"];
        assert!(is_part_of(sent, &served["tools"]), "{provider}: {sent}");
        let told = model.requests()[1].to_string();
        assert!(told.contains("a.txt") && told.contains("NOT_FOUND"), "{provider}: {told}");
    }
}

#[test]
fn an_account_without_credit_is_said_to_be_that_and_is_not_asked_again() {
    for error in [
        json!({"message": "You exceeded your current quota", "type": "insufficient_quota", "code": null}),
        json!({"message": "You exceeded your current quota", "type": "x", "code": "insufficient_quota"}),
    ] {
        let model = FakeModel::answering(vec![ModelReply::Refused(429, error)]);
        let system = System::builder().model(&model).start();
        let reply = system.reply(&system.say("hello"));
        assert_says(&reply, &["model account has no credit left", "the operator adds credit", "quota"]);
        for wrong in ["no more requests", "refuses the key", "asks to wait"] {
            assert!(!reply.contains(wrong), "{reply}");
        }
        assert_eq!(model.requests().len(), 1);
    }
}

/// Whether `whole` has all of `part`, the elements of lists one by one. The worker sends each tool in the
/// form that the tool server gives it, without what only checks arguments and without defaults, which Gemini
/// gets in words.
fn is_part_of(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => {
            part.iter().all(|(name, value)| whole.get(name).is_some_and(|whole| is_part_of(value, whole)))
        }
        (Value::Array(part), Value::Array(whole)) => {
            part.len() == whole.len() && part.iter().zip(whole).all(|(part, whole)| is_part_of(part, whole))
        }
        (Value::String(part), Value::String(whole)) => whole
            .strip_prefix(part.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(" Default: ")),
        _ => part == whole,
    }
}
