//! A model's reasoning through the whole system: it goes back as it was, to the model that it came from, and
//! the user does not see it. Each fake refuses what the real provider refuses.

use harness::fake_model::House;
use harness::{FakeModel, ModelReply, System};
use serde_json::{Value, json};

const THOUGHT: &str = "The user wants the files, so a listing comes first: “ls”.";
const ANSWER: &str = "There is a.txt.";

fn lists(paths: &[&str]) -> ModelReply {
    let call = |path: &&str| ("ls".to_owned(), json!({"path": path}).to_string());
    ModelReply::TextAndCalls("I look.".to_owned(), paths.iter().map(call).collect())
}

/// Two steps with calls, the first with two at once, then the answer.
fn steps() -> Vec<ModelReply> {
    let answer = ModelReply::Text(ANSWER.to_owned());
    vec![lists(&[".", "nowhere"]).after(THOUGHT), lists(&["."]).after(""), answer.after(THOUGHT)]
}

fn system(model: &FakeModel, provider: &str) -> System {
    let system = System::builder().model(model).variable("AUTONOUS_MODEL_PROVIDER", provider).start();
    std::fs::write(system.workspace().join("a.txt"), "a").unwrap();
    system
}

/// Runs the steps, and a second task in the same chat; none of it may show a thought.
fn check(house: House, provider: &str) -> Vec<Value> {
    let model = FakeModel::answering_as(house, steps());
    let system = system(&model, provider);
    for task in ["what is here?", "and now?"] {
        assert_eq!(system.reply(&system.say(task)), ANSWER, "{house:?}, {provider}: {}", system.log_tail());
    }
    let requests = model.requests();
    let history = requests.last().unwrap().to_string();
    assert!(history.contains(ANSWER) && !history.contains("listing comes first"), "{history}");
    for event in system.database().events() {
        let event = serde_json::to_string(&event).unwrap();
        assert!(!event.contains("listing comes first") && !event.contains("signature+of"), "{event}");
    }
    assert!(!system.log().contains("listing comes first"));
    requests
}

#[test]
fn each_house_gets_its_reasoning_back() {
    for house in [House::Lenient, House::DeepSeek, House::OpenRouter, House::Google] {
        let requests = check(house, "openai");
        let messages = requests[2]["messages"].to_string();
        let returned = match house {
            House::Google => {
                r#""extra_content":{"google":{"thought_signature":"signature+of/fake-1/1/0=="}}"#
            }
            House::OpenRouter => r#""data":"signature+of/fake-1/1/1==""#,
            _ => "listing comes first",
        };
        assert!(messages.contains(returned), "{house:?}: {messages}");
    }
}

#[test]
fn anthropics_thoughts_go_back_signed_and_in_their_places() {
    let requests = check(House::Lenient, "anthropic");
    let content = requests[1]["messages"][1]["content"].as_array().unwrap();
    let types: Vec<&str> = content.iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["thinking", "redacted_thinking", "text", "tool_use", "thinking", "tool_use"]);
    assert_eq!(content[0]["thinking"], THOUGHT);
}

#[test]
fn responses_go_back_item_by_item() {
    let requests = check(House::Lenient, "openai-responses");
    let types: Vec<_> = requests[1]["input"].as_array().unwrap().iter().map(|item| &item["type"]).collect();
    let reply = ["reasoning", "message", "function_call", "reasoning", "function_call"];
    let results = ["function_call_output", "function_call_output"];
    assert_eq!(
        types[1..].iter().map(|it| it.as_str().unwrap()).collect::<Vec<_>>(),
        [&reply[..], &results].concat()
    );
    assert_eq!(requests[0]["include"], json!(["reasoning.encrypted_content"]));
}

#[test]
fn a_model_that_does_not_reason_is_asked_without_from_then_on() {
    let requests = check(House::Unreasoning, "openai-responses");
    let asked: Vec<bool> = requests.iter().map(|request| request.get("include").is_some()).collect();
    // The second task may run in another worker, which asks again.
    assert_eq!(asked[..4], [true, false, false, false]);
}

