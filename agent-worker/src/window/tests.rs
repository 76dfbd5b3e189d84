//! What holds for any conversation and any window.

use proptest::prelude::*;

use std::sync::Arc;

use super::*;
use crate::model::{Image, Origin, Reasoning, ToolCall};

fn user(text: &str) -> Message {
    Message::User(text.to_owned())
}

/// Content of this size: words, hashes, and symbols, which take different numbers of tokens.
fn content(size: usize) -> String {
    match size % 3 {
        0 => "x".repeat(size),
        1 => "some words ".repeat(size / 11),
        _ => "3f2a{}".repeat(size / 6),
    }
}

fn reasoning(bytes: usize) -> Option<Reasoning> {
    Some(Reasoning::beside(&Origin::new("u", "m"), "t".repeat(bytes).into()))
}

/// A turn of the task: an assistant's message with calls, and their results. Every third has reasoning.
fn turn(number: usize, results: &[usize]) -> Vec<Message> {
    let id = |index| format!("{number}-{index}");
    let call = |index| ToolCall::new(id(index), "read", "{}");
    let calls = (0..results.len()).map(call).collect();
    let reasoning = if number % 3 == 1 { reasoning(60) } else { None };
    let asked = Message::Assistant { text: format!("turn {number}"), calls, reasoning };
    let result = |(index, size): (usize, &usize)| Message::ToolResult {
        call_id: id(index),
        text: format!("exit 0\n<untrusted-w>\n{}\n</untrusted-w>", content(*size)),
    };
    [asked].into_iter().chain(results.iter().enumerate().map(result)).collect()
}

/// A past of this many questions and answers, the request, and turns with results of these sizes.
fn conversation(past: usize, request: usize, turns: &[Vec<usize>]) -> (Vec<Message>, Range<usize>) {
    let mut messages = Vec::new();
    for number in 0..past {
        messages.push(user(&format!("question {number}")));
        messages.push(Message::assistant(format!("answer {number}"), Vec::new()));
    }
    let pinned = messages.len()..messages.len() + 1;
    messages.push(user(&"r".repeat(request)));
    for (number, results) in turns.iter().enumerate() {
        messages.extend(turn(number, results));
    }
    (messages, pinned)
}

fn tokens(messages: &[Message]) -> usize {
    messages.iter().map(tokens_of).sum()
}

/// The ids that are called, and those that are answered.
fn ids(messages: &[Message]) -> (Vec<&str>, Vec<&str>) {
    let (mut called, mut answered) = (Vec::new(), Vec::new());
    for message in messages {
        match message {
            Message::User(_) | Message::Image(_) => {}
            Message::Assistant { calls, .. } => called.extend(calls.iter().map(|call| call.id.as_str())),
            Message::ToolResult { call_id, .. } => answered.push(call_id.as_str()),
        }
    }
    (called, answered)
}

/// A message without the text of its result, which may be shortened.
fn identity(message: &Message) -> Message {
    match message {
        Message::ToolResult { call_id, .. } => {
            Message::ToolResult { call_id: call_id.clone(), text: String::new() }
        }
        other => other.clone(),
    }
}

proptest! {
    #[test]
    fn any_conversation_is_fitted_whole_and_in_order(
        past in 0..40_usize,
        request in 0..2000_usize,
        turns in prop::collection::vec(prop::collection::vec(0..9000_usize, 0..5), 0..12),
        limit in 1..12_000_usize,
    ) {
        let (messages, pinned) = conversation(past, request, &turns);
        let asked = messages[pinned.start].clone();
        let bounds = WindowBounds { limit };
        let fitted = match fit(messages.clone(), pinned.clone(), bounds) {
            Err(too_large) => {
                prop_assert!(too_large.tokens > limit);
                prop_assert_eq!(too_large.tokens, tokens_of(&asked));
                return Ok(());
            }
            Ok(fitted) => fitted,
        };
        prop_assert!(fitted.tokens <= limit, "{} of {limit}", fitted.tokens);
        prop_assert_eq!(fitted.tokens, tokens(&fitted.messages));
        prop_assert_eq!(&fitted.messages[fitted.pinned.clone()], &[asked][..], "the request stays");
        let (called, answered) = ids(&fitted.messages);
        prop_assert_eq!(called, answered, "calls stay with their results");

        let mut originals = messages.iter().map(identity);
        for message in &fitted.messages {
            let message = identity(message);
            prop_assert!(originals.any(|original| original == message), "the order is kept");
        }
        let after = fitted.messages.len() - fitted.pinned.end;
        let before = messages.len() - pinned.end;
        prop_assert_eq!(after + fitted.dropped.len(), before, "every dropped message is returned");
        prop_assert_eq!(fitted.pinned.start + fitted.dropped_before, pinned.start);

        let again = fit(fitted.messages.clone(), fitted.pinned.clone(), bounds).expect("it fits already");
        prop_assert_eq!(again.messages, fitted.messages, "fitting again changes nothing");
    }
}

