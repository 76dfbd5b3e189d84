//! What happens in each picture: people write, the programs run, and the page is made at the moment to show.

use harness::fake_model::results;
use harness::fake_telegram::update::listed;
use harness::{FakeModel, FakeTelegram, ModelReply, System, wait};
use serde_json::{Value, json};

use crate::chat::Scene;
use crate::more_scenes;
use crate::page;

const ADA: (&str, i64) = ("Ada", 11);
const GROUP: i64 = -100;

const RULES: &str =
    "[[rule]]\ntools = [\"write\", \"edit\"]\ndecision = \"ask\"\nreason = \"it changes files\"\n";

const CHAPTERS: &str = "The longest chapter is **Three**:\n\n\
    | chapter | words |\n|---|---|\n| One | 2,104 |\n| Two | 1,871 |\n| Three | 3,350 |\n\n\
    `three.md` repeats its beginning at the end; shall I take that out?";

/// The name and page of each picture.
pub(crate) fn play() -> Vec<(&'static str, String)> {
    let (telegram, model) = (FakeTelegram::start(), FakeModel::start(reply));
    let system = started(&telegram, &model);
    let mut pages = Vec::new();
    pages.extend(pairing(&telegram));
    pages.extend(progress(&telegram, &model));
    pages.extend(approval(&telegram, 13, "en", "approval", "Please write down: milk, bread, tea."));
    pages.push(choice(&telegram));
    pages.push(file(&telegram));
    pages.push(commands(&telegram, 16, "en", "commands"));
    pages.push(failure(&telegram));
    pages.push(group(&telegram));
    pages.extend(approval(&telegram, 19, "de", "german-approval", "Bitte notiere: Milch, Brot, Tee."));
    pages.push(commands(&telegram, 20, "de", "german-commands"));
    pages.push(commands(&telegram, 21, "es", "spanish-commands"));
    pages.push(commands(&telegram, 22, "ru", "russian-commands"));
    pages.push(commands(&telegram, 23, "zh-hans", "chinese-commands"));
    pages.extend(more_scenes::play(&telegram, &system));
    pages
}

fn started(telegram: &FakeTelegram, model: &FakeModel) -> System {
    telegram.administer(GROUP, &[ADA.1]);
    telegram.administer(more_scenes::GROUP, &[ADA.1]);
    System::builder()
        .policy(RULES)
        .workers(4)
        .telegram(telegram, &listed((11..=29).chain([GROUP, more_scenes::GROUP])))
        .model(model)
        .variable("AUTONOUS_TELEGRAM_REACTIONS", "private")
        .variable("AUTONOUS_TELEGRAM_GATHER_MS", "300")
        .start()
}