#[test]
fn geminis_signatures_go_back_in_their_parts_with_ids_or_without() {
    for house in [House::Lenient, House::Google] {
        let requests = check(house, "gemini");
        let model = &requests[1]["contents"][1]["parts"];
        assert_eq!(model[2]["thoughtSignature"], "signature+of/fake-1/1/0==", "{house:?}: {model}");
        assert!(model[3].get("thoughtSignature").is_none(), "{model}");
        assert_eq!(model[2]["functionCall"]["id"].is_string(), house == House::Google);
    }
}

#[test]
fn a_model_that_takes_no_tools_here_says_which_provider_does() {
    let model = FakeModel::answering_as(House::OpenAi, vec![ModelReply::Text(ANSWER.to_owned())]);
    let system = System::builder().model(&model).start();
    let reply = system.reply(&system.say("what is here?"));
    assert!(reply.contains("AUTONOUS_MODEL_PROVIDER=openai-responses"), "{reply}");
}

#[test]
fn a_model_that_refuses_reasoning_without_native_calls_gets_none() {
    let call = r#"{"tool_calls":[{"name":"ls","arguments":{"path":"."}}],"final_answer":""}"#;
    let replies = [call, ANSWER].map(|text| ModelReply::Text(text.to_owned()).after(THOUGHT));
    let model = FakeModel::answering_as(House::DeepSeekR1, replies.into());
    let system = System::builder().model(&model).variable("AUTONOUS_MODEL_TOOL_PROTOCOL", "json").start();
    assert_eq!(system.reply(&system.say("what is here?")), ANSWER);
    assert!(!model.requests()[1].to_string().contains("listing comes first"));
}

/// The first model fails at the first request, or at the second: the other one answers that, and the first
/// continues.
fn check_fallback(provider: &str, house: House, failing: usize) {
    let mut asked = 0;
    let mut left = steps().into_iter();
    let model = FakeModel::start_as(house, move |request| {
        let is_first = request["model"] == "fake-1";
        asked += usize::from(is_first);
        match is_first && asked == failing {
            true => ModelReply::Refused(503, json!({"type": "overloaded_error", "message": "Overloaded"})),
            false => left.next().unwrap(),
        }
    });
    let builder = System::builder().model(&model).variable("AUTONOUS_MODEL_PROVIDER", provider);
    let system = builder.variable("AUTONOUS_MODEL_FALLBACK", "fake-2").start();
    let reply = system.reply(&system.say("what is here?"));
    assert_eq!(reply, ANSWER, "{provider}, {house:?}, {failing}: {}", system.log_tail());
    let of_other =
        |request: &Value| request["model"] == "fake-2" && request.to_string().contains("signature+of");
    assert!(!model.requests().iter().any(of_other), "{provider}, {house:?}");
}

#[test]
fn reasoning_is_dropped_for_another_model() {
    for failing in [1, 2] {
        for provider in ["anthropic", "openai-responses", "gemini"] {
            check_fallback(provider, House::Lenient, failing);
        }
        for house in [House::DeepSeek, House::OpenRouter] {
            check_fallback("openai", house, failing);
        }
    }
}

#[test]
fn reasoning_counts_when_the_conversation_is_fitted() {
    let thought = "I think about it. ".repeat(1500);
    let step = move |number: usize| lists(&[["a", "b", "c"][number % 3]]).after(&thought);
    let model = FakeModel::start_as(House::DeepSeek, {
        let mut turn = 0;
        move |request| {
            if request.get("tools").is_none() {
                return ModelReply::Text("I looked around.".to_owned());
            }
            turn += 1;
            if turn < 9 { step(turn) } else { ModelReply::Text(ANSWER.to_owned()) }
        }
    });
    let window = "32000";
    let system = System::builder().model(&model).variable("AUTONOUS_MODEL_CONTEXT_TOKENS", window).start();
    assert_eq!(system.reply(&system.say("what is here?")), ANSWER);
    for request in model.requests() {
        let tokens = request.to_string().len() / 3;
        assert!(tokens < 34_000, "{tokens} tokens were sent to a window of {window}");
    }
}
