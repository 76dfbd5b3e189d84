//! What the model writes is shown while it writes: as a draft in a private chat, in the progress message of a
//! group, and in a terminal.

use std::time::Duration;

use harness::fake_telegram::Draft;
use harness::fake_telegram::update::{ADA, GROUP};
use harness::{FakeModel, FakeTelegram, Fault, ModelReply, Request, System, wait};
use serde_json::json;

use crate::with_model;

/// Its second half is in bold and in code.
const ANSWER: &str = "The first half of it is **bold** and is followed by a block:\n```\nlet one = 1;\n\
    let two = 2;\nlet three = 3;\n```\nAnd that is all there is to say about the matter.";

fn started(telegram: &FakeTelegram, model: &FakeModel) -> System {
    telegram.administer(GROUP.id, &[1]);
    System::builder()
        .telegram(telegram, "4711,-77")
        .model(model)
        .workers(1)
        .variable("AUTONOUS_TELEGRAM_GROUP_TRIGGER", "all")
        .start()
}

/// It holds the answer in the middle.
fn writing_model() -> FakeModel {
    FakeModel::answering(vec![ModelReply::text(ANSWER).held()])
}

/// The newest draft, once there is one that says this.
fn draft(telegram: &FakeTelegram, says: &str) -> Draft {
    wait::until(&format!("a draft says {says:?}"), || {
        telegram.drafts().into_iter().rfind(|draft| draft.text.contains(says))
    })
}

#[test]
fn a_private_chat_sees_the_answer_as_it_grows_then_one_message_and_no_draft_behind_it() {
    let (telegram, model) = (FakeTelegram::start(), writing_model());
    let mut system = started(&telegram, &model);
    telegram.push(ADA.text("hi"));
    let half = draft(&telegram, "let one");
    assert!(half.chat_id == ADA.id && half.text.starts_with("The first half of it is bold and"), "{half:?}");
    let styles: Vec<&str> =
        half.entities.as_array().unwrap().iter().filter_map(|e| e["type"].as_str()).collect();
    assert_eq!(styles, ["bold", "pre"], "the fence is open");
    assert!(!half.text.contains("to say about") && telegram.sent().is_empty());
    model.release();
    let answer = telegram.wait_for_sent(1).remove(0);
    assert!(answer.text.ends_with("say about the matter.") && answer.entities[1]["type"] == "pre");
    assert!(system.stop().success());
    let drafts = telegram.drafts();
    assert!(drafts.iter().all(|draft| draft.id == half.id && draft.at < answer.at), "{drafts:?}");
    assert_eq!(telegram.sent().len(), 1);
}

#[test]
fn what_the_model_says_before_a_call_is_shown_while_the_call_runs() {
    let call = ("bash".to_owned(), json!({"cmd": "until test -e go; do sleep 0.1; done"}).to_string());
    let says = ModelReply::TextAndCalls("I look at the files first.".to_owned(), vec![call]);
    let (telegram, model) =
        (FakeTelegram::start(), FakeModel::answering(vec![says, ModelReply::text("Done.")]));
    let system = started(&telegram, &model);
    telegram.push(ADA.text("hi"));
    assert_eq!(draft(&telegram, "files first").text, "I look at the files first.");
    assert_eq!(model.requests().len(), 1);
    std::fs::write(system.workspace().join("go"), "").unwrap();
    assert_eq!(telegram.wait_for_sent(1)[0].text, "Done.");
}

#[test]
fn a_group_reads_it_in_the_progress_message_which_goes_with_the_answer() {
    let (telegram, model) = (FakeTelegram::start(), writing_model());
    let _system = started(&telegram, &model);
    let from = json!({"id": 1, "is_bot": false, "first_name": "Ada"});
    telegram.push(GROUP.with(&json!({"text": "hi", "from": from})));
    let shown = wait::until("the progress has words", || {
        telegram.progress().into_iter().rfind(|sent| sent.text.contains("let one"))
    });
    assert!(shown.text.starts_with("Working · ") && shown.text.contains("\n\nThe first half"), "{shown:?}");
    assert!(shown.entities.as_array().unwrap().iter().any(|entity| entity["type"] == "pre"), "{shown:?}");
    model.release();
    assert!(telegram.wait_for_sent(1)[0].text.ends_with("the matter."));
    wait::until_true("the message is gone", || telegram.visible_progress(GROUP.id).is_empty());
    assert!(telegram.drafts().is_empty() && telegram.sent().len() == 1);
}

