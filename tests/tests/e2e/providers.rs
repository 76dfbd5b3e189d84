//! Both model providers through the whole system.

use harness::{FakeModel, ModelReply, Request, System};
use serde_json::json;

#[test]
fn both_protocols_lead_from_a_message_over_two_calls_to_a_reply() {
    for provider in ["openai", "anthropic"] {
        let call = |path: &str| ("ls".to_owned(), json!({"path": path}).to_string());
        let calls = ModelReply::Calls(vec![call("."), call("nowhere")]);
        let answer = ModelReply::Text("There is a.txt – 1 file.".to_owned());
        let model = FakeModel::answering(vec![calls, answer]);
        let system = System::builder().model(&model).variable("AUTONOUS_MODEL_PROVIDER", provider).start();
        std::fs::write(system.workspace().join("a.txt"), "a").unwrap();
        assert_eq!(system.reply(&system.say("what is here?")), "There is a.txt – 1 file.", "{provider}");
        let states = system.database().texts("select status from tool_calls order by status");
        assert_eq!(states, ["done", "failed"], "{provider}");
        let served = system.ask_tool_server(Request::get(&format!("/tools?format={provider}"))).json();
        assert_eq!(model.requests()[0]["tools"], served["tools"], "{provider}");
        let told = model.requests()[1]["messages"].to_string();
        assert!(told.contains("a.txt") && told.contains("NOT_FOUND"), "{provider}: {told}");
    }
}
