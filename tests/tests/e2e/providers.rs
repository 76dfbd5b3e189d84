//! The providers of models through the whole system: both protocols, whole and broken streams, and a
//! second model behind the first.

use harness::system::SystemBuilder;
use harness::{FakeModel, ModelReply, StreamFault, System};
use serde_json::{Value, json};

const PROVIDERS: [&str; 2] = ["openai", "anthropic"];

fn system(model: &FakeModel, provider: &str) -> SystemBuilder {
    System::builder().model(model).variable("AUTONOUS_MODEL_PROVIDER", provider)
}

fn text(text: &str) -> ModelReply {
    ModelReply::Text(text.to_owned())
}

#[test]
fn both_protocols_lead_from_a_message_over_two_calls_to_a_reply() {
    for provider in PROVIDERS {
        let call = |path: &str| ("ls".to_owned(), json!({"path": path}).to_string());
        let calls = ModelReply::Calls(vec![call("."), call("nowhere")]);
        let model = FakeModel::answering(vec![calls, text("There is a.txt – 1 file.")]);
        let system = system(&model, provider).start();
        std::fs::write(system.workspace().join("a.txt"), "a").unwrap();
        assert_eq!(system.reply(&system.say("what is here?")), "There is a.txt – 1 file.", "{provider}");
        let states = system.database().texts("select status from tool_calls order by status");
        assert_eq!(states, ["done", "failed"], "{provider}");
        let told = model.requests()[1]["messages"].to_string();
        assert!(told.contains("a.txt") && told.contains("NOT_FOUND"), "{provider}: {told}");
    }
}

#[test]
fn a_stream_that_breaks_is_asked_for_again_and_never_taken_for_a_reply() {
    for provider in PROVIDERS {
        let half = |fault| ModelReply::Faulty("one two three four five six seven".to_owned(), fault);
        let faults = [StreamFault::Torn, StreamFault::Broken, StreamFault::Malformed].map(half);
        let model = FakeModel::answering([faults.to_vec(), vec![text("whole")]].concat());
        let system = system(&model, provider).start();
        assert_eq!(system.reply(&system.say("go")), "whole", "{provider}");
        assert_eq!(model.requests().len(), 4, "{provider}");
    }
}

#[test]
fn a_server_that_does_not_stream_is_understood() {
    for provider in PROVIDERS {
        let model = FakeModel::answering(vec![ModelReply::Unstreamed("at once".to_owned())]);
        let system = system(&model, provider).start();
        assert_eq!(system.reply(&system.say("go")), "at once", "{provider}");
    }
}

#[test]
fn a_second_model_answers_for_a_broken_one_and_the_event_names_it() {
    let model = FakeModel::start(|request| match &request["model"] {
        Value::String(name) if name == "spare" => text("from the spare"),
        _ => ModelReply::Broken,
    });
    let system = system(&model, "openai").variable("AUTONOUS_MODEL_FALLBACK", "spare").start();
    assert_eq!(system.reply(&system.say("go")), "from the spare");
    let query = "select payload ->> 'model_name' from events where type = 'turn.completed'";
    assert_eq!(system.database().texts(query), ["spare"]);
}