#[test]
fn reasoning_takes_room_and_leaves_with_its_turn() {
    let (mut messages, pinned) = conversation(0, 10, &[vec![10], vec![10]]);
    let before = tokens(&messages);
    let Message::Assistant { reasoning: first, .. } = &mut messages[1] else { panic!("no turn") };
    *first = reasoning(9000);
    assert_eq!(tokens(&messages), before + 9002_usize.div_ceil(3));
    let fitted = fit(messages.clone(), pinned, WindowBounds { limit: 1000 }).unwrap();
    assert_eq!(fitted.dropped, messages[1..3]);
}

#[test]
fn old_results_are_shortened_further_than_needed_before_anything_is_dropped() {
    let (messages, pinned) = conversation(3, 10, &[vec![9000], vec![9000], vec![9000]]);
    let limit = tokens(&messages) - 1;
    let fitted = fit(messages.clone(), pinned, WindowBounds { limit }).unwrap();
    assert_eq!((fitted.messages.len(), fitted.shortened, fitted.dropped.len()), (messages.len(), 1, 0));
    assert!(fitted.tokens <= WindowBounds { limit }.target());
    assert_eq!(fitted.messages.last(), messages.last(), "the newest result is whole");
}

#[test]
fn the_history_is_dropped_before_the_tasks_turns_question_and_answer_together() {
    let (messages, pinned) = conversation(100, 10, &[vec![300], vec![300]]);
    let fitted = fit(messages, pinned, WindowBounds { limit: 1000 }).unwrap();
    assert!(fitted.dropped.is_empty() && fitted.dropped_before > 0 && fitted.pinned.start > 0);
    assert!(matches!(&fitted.messages[0], Message::User(text) if text.starts_with("question")));
}

#[test]
fn a_newest_turn_that_is_too_large_keeps_part_of_each_result() {
    let (messages, pinned) = conversation(0, 10, &[vec![90_000; 3]]);
    let fitted = fit(messages, pinned, WindowBounds { limit: 3000 }).unwrap();
    assert_eq!((fitted.messages.len(), fitted.shortened), (5, 3));
    assert!(fitted.tokens > 2500, "the room is used: {}", fitted.tokens);
}

#[test]
fn the_oldest_images_leave_first_and_their_words_stay() {
    let picture = Picture { media_type: "image/png", base64: String::new(), width: 750, height: 300 };
    let image = Image { name: "a.png".to_owned(), picture: Some(Arc::new(picture)) };
    let shown = |turns: usize, limit: fn(usize) -> usize| {
        let (mut messages, pinned) = conversation(0, 100, &vec![vec![100]; turns]);
        // After the result of each turn.
        (1..=turns).rev().for_each(|turn| messages.insert(2 * turn + 1, Message::Image(image.clone())));
        let bounds = WindowBounds { limit: limit(tokens(&messages)) };
        let fitted = fit(messages.clone(), pinned, bounds).unwrap();
        assert_eq!(fitted.messages.len(), messages.len(), "no turn is dropped for an image");
        assert_eq!(fitted.tokens, tokens(&fitted.messages));
        let images = fitted.messages.iter().filter_map(|message| match message {
            Message::Image(image) => Some(image.picture.is_some()),
            Message::User(_) | Message::Assistant { .. } | Message::ToolResult { .. } => None,
        });
        images.collect::<Vec<_>>()
    };
    assert_eq!(shown(3, |whole| whole), [true, true, true]);
    assert_eq!(shown(3, |whole| whole - 1), [false, false, true]);
    assert_eq!(shown(1, |whole| whole - 100), [false]);
}
