//! A weak model: it writes calls and thoughts into its text, and goes round in circles.

use harness::{FakeToolServer, ModelReply};
use protocol::event::ProgressStalled;
use serde_json::{Value, json};

use crate::{calls, run, run_alone, says};

const CALL: &str = r#"{"name":"ls","arguments":{"path":"src"}}"#;

#[test]
fn a_text_that_is_a_call_is_run_as_one() {
    for text in [
        CALL.to_owned(),
        format!("```json\n{CALL}\n```"),
        format!("I will look.\n<tool_call>\n{CALL}\n</tool_call>"),
        format!("<think>Where?</think>\n{CALL}"),
    ] {
        let tools = FakeToolServer::start([]);
        let (ended, model) = run(vec![says(&text), says("a.txt")], &tools, &[]);
        assert_eq!(ended.reply(), "a.txt", "{text}");
        assert_eq!(tools.calls().iter().map(|call| &*call.body).collect::<Vec<_>>(), [r#"{"path":"src"}"#]);
        let messages = model.requests().pop().unwrap()["messages"].clone();
        let called = messages.as_array().unwrap().iter().find(|message| message["role"] == "assistant");
        assert_eq!(called.unwrap()["tool_calls"][0]["function"]["name"], "ls", "{messages}");
    }
}

#[test]
fn a_text_with_a_call_in_it_is_answered_with_how_to_call() {
    let tools = FakeToolServer::start([]);
    let text = format!("I will look: {CALL}");
    let replies = vec![says(&text), calls(&[("ls", "{}")]), says("a.txt")];
    let (ended, model) = run(replies, &tools, &[]);
    assert_eq!((ended.reply(), tools.calls().len()), ("a.txt", 1));
    let told = model.requests()[1]["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    assert!(told.contains("nothing was run") && told.contains("function calling"), "{told}");
}

#[test]
fn an_example_is_an_answer_and_runs_nothing() {
    let tools = FakeToolServer::start([]);
    let text = format!("A call looks like this:\n```json\n{CALL}\n```\nThe server answers with an envelope.");
    let (ended, model) = run(vec![says(&text)], &tools, &[]);
    assert_eq!((ended.reply(), model.requests().len()), (&*text, 1));
    let at_the_end = format!("A call looks like this:\n{CALL}");
    let (ended, _) = run(vec![says(&at_the_end), says(&at_the_end)], &tools, &[]);
    assert_eq!((ended.reply(), tools.calls().len()), (&*at_the_end, 0));
}

#[test]
fn thoughts_never_reach_a_person() {
    for text in ["<think>SECRET</think>\na.txt", "SECRET\n</think>\n\na.txt", "a.txt\n<think>SECRET"] {
        let (ended, _) = run_alone(vec![says(text)], &[]);
        assert_eq!(ended.reply(), "a.txt", "{text}");
    }
}

#[test]
fn thoughts_are_not_in_a_partial_answer() {
    let thinks = |text: &str, arguments: &str| {
        ModelReply::TextAndCalls(text.to_owned(), vec![("ls".to_owned(), arguments.to_owned())])
    };
    for text in ["<think>SECRET</think>I look.", "SECRET</think>I look.", "I look.\n<think>SECRET"] {
        let (ended, _) = run_alone(vec![thinks(text, "{}")], &[("AUTONOUS_CONTROL_MAX_TURNS", "1")]);
        assert!(ended.reply().contains("noted: I look.\n"), "{}", ended.reply());
        assert!(!ended.reply().contains("SECRET"), "{}", ended.reply());
    }
    let cut = json!({"choices": [{"message": {"content": "<think>SECRET"}, "finish_reason": "length"}]});
    let replies = vec![ModelReply::Whole(cut), says("a.txt")];
    assert_eq!(run_alone(replies, &[]).0.reply(), "a.txt");
}

#[test]
fn a_reply_of_nothing_but_thoughts_is_asked_for_again() {
    let (ended, model) = run_alone(vec![says("<think>SECRET</think>"), says("a.txt")], &[]);
    assert_eq!(ended.reply(), "a.txt");
    assert!(model.requests()[1]["messages"].to_string().contains("nothing but thoughts"));
    let (ended, _) = run_alone(vec![says("<think>SECRET</think>")], &[("AUTONOUS_CONTROL_MAX_RETRIES", "0")]);
    let outcome = format!("{:?}", ended.outcome);
    assert!(outcome.contains("neither text nor tool calls") && !outcome.contains("SECRET"), "{outcome}");
}

#[test]
fn a_cycle_of_two_or_three_calls_ends_after_a_warning() {
    for cycle in [&["{}", r#"{"path":"a"}"#][..], &["{}", r#"{"path":"a"}"#, r#"{"path":"b"}"#]] {
        let tools = FakeToolServer::start([]);
        let replies = cycle.iter().cycle().take(10).map(|arguments| calls(&[("ls", arguments)]));
        let (ended, model) = run(replies.collect(), &tools, &[]);
        assert!(ended.reply().contains("the same calls 3 times in a row"), "{}", ended.reply());
        assert_eq!(tools.calls().len(), 3 * cycle.len());
        let turns = ended.events_of::<ProgressStalled>()[0].1.equal_turns;
        assert_eq!(turns as usize, 3 * cycle.len());
        let last = model.requests().pop().unwrap()["messages"].to_string();
        assert_eq!(last.matches("twice in a row").count(), 1, "{last}");
    }
}

#[test]
fn an_answer_counts_beside_a_call_that_was_answered_before() {
    let tools = FakeToolServer::start([]);
    let replies = ["", "a.txt"].map(|answer| {
        let calls: Value = serde_json::from_str(CALL).unwrap();
        says(&json!({"tool_calls": [calls], "final_answer": answer}).to_string())
    });
    let (ended, _) = run(replies.into(), &tools, &[("AUTONOUS_MODEL_TOOL_PROTOCOL", "json")]);
    assert_eq!((ended.reply(), tools.calls().len()), ("a.txt", 1));
}
