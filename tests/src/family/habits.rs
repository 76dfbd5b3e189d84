//! What each of the family does, again and again.

use serde_json::json;

use super::ledger::Fate;
use super::model::{Verb, reminder_of};
use super::person::{GROUP, Person};
use crate::fake_telegram::Sent;

type Habit = fn(&mut Person<'_>);

/// The habits of each person, in the order of the members; everybody writes in the group as well.
const HABITS: [&[Habit]; 6] = [
    &[short_question, steering, status],
    &[pasted_text, short_question, queueing],
    &[forwards, photo, voice],
    &[file_and_question, late_approval, refusal],
    &[edit, stop, short_question],
    &[choice, free_answer, reminder],
];

/// A day of a person: one of their own habits, and a word in the group or another one.
pub(super) fn day(person: &mut Person<'_>, number: usize) {
    let own = HABITS[number % HABITS.len()];
    own[person.random.below(own.len())](person);
    person.pause(1000);
    let second = match person.random.below(3) {
        0 => in_the_group,
        _ => own[person.random.below(own.len())],
    };
    second(person);
    person.pause(1500);
}

fn short_question(person: &mut Person<'_>) {
    let verb = if person.random.below(2) == 0 { Verb::Note } else { Verb::Work };
    person.request(verb, Fate::Answered);
    person.wait_mostly();
}

/// Something comes to mind while the task runs.
fn steering(person: &mut Person<'_>) {
    person.request(Verb::Work, Fate::Answered);
    for _ in 0..=person.random.below(2) {
        person.pause(2500);
        let (_, text) = person.ask(Verb::Note, Fate::Answered);
        person.say(&format!("oh, and {text}"));
    }
    person.wait_mostly();
}

fn queueing(person: &mut Person<'_>) {
    person.request(Verb::Work, Fate::Answered);
    person.pause(2000);
    let (_, text) = person.ask(Verb::Note, Fate::Aside);
    person.say(&format!("/queue {text}"));
    person.wait();
}

fn status(person: &mut Person<'_>) {
    person.wait();
    let answer = person.command("/status");
    let expected = texts_of(person.member.language, "NothingWaits");
    if let Some(answer) = answer.filter(|answer| !answer.text.contains(expected)) {
        person.ledger.fault(format!("/status of {}: {}", person.member.name, answer.text));
    }
}

/// Three pieces, as Telegram cuts a long text.
fn pasted_text(person: &mut Person<'_>) {
    for _ in 0..3 {
        let (_, text) = person.ask(Verb::Note, Fate::Answered);
        person.say(&format!("{text} {}", "and so on ".repeat(300)));
    }
    person.wait_mostly();
}

fn forwards(person: &mut Person<'_>) {
    for writer in ["Anna", "Ben"] {
        let (_, text) = person.ask(Verb::Note, Fate::Answered);
        let origin = json!({"type": "hidden_user", "sender_user_name": writer, "date": 1});
        person.send(person.chat(), &json!({"text": text, "forward_origin": origin}));
    }
    let (_, text) = person.ask(Verb::Work, Fate::Answered);
    person.say(&format!("about these: {text}"));
    person.wait_mostly();
}

fn photo(person: &mut Person<'_>) {
    let (word, caption) = person.ask(Verb::Note, Fate::Answered);
    person.telegram.add_file(&word, PIXEL);
    let size = json!({"file_id": word, "file_unique_id": word, "width": 1, "height": 1, "file_size": 68});
    person.send(person.chat(), &json!({"photo": [size], "caption": caption}));
    person.wait_mostly();
}

/// Its sound is the text that somebody would hear.
fn voice(person: &mut Person<'_>) {
    let (word, text) = person.ask(Verb::Note, Fate::Answered);
    person.telegram.add_file(&word, text.as_bytes());
    let voice = json!({
        "file_id": word, "file_unique_id": word, "file_size": text.len(), "duration": 2,
        "mime_type": "audio/ogg",
    });
    person.send(person.chat(), &json!({"voice": voice}));
    person.wait_mostly();
}

fn file_and_question(person: &mut Person<'_>) {
    let (word, text) = person.ask(Verb::Note, Fate::Answered);
    person.telegram.add_file(&word, "a list of things\n");
    let document = json!({
        "file_id": word, "file_unique_id": word, "file_name": "list.txt", "mime_type": "text/plain",
        "file_size": 17,
    });
    person.send(person.chat(), &json!({"document": document}));
    person.pause(1500);
    person.say(&text);
    person.wait_mostly();
}

/// The question that comes when the person asks for this.
fn question_about(person: &mut Person<'_>, verb: Verb) -> Option<Sent> {
    person.wait();
    let (word, _) = person.request(verb, Fate::Answered);
    person.question(&word)
}

fn late_approval(person: &mut Person<'_>) {
    approve(person, true);
}

fn refusal(person: &mut Person<'_>) {
    approve(person, false);
}

fn approve(person: &mut Person<'_>, is_allowed: bool) {
    let Some(question) = question_about(person, Verb::Write) else { return };
    person.pause(6000);
    person.press(&question, !is_allowed);
    person.wait();
}

/// Changes their mind: sometimes before the task begins, sometimes later.
fn edit(person: &mut Person<'_>) {
    person.wait();
    let (_, number) = person.request(Verb::Work, Fate::Maybe);
    person.pause(5000);
    let (_, text) = person.ask(Verb::Note, Fate::Answered);
    person.edit(number, &text);
    person.wait();
}

fn stop(person: &mut Person<'_>) {
    person.wait();
    person.request(Verb::Toil, Fate::Maybe);
    let chat = person.member.id;
    let begun = std::time::Instant::now();
    let shows = || person.telegram.signs(chat).iter().filter(|at| **at > begun).count() > 2;
    crate::wait::is_true_within(crate::wait::SOON, shows);
    person.pause(2000);
    person.command("/stop");
}

fn choice(person: &mut Person<'_>) {
    let Some(question) = question_about(person, Verb::Choose) else { return };
    person.pause(3000);
    let is_last = person.random.below(2) == 0;
    person.press(&question, is_last);
    person.wait();
}

fn free_answer(person: &mut Person<'_>) {
    let Some(question) = question_about(person, Verb::Name) else { return };
    person.pause(3000);
    person.say("Rex");
    person.ledger.considered(person.member.id, question.at);
    person.wait();
}

fn reminder(person: &mut Person<'_>) {
    let (word, text) = person.ask(Verb::Remind, Fate::Answered);
    let id = person.member.id;
    person.ledger.write(id, id, &reminder_of(&word), Fate::Later);
    person.say(&text);
    person.wait();
}

fn in_the_group(person: &mut Person<'_>) {
    let word = person.random.word();
    person.ledger.write(GROUP.id, person.member.id, &word, Fate::Answered);
    let verb = if person.random.below(2) == 0 { Verb::Note } else { Verb::Work };
    person.send(GROUP, &json!({"text": format!("@fake_bot {}", verb.asks(&word))}));
    person.wait_mostly();
}

/// A PNG of one pixel.
const PIXEL: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\
\0\0\0\rIDATx\xdacd`\xf8_\x0f\0\x02\x87\x01\x80\xeb\x47\xba\x92\0\0\0\0IEND\xaeB`\x82";

/// A text of the bot without variables, in the language of a client.
fn texts_of(language: &str, key: &str) -> &'static str {
    let catalogue = match language {
        "de" => include_str!("../../../texts/locales/de.ftl"),
        "es" => include_str!("../../../texts/locales/es.ftl"),
        "ru" => include_str!("../../../texts/locales/ru.ftl"),
        "zh-hans" => include_str!("../../../texts/locales/zh.ftl"),
        _ => include_str!("../../../texts/locales/en.ftl"),
    };
    let text = catalogue.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
    text.unwrap_or_else(|| panic!("no {key} in {language}"))
}
