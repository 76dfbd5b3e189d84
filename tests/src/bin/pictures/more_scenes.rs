//! Further pictures: requests of several messages, what is added while a task runs, groups, files, languages,
//! and what the owner sees.

use std::fs;

use harness::fake_telegram::update::Chat;
use harness::{FakeTelegram, ModelReply, System, wait};
use serde_json::json;

use crate::chat::{Bubble, Scene};
use crate::page;

/// A group whose messages the model reads.
pub(crate) const GROUP: i64 = -101;

const OWNER: (&str, i64) = ("Ada", 11);

const QUESTION: &[u8] = include_bytes!("../../../../docs/telegram-question.png");
const WORDS: &[u8] = include_bytes!("../../../../docs/telegram-words.png");
const REPORT: &[u8] = b"%PDF-1.4 A report on the holiday, with all that it cost.";

/// The name and page of each picture. The owner's come last: strangers write to that chat.
pub(crate) fn play(telegram: &FakeTelegram, system: &System) -> Vec<(&'static str, String)> {
    let mut pages = vec![gathering(telegram)];
    pages.extend(steering(telegram));
    pages.push(group_context(telegram));
    pages.push(sent_files(telegram, system));
    pages.push(album(telegram));
    pages.push(fetching(telegram));
    pages.extend(language(telegram));
    pages.push(stopping(telegram));
    pages.push(owner(telegram));
    pages.push(digest(telegram));
    pages
}

/// What the model does in them, by a word of the newest request and how many results there are.
pub(crate) fn reply(asked: &str, step: usize) -> Option<ModelReply> {
    let says = |text: &str| Some(ModelReply::text(text));
    let waits = || Some(ModelReply::call("bash", &json!({"cmd": "sleep 7; true"})));
    match () {
        () if asked.contains("offer") => {
            says("**Nord** is cheaper, by €35, but only Süd takes the old boiler away. I would take Süd.")
        }
        () if asked.contains("pages") => says("Chapter three is the longest. All of it has 214 pages."),
        () if asked.contains("salmon") => says("Salmon with leeks, and rice without salmon for Tom."),
        () if asked.contains("holiday pictures") && step == 0 => Some(ModelReply::call(
            "telegram_send_file",
            &json!({
                "path": "beach.png", "more_paths": ["harbour.png", "report.pdf"],
                "caption": "The two best ones, and the *report*.",
            }),
        )),
        () if asked.contains("holiday pictures") => says("I left out the blurred ones."),
        () if asked.contains("these pictures") => says("Two chats: one with a question, one with an answer."),
        () if asked.contains("tidy up") && step == 0 => waits(),
        () => None,
    }
}

fn gathering(telegram: &FakeTelegram) -> (&'static str, String) {
    let (mut scene, ada) = (Scene::new(telegram, 24, "en"), ("Ada", 24));
    scene.forward(ada, "Nord Heating", "Our offer: €4,120, from 3 March on.");
    scene.forward(ada, "Süd & Sons", "Our offer: €4,155, with removal of the old boiler.");
    scene.say(ada, "Which one is better?");
    scene.message("an answer", |sent| sent.text.contains("Nord"));
    scene.settle();
    ("gathering", page::of(&scene, "Autonous"))
}

fn steering(telegram: &FakeTelegram) -> Vec<(&'static str, String)> {
    let (mut scene, ada) = (Scene::new(telegram, 25, "en"), ("Ada", 25));
    scene.say(ada, "Which chapter is longer, one or two?");
    scene.progress("bash");
    scene.say(ada, "And three? Count the pages, too.");
    let is_seen = |bubble: &Bubble| bubble.by.is_none() || !bubble.reaction.is_empty();
    wait::until_true("it is seen", || scene.bubbles().iter().all(is_seen));
    let adding = page::of(&scene, "Autonous");
    scene.message("an answer", |sent| sent.text.contains("214"));
    scene.settle();
    vec![("steering", adding), ("steering-answered", page::of(&scene, "Autonous"))]
}

fn group_context(telegram: &FakeTelegram) -> (&'static str, String) {
    let mut scene = Scene::new(telegram, GROUP, "en");
    scene.say(OWNER, "/context@fake_bot on");
    scene.message("a confirmation", |_| true);
    scene.say(("Ben", 12), "I bought salmon and two leeks.");
    scene.say(("Tom", 13), "You know that I eat no fish.");
    scene.say(OWNER, "@fake_bot what do we cook?");
    scene.message("an answer", |sent| sent.text.contains("rice"));
    ("group-context", page::of(&scene, "Family"))
}