/// What the model does is up to a word of the newest request.
fn reply(request: &Value) -> ModelReply {
    let messages = request["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let asked = messages.iter().rfind(|message| message["role"] == "user");
    let asked = asked.map(|message| message["content"].to_string()).unwrap_or_default();
    let step = results(request).len();
    let says = |text: &str| ModelReply::text(text);
    let list = |path: &str, words: &str| json!({"path": path, "content": format!("# {words}\n")});
    match () {
        () if asked.contains("chapter") && step == 0 => ModelReply::TextAndCalls(
            "I count the words of each chapter, and look for what comes twice.".to_owned(),
            vec![("bash".to_owned(), json!({"cmd": "sleep 6; wc -w *.md; true"}).to_string())],
        ),
        () if asked.contains("chapter") => says(CHAPTERS).held(),
        () if asked.contains("milk") && step == 0 => {
            ModelReply::call("write", &list("shopping.md", "Milk, bread, tea"))
        }
        () if asked.contains("milk") => says("It is in `shopping.md`."),
        () if asked.contains("Milch") && step == 0 => {
            ModelReply::call("write", &list("einkauf.md", "Milch, Brot, Tee"))
        }
        () if asked.contains("Milch") => says("Steht in `einkauf.md`."),
        () if asked.contains("trip") && step == 0 => ModelReply::call(
            "ask_user",
            &json!({
                "question": "By train or by car? The train takes **4 h**, the car 3 h.",
                "options": ["Train", "Car", "Whatever is cheaper"], "allow_free_text": true,
            }),
        ),
        () if asked.contains("trip") => says("Booked: by train, Friday at 9:14."),
        () if asked.contains("bill") => says("The water bill is **€48.20**, due on 1 December."),
        () if asked.contains("poem") => ModelReply::Refused(
            429,
            json!({"message": "You exceeded your current quota.", "code": "insufficient_quota"}),
        ),
        () => more_scenes::reply(&asked, step).unwrap_or_else(|| says("Pasta: tomatoes and basil are left.")),
    }
}

fn pairing(telegram: &FakeTelegram) -> Vec<(&'static str, String)> {
    let (mut owner, mut tom) = (Scene::new(telegram, 11, "en"), Scene::new(telegram, 99, "en"));
    tom.say(("Tom", 99), "Hello!");
    tom.message("a code", |_| true);
    let asked = owner.message("the owner is asked", |sent| !sent.markup.is_null());
    let before = page::of(&owner, "Autonous");
    telegram.press_answered(owner.chat, ADA.1, asked.number, &asked.buttons()[0].1);
    tom.message("a welcome", |sent| sent.text.contains("/help"));
    owner.say(ADA, "/chats");
    owner.message("the chats", |sent| sent.text.contains("paired"));
    vec![
        ("pairing", page::of(&tom, "Autonous")),
        ("pairing-owner", before),
        ("pairing-allowed", page::of(&owner, "Autonous")),
    ]
}

fn progress(telegram: &FakeTelegram, model: &FakeModel) -> Vec<(&'static str, String)> {
    let mut scene = Scene::new(telegram, 12, "en");
    scene.say(("Ada", 12), "Which chapter is the longest, and does one repeat itself?");
    let is_shown = || !telegram.visible_progress(12).is_empty();
    wait::until_true("there is progress", is_shown);
    let working = page::of(&scene, "Autonous");
    wait::until_true("the answer grows", || {
        telegram.drafts().iter().any(|draft| draft.chat_id == 12 && draft.text.contains("longest chapter"))
    });
    let growing = page::of(&scene, "Autonous");
    model.release();
    scene.message("the answer", |sent| sent.text.contains("repeats"));
    scene.settle();
    vec![("progress", working), ("words", growing), ("answer", page::of(&scene, "Autonous"))]
}

fn approval(
    telegram: &FakeTelegram,
    chat: i64,
    language: &'static str,
    name: &'static str,
    request: &str,
) -> Vec<(&'static str, String)> {
    let mut scene = Scene::new(telegram, chat, language);
    scene.say(("Ada", chat), request);
    let asked = scene.message("a question", |sent| !sent.markup.is_null());
    let before = page::of(&scene, "Autonous");
    telegram.press_answered(scene.chat, chat, asked.number, &asked.buttons()[0].1);
    scene.message("an answer", |sent| sent.text.ends_with(".md.") && sent.markup.is_null());
    scene.settle();
    let decided = if language == "de" { "german-approval-decided" } else { "approval-decided" };
    vec![(name, before), (decided, page::of(&scene, "Autonous"))]
}

fn choice(telegram: &FakeTelegram) -> (&'static str, String) {
    let mut scene = Scene::new(telegram, 14, "en");
    scene.say(("Ada", 14), "Plan our trip to Bremen.");
    scene.message("a question", |sent| !sent.markup.is_null());
    ("ask-user", page::of(&scene, "Autonous"))
}

fn file(telegram: &FakeTelegram) -> (&'static str, String) {
    let mut scene = Scene::new(telegram, 15, "en");
    let bytes = b"Water, November: 48.20";
    telegram.add_file("bill", bytes);
    let document = json!({
        "file_id": "bill", "file_unique_id": "bill", "file_name": "water.pdf", "mime_type": "application/pdf",
        "file_size": bytes.len(),
    });
    let fields = json!({"document": document});
    scene.send(("Ada", 15), "", &fields, &[("water.pdf", bytes)]);
    scene.say(("Ada", 15), "How much is this bill, and until when?");
    scene.message("an answer", |sent| sent.text.contains("48.20"));
    scene.settle();
    ("file", page::of(&scene, "Autonous"))
}

fn commands(
    telegram: &FakeTelegram,
    chat: i64,
    language: &'static str,
    name: &'static str,
) -> (&'static str, String) {
    let mut scene = Scene::new(telegram, chat, language);
    for command in ["/status", "/help"] {
        let before = telegram.sent_that(|sent| sent.chat_id == chat).len();
        scene.say(("Ada", chat), command);
        wait::until_true("an answer", || telegram.sent_that(|sent| sent.chat_id == chat).len() > before);
    }
    (name, page::of(&scene, "Autonous"))
}

fn failure(telegram: &FakeTelegram) -> (&'static str, String) {
    let mut scene = Scene::new(telegram, 17, "en");
    scene.say(("Ada", 17), "Write a poem about tea.");
    scene.message("a failure", |sent| sent.text.contains("/retry"));
    ("error", page::of(&scene, "Autonous"))
}

fn group(telegram: &FakeTelegram) -> (&'static str, String) {
    let mut scene = Scene::new(telegram, GROUP, "en");
    scene.say(ADA, "@fake_bot what can we cook tonight?");
    scene.say(("Ben", 12), "I'm home at seven.");
    scene.message("an answer", |sent| sent.text.contains("Pasta"));
    ("group", page::of(&scene, "Family"))
}