#[test]
fn a_chat_that_takes_no_drafts_reads_it_in_the_progress_message() {
    let (telegram, model) = (FakeTelegram::start(), writing_model());
    telegram.fail("sendMessageDraft", Fault::BadRequest);
    let _system = started(&telegram, &model);
    telegram.push(ADA.text("hi"));
    wait::until_true("the progress has words", || {
        telegram.progress().iter().any(|sent| sent.text.contains("let one"))
    });
    model.release();
    telegram.wait_for_sent(1);
    assert!(telegram.drafts().is_empty() && telegram.faults_left() == 0);
}

#[test]
fn an_answer_does_not_wait_for_a_draft_that_is_never_answered() {
    let (telegram, model) = (FakeTelegram::start(), writing_model());
    telegram.fail("sendMessageDraft", Fault::Silent);
    let _system = started(&telegram, &model);
    telegram.push(ADA.text("hi"));
    let began = wait::until("a draft is on its way", || telegram.calls("sendMessageDraft").first().copied());
    model.release();
    let answer = telegram.wait_for_sent(1).remove(0);
    // A draft may take ten seconds.
    assert!(answer.at - began < Duration::from_secs(8) && telegram.drafts().is_empty());
}

#[test]
fn half_a_secret_is_never_shown() {
    let secret = format!("{}_{}", "ghp", "FAKE6Idr96riOHdfUrAytPDQj0DxOILDtLvU");
    let (first, whole) = (format!("The token is {secret} and more."), format!("The token was {secret}"));
    let replies = [first, whole].map(|text| ModelReply::Text(text).held());
    let (telegram, model) = (FakeTelegram::start(), FakeModel::answering(replies.to_vec()));
    let _system = started(&telegram, &model);
    for (number, begins) in [(1, "The token is"), (2, "The token was")] {
        telegram.push(ADA.text("hi"));
        assert_eq!(draft(&telegram, begins).text, begins);
        model.release();
        telegram.wait_for_sent(number);
    }
    assert!(telegram.drafts().iter().all(|draft| !draft.text.contains("ghp")), "{:?}", telegram.drafts());
}

#[test]
fn a_kill_while_the_model_writes_loses_and_doubles_nothing() {
    for killed in ["agent-worker", "supervisor"] {
        let more = "Once more, in other words than before.";
        let replies = [ANSWER, more].map(|text| ModelReply::text(text).held());
        let (telegram, model) = (FakeTelegram::start(), FakeModel::answering(replies.to_vec()));
        let mut system = started(&telegram, &model);
        telegram.push(ADA.text("hi"));
        let first = draft(&telegram, "let one");
        system.kill_and_continue(killed);
        let second = draft(&telegram, "Once more");
        assert_eq!((first.id, telegram.sent().len()), (second.id, 0), "{killed}");
        model.release();
        // One waits for nobody any more.
        model.release();
        assert_eq!(telegram.wait_for_sent(1)[0].text, more, "{killed}");
        assert!(system.stop().success());
        assert_eq!(telegram.sent().len(), 1, "{killed}");
        assert!(telegram.visible_progress(ADA.id).is_empty(), "{killed}");
        let answered = telegram.sent()[0].at;
        assert!(telegram.drafts().iter().all(|draft| draft.at < answered), "{killed}");
    }
}

#[test]
fn a_terminal_and_the_control_port_show_the_same_words() {
    let (model, system) = with_model(vec![ModelReply::text(ANSWER).held()]);
    let terminal = system.terminal(&["chat", "hi"], 100);
    terminal.wait_for("let one", 0);
    assert!(!terminal.shown().contains("about the matter"));
    let task = system.database().texts("select id from inbox").remove(0);
    let words =
        |after: u64| system.control(Request::get(&format!("/messages/{task}/words?after={after}"))).json();
    let half = words(0);
    assert!(half["text"].as_str().unwrap().contains("let one = 1;\n"), "{half}");
    model.release();
    terminal.wait_for("say about the matter.", 0);
    let over = words(half["number"].as_u64().unwrap());
    assert_eq!((&over["number"], &over["text"]), (&json!(0), &json!("")));
    assert_eq!(system.control(Request::get(&format!("/messages/{task}/words?from=1"))).status, 400);
}
