//! A second model behind the first: when it is asked, and that the events name who answered.

use harness::fake_model::NAME;
use harness::worker::TaskRun;
use harness::{FakeToolServer, ModelReply};
use protocol::event::{AgentStarted, TurnCompleted};

use crate::{refuses, says};

fn run(replies: Vec<ModelReply>) -> (TaskRun, Vec<String>) {
    let (ended, model) =
        crate::run(replies, &FakeToolServer::start([]), &[("AUTONOUS_MODEL_FALLBACK", "second")]);
    let asked = model.requests().into_iter().map(|request| request["model"].as_str().unwrap().to_owned());
    (ended, asked.collect())
}

#[test]
fn the_second_model_answers_for_one_that_is_overloaded_and_is_named() {
    let (ended, asked) = run(vec![refuses(503, "busy"), says("hello")]);
    assert_eq!((ended.reply(), asked), ("hello", vec![NAME.to_owned(), "second".to_owned()]));
    assert_eq!(ended.events_of::<TurnCompleted>()[0].1.model_name, "second");
    assert_eq!(ended.events_of::<AgentStarted>()[0].1.model_name, NAME);
}

#[test]
fn both_are_asked_again_when_both_are_busy() {
    let (ended, asked) = run(vec![refuses(429, "a"), refuses(503, "b"), says("hello")]);
    assert_eq!((ended.reply(), asked.len()), ("hello", 3));
    assert_eq!(ended.events_of::<TurnCompleted>()[0].1.model_name, NAME);
}
