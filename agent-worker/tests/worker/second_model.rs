//! A second model behind the first: when it is asked, and that the events name who answered.

use protocol::Outcome;
use protocol::event::{AgentStarted, TurnCompleted};

use crate::model_server::{ModelServer, Reply, refuses, says};
use crate::process::{Ended, Worker, task};
use crate::tool_server::ToolServer;

async fn run(replies: Vec<Reply>) -> (Ended, Vec<String>) {
    let tools = ToolServer::start([]).await;
    let model = ModelServer::start(replies).await;
    let mut variables = model.variables(&tools.url);
    variables.push(("AUTONOUS_MODEL_FALLBACK", "second"));
    let ended = Worker::start(&variables).run(&task("hi")).await;
    let asked =
        model.requests().iter().map(|request| request["model"].as_str().unwrap().to_owned()).collect();
    (ended, asked)
}

#[tokio::test]
async fn the_second_model_answers_for_one_that_is_overloaded_and_is_named() {
    let (ended, asked) = run(vec![refuses(503, "busy"), says("hello")]).await;
    assert_eq!((ended.reply(), asked), ("hello", vec!["played".to_owned(), "second".to_owned()]));
    assert_eq!(ended.of::<TurnCompleted>()[0].1.model_name, "second");
    assert_eq!(ended.of::<AgentStarted>()[0].1.model_name, "played");
}

#[tokio::test]
async fn the_second_model_does_not_hide_a_wrong_key() {
    let (ended, asked) = run(vec![refuses(401, "no")]).await;
    assert!(matches!(&ended.outcome, Outcome::Failed { retryable: false, .. }), "{:?}", ended.outcome);
    assert_eq!(asked, ["played"]);
}

#[tokio::test]
async fn both_are_asked_again_when_both_are_busy() {
    let (ended, asked) = run(vec![refuses(429, "a"), refuses(503, "b"), says("hello")]).await;
    assert_eq!((ended.reply(), asked.len()), ("hello", 3));
    assert_eq!(ended.of::<TurnCompleted>()[0].1.model_name, "played");
}