fn sent_files(telegram: &FakeTelegram, system: &System) -> (&'static str, String) {
    for (name, bytes) in [("beach.png", QUESTION), ("harbour.png", WORDS), ("report.pdf", REPORT)] {
        fs::write(system.workspace().join(name), bytes).expect("the workspace can be written to");
    }
    let (mut scene, ada) = (Scene::new(telegram, 26, "en"), ("Ada", 26));
    scene.say(ada, "Send me the best holiday pictures and the report.");
    scene.message("an answer", |sent| sent.text.contains("blurred"));
    scene.settle();
    ("files-sent", page::of(&scene, "Autonous"))
}

fn album(telegram: &FakeTelegram) -> (&'static str, String) {
    let (mut scene, ada) = (Scene::new(telegram, 27, "en"), ("Ada", 27));
    scene.album(ada, "What do these pictures show?", &[("one", QUESTION), ("two", WORDS)]);
    scene.message("an answer", |sent| sent.text.contains("Two chats"));
    scene.settle();
    ("album", page::of(&scene, "Autonous"))
}

fn fetching(telegram: &FakeTelegram) -> (&'static str, String) {
    let (mut scene, ada) = (Scene::new(telegram, 28, "en"), ("Ada", 28));
    telegram.add_file("long", REPORT);
    telegram.hold_downloads(true);
    let document = json!({
        "file_id": "long", "file_unique_id": "long", "file_name": "report.pdf", "file_size": REPORT.len(),
        "mime_type": "application/pdf",
    });
    let fields = json!({"document": document, "caption": "Is this bill right?"});
    scene.send(ada, "Is this bill right?", &fields, &[("report.pdf", REPORT)]);
    scene.progress("report.pdf");
    let page = page::of(&scene, "Autonous");
    telegram.hold_downloads(false);
    scene.settle();
    ("fetching", page)
}

fn language(telegram: &FakeTelegram) -> Vec<(&'static str, String)> {
    let (mut scene, ada) = (Scene::new(telegram, 29, "en"), ("Ada", 29));
    scene.say(ada, "/language");
    let asked = scene.message("a question", |sent| !sent.markup.is_null());
    let before = page::of(&scene, "Autonous");
    let buttons = asked.buttons();
    let german = buttons.iter().find(|(label, _)| label.contains("Deutsch")).expect("it is offered");
    telegram.press_answered(scene.chat, ada.1, asked.number, &german.1);
    scene.say(ada, "/status");
    scene.message("the state", |sent| sent.text.contains("Nichts"));
    vec![("language", before), ("language-chosen", page::of(&scene, "Autonous"))]
}

fn stopping(telegram: &FakeTelegram) -> (&'static str, String) {
    let (mut scene, ada) = (Scene::new(telegram, 17, "en"), ("Ada", 17));
    scene.say(ada, "Please tidy up my notes.");
    scene.progress("bash");
    scene.say(ada, "/queue Then plan our dinner.");
    scene.say(ada, "/stop");
    scene.message("what was stopped", |sent| sent.text.contains("dinner"));
    scene.message("the next answer", |sent| sent.text.contains("Pasta"));
    ("stop", page::of(&scene, "Autonous"))
}

fn owner(telegram: &FakeTelegram) -> (&'static str, String) {
    let mut scene = Scene::new(telegram, OWNER.1, "en");
    for command in ["/pairings", "/approvals", "/schedules", "/usage", "/health"] {
        let before = scene.bubbles().len();
        scene.say(OWNER, command);
        wait::until_true("an answer", || scene.bubbles().len() > before + 1);
    }
    ("owner-commands", page::of(&scene, "Autonous"))
}

fn digest(telegram: &FakeTelegram) -> (&'static str, String) {
    let mut scene = Scene::new(telegram, OWNER.1, "en");
    for stranger in 201..=215 {
        telegram.push(Chat { id: stranger }.text("Hello!"));
    }
    scene.message("how many wrote", |sent| sent.text.contains("more strangers"));
    scene.say(OWNER, "/pairings");
    scene.message("the list", |sent| sent.text.contains("want to use this bot."));
    let asked = |scene: &Scene<'_>| scene.bubbles().iter().filter(|one| !one.buttons.is_empty()).count();
    wait::until_true("the questions come again", || asked(&scene) == 6);
    ("pairing-digest", page::of(&scene, "Autonous"))
}
