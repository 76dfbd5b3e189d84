//! Formatted replies: what a model wrote in Markdown arrives as text with entities, whatever happens on the
//! way.

use harness::fake_telegram::update::ADA;
use harness::{FakeModel, FakeTelegram, Fault, ModelReply, System, wait};
use serde_json::json;

const ANSWER: &str = "# Done 😀\n\n**Two** files in `src`:\n\n```rust\nfn main() {}\n```\n\n\
                      > See [here](https://example.org/a)";

/// A system whose model gives this answer.
fn answering(telegram: &FakeTelegram, answer: &'static str) -> (FakeModel, System) {
    let model = FakeModel::start(move |_| ModelReply::Text(answer.to_owned()));
    let system = System::builder().telegram(telegram, "4711").model(&model).start();
    (model, system)
}

#[test]
fn an_answer_in_markdown_arrives_as_text_with_entities() {
    let telegram = FakeTelegram::start();
    let (_model, system) = answering(&telegram, ANSWER);
    telegram.push(ADA.text("what is here?"));
    let sent = telegram.wait_for_sent(1).remove(0);
    assert_eq!(sent.text, "Done 😀\n\nTwo files in src:\n\nfn main() {}\n\nSee here");
    let expected = json!([
        {"type": "bold", "offset": 0, "length": 7},
        {"type": "bold", "offset": 9, "length": 3},
        {"type": "code", "offset": 22, "length": 3},
        {"type": "pre", "offset": 28, "length": 12, "language": "rust"},
        {"type": "blockquote", "offset": 42, "length": 8},
        {"type": "text_link", "offset": 46, "length": 4, "url": "https://example.org/a"},
    ]);
    assert_eq!(sent.entities, expected);
    let told = system.database().texts("select text from history where role = 'assistant'");
    assert_eq!(told, [ANSWER], "the model reads its own words again");
    assert!(system.reply(&system.say("and here?")).starts_with("# Done"), "a terminal shows Markdown");
}

#[test]
fn what_telegram_refuses_is_sent_once_more_as_plain_text_and_in_order() {
    let telegram = FakeTelegram::start();
    telegram.fail("sendMessage", Fault::BadRequest);
    let (_model, system) = answering(&telegram, "a **bold** answer, see [here](https://example.org/a)");
    telegram.push(ADA.text("first"));
    // Else it may be added to the first, while that runs.
    telegram.push(ADA.text("/queue second"));
    let sent = telegram.wait_for_sent(2);
    let with_address = "a bold answer, see here (https://example.org/a)";
    assert_eq!(harness::fake_telegram::texts(&sent), [with_address, "a bold answer, see here"]);
    assert!(sent[0].entities.is_null() && sent[1].entities.is_array(), "{sent:?}");
    assert_eq!(telegram.calls("sendMessage").len(), 3);
    wait::until_true("both are marked", || {
        system.database().count("select count(*) from outbox where state = 'sent' and attempt = 0") == 2
    });
}
