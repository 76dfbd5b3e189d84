//! The model's context window: which messages are summarised, dropped, or do not fit at all.

use harness::{FakeModel, ModelReply, System};
use protocol::event::{ContextAssembled, FittedContext};
use serde_json::json;

use crate::assert_says;

/// A window that a few dozen calls fill.
const WINDOW: usize = 20_000;

/// A system with this model in that window, whose tasks are tried once.
fn system(model: &FakeModel) -> System {
    System::builder()
        .model(model)
        .variable("AUTONOUS_TASK_MAX_ATTEMPTS", "1")
        .variable("AUTONOUS_CONTROL_MAX_TURNS", "40")
        .variable("AUTONOUS_CONTROL_MAX_RETRIES", "0")
        .variable("AUTONOUS_MODEL_CONTEXT_TOKENS", &WINDOW.to_string())
        .start()
}

/// Each time the conversation was fitted into the window.
fn fitted(system: &System) -> Vec<FittedContext> {
    let fitted = |context| match context {
        ContextAssembled::Initial(_) => None,
        ContextAssembled::Fitted(fitted) => Some(fitted),
    };
    system.database().payloads().into_iter().filter_map(fitted).collect()
}

/// A model that makes this many different calls with long arguments, and summarises on request.
fn long_winded(calls: usize, summary: ModelReply) -> FakeModel {
    let mut made = 0;
    FakeModel::start(move |request| {
        if request["tools"].is_null() {
            return summary.clone();
        }
        made += 1;
        if made > calls {
            return ModelReply::text("It is nowhere.");
        }
        ModelReply::call("grep", &json!({"pattern": format!("{made} {}", "word ".repeat(600)), "path": "."}))
    })
}

#[test]
fn a_task_that_outgrows_the_window_is_summarised_once_and_goes_on() {
    let model = long_winded(30, ModelReply::text("SUMMARY: nothing was found so far."));
    let system = system(&model);
    assert_eq!(system.reply(&system.say("find the word in question")), "It is nowhere.");

    let requests = model.requests();
    let summaries = requests.iter().filter(|request| request["tools"].is_null()).count();
    assert_eq!(summaries, 1);
    for request in &requests {
        assert!(request.to_string().len() / 4 < WINDOW, "{}", request.to_string().len());
    }
    let last = requests.last().unwrap()["messages"].to_string();
    assert_says(&last, &["find the word in question", "SUMMARY: nothing was found", "Calls that you made"]);
    let fitted = fitted(&system);
    let summarised: Vec<_> = fitted.iter().filter(|fitted| fitted.summary.is_some()).collect();
    assert_eq!(summarised.len(), 1);
    assert!(summarised[0].dropped > 0, "{summarised:?}");
    assert!(fitted.len() < 7, "the conversation is not fitted anew each turn: {}", fitted.len());
}

#[test]
fn a_summary_that_cannot_be_had_is_replaced_by_a_list_of_the_calls() {
    let model = long_winded(20, ModelReply::Broken);
    let system = system(&model);
    assert_eq!(system.reply(&system.say("find the word in question")), "It is nowhere.");
    let last = model.requests().last().unwrap()["messages"].to_string();
    assert_says(&last, &["find the word in question", "your earlier steps", "- grep {", "exit 0"]);
    assert!(fitted(&system).iter().all(|fitted| fitted.summary.is_none()));
}

#[test]
fn a_message_beyond_the_window_is_refused_with_the_numbers() {
    let model = FakeModel::answering(vec![ModelReply::text("never")]);
    let system = system(&model);
    let reply = system.reply(&system.say(&"word ".repeat(20_000)));
    assert_says(
        &reply,
        &["too long for the model", "the message takes about 33", "AUTONOUS_MODEL_CONTEXT_TOKENS"],
    );
    assert!(model.requests().is_empty());
    assert_eq!(system.database().task_states(), ["dead"]);
}
