//! The bot's own words in the language of the person, of the chat, or of the setting.

use std::thread::{self, JoinHandle};

use harness::fake_model::results;
use harness::fake_telegram::Sent;
use harness::fake_telegram::update::{Chat, GROUP};
use harness::http::{Answer, Request, address_of};
use harness::{FakeModel, FakeTelegram, ModelReply, System, wait};
use serde_json::{Value, json};

use crate::{ASKS_ABOUT_WRITE, assert_says};

/// A person of each language: the chat, and the tag that their client names.
const PEOPLE: [(Chat, &str); 5] = [
    (Chat { id: 11 }, "en"),
    (Chat { id: 12 }, "de-AT"),
    (Chat { id: 13 }, "es"),
    (Chat { id: 14 }, "ru"),
    (Chat { id: 15 }, "zh-hans"),
];
const ALLOWED: &str = "11,12,13,14,15,-77";

fn person(id: i64, tag: &str) -> Value {
    json!({"id": id, "is_bot": false, "first_name": "Ada", "language_code": tag})
}

/// A person writes from a client in a language.
fn write(telegram: &FakeTelegram, (chat, tag): (Chat, &str), text: &str) {
    telegram.push(chat.with(&json!({"text": text, "from": person(chat.id.abs(), tag)})));
}

/// What a chat was sent, but for progress.
fn sent_to(telegram: &FakeTelegram, chat: Chat) -> Vec<Sent> {
    telegram.sent().into_iter().filter(|sent| sent.chat_id == chat.id).collect()
}

/// The next message to a chat after somebody wrote there.
fn ask(telegram: &FakeTelegram, person: (Chat, &str), text: &str) -> String {
    let before = sent_to(telegram, person.0).len();
    write(telegram, person, text);
    next_to(telegram, person.0, before).text
}

/// What the buttons of a question say.
fn labels(asked: &Sent) -> String {
    asked.buttons().into_iter().map(|(label, _)| label).collect::<Vec<_>>().join(", ")
}

fn next_to(telegram: &FakeTelegram, chat: Chat, before: usize) -> Sent {
    wait::until("the chat gets a message", || sent_to(telegram, chat).into_iter().nth(before))
}

#[test]
fn everybody_reads_menus_and_answers_in_the_language_of_their_client() {
    let telegram = FakeTelegram::start();
    let _system = System::builder().telegram(&telegram, ALLOWED).start();
    for (person, [help, status, nothing, menu]) in PEOPLE.into_iter().zip([
        [
            "I am Autonous, an agent", "Nothing runs.", "There is nothing to cancel.",
            "What I am and what I can do",
        ],
        ["Ich bin Autonous", "Nichts läuft.", "Es gibt nichts abzubrechen.", "Was ich bin und was ich kann"],
        ["Soy Autonous", "No se ejecuta nada.", "No hay nada que cancelar.", "Qué soy y qué puedo hacer"],
        ["Я Autonous", "Ничего не выполняется.", "Отменять нечего.", "Кто я и что умею"],
        ["我是 Autonous", "没有正在运行的任务。", "没有可取消的内容。", "我是谁，能做什么"],
    ]) {
        assert_says(&ask(&telegram, person, "/help"), &[help, menu]);
        assert_says(&ask(&telegram, person, "/status"), &[status]);
        assert_eq!(ask(&telegram, person, "/stop"), nothing);
        let language = &person.1[..2];
        let commands = wait::until("the menu is set", || {
            Some(telegram.menu_in(language)).filter(|commands| !commands.is_empty())
        });
        assert!(commands.contains(&("help".to_owned(), menu.to_owned())), "{language}: {commands:?}");
    }
}

#[test]
fn strangers_and_the_owner_each_read_their_own_language() {
    let telegram = FakeTelegram::start();
    let _system = System::builder().telegram(&telegram, "12").start();
    let owner = PEOPLE[1];
    assert_says(&ask(&telegram, owner, "/whoami"), &["Dieser Chat hat die ID 12"]);
    for (number, stranger, refused, welcome) in [
        (0, PEOPLE[2], "Este bot todavía no trabaja", "Ya puedes usar este bot"),
        (1, PEOPLE[3], "Этот бот пока не работает", "Теперь ботом можно пользоваться"),
        (2, PEOPLE[4], "这个机器人还不为本聊天工作", "现在可以使用这个机器人了"),
    ] {
        assert_says(&ask(&telegram, stranger, "hello"), &[refused]);
        let (asked, buttons) = telegram.question(owner.0, number);
        assert_says(&asked.text, &["möchte diesen Bot nutzen"]);
        assert_eq!(labels(&asked), "Zulassen, Ignorieren");
        let answer = telegram.press_answered(owner.0, owner.0.id, asked.number, &buttons[0]);
        assert_eq!(answer, "Erlaubt.");
        assert_says(&next_to(&telegram, stranger.0, 1).text, &[welcome]);
    }
}

#[test]
fn a_chosen_language_holds_over_a_restart_and_comes_before_the_client() {
    let telegram = FakeTelegram::start();
    let mut system =
        System::builder().telegram(&telegram, ALLOWED).variable("AUTONOUS_LANGUAGE", "ru").start();
    let english = PEOPLE[0];
    assert_says(&ask(&telegram, english, "/language de"), &["Ab jetzt schreibe ich", "Deutsch"]);
    assert!(system.stop().success());
    system.restart();
    assert_says(&ask(&telegram, english, "/status"), &["Nichts läuft."]);
    assert_says(&ask(&telegram, english, "/language tlh"), &["„tlh“", "en, de, es, ru, zh"]);
    assert_says(&ask(&telegram, english, "/language default"), &["I write English now."]);
    // A language that the bot does not speak is that of the setting.
    assert_says(&ask(&telegram, (english.0, "pt-br"), "/status"), &["Ничего не выполняется."]);
    let shown = system.say("/language");
    assert_says(&system.reply(&shown), &["по-русски", "en, de, es, ru, zh"]);
}

#[test]
fn a_language_is_chosen_by_a_button() {
    let telegram = FakeTelegram::start();
    let _system = System::builder().telegram(&telegram, ALLOWED).start();
    let (chat, tag) = PEOPLE[2];
    write(&telegram, (chat, tag), "/language");
    let (asked, buttons) = telegram.question(chat, 0);
    assert_says(&asked.text, &["¿Qué idioma prefieres?"]);
    assert_eq!(buttons, ["en", "de", "es", "ru", "zh"].map(|code| format!("language:{code}")));
    let answer = telegram.press_answered(chat, chat.id, asked.number, "language:zh");
    assert_says(&answer, &["使用中文"]);
    wait::until_true("the buttons are gone", || {
        let edits = sent_to(&telegram, chat);
        edits.iter().any(|sent| sent.target == Some(asked.number) && sent.markup.is_null())
    });
    assert_says(&ask(&telegram, (chat, tag), "/status"), &["没有正在运行的任务。"]);
}

#[test]
fn a_group_has_the_language_of_the_setting_until_an_administrator_chooses_one() {
    let telegram = FakeTelegram::start();
    telegram.administer(GROUP.id, &[77]);
    let settings = [("AUTONOUS_LANGUAGE", "es")];
    let _system = System::builder().telegram(&telegram, ALLOWED).variables(&settings).start();
    let admin = (GROUP, "de");
    assert_says(&ask(&telegram, admin, "/status@fake_bot"), &["No se ejecuta nada."]);
    write(&telegram, admin, "/language@fake_bot");
    let (asked, _) = telegram.question(GROUP, 0);
    let refused = telegram.press_answered(GROUP, 5, asked.number, "language:ru");
    assert_says(&refused, &["Solo puede elegir el idioma"]);
    assert_says(&ask(&telegram, admin, "/language@fake_bot ru"), &["я пишу по-русски"]);
    assert_says(&ask(&telegram, admin, "/status@fake_bot"), &["Ничего не выполняется."]);
}

#[test]
fn progress_is_told_in_the_language_of_the_chat() {
    let telegram = FakeTelegram::start();
    let model = FakeModel::start(|request| match results(request).is_empty() {
        true => ModelReply::call("bash", &json!({"cmd": "sleep 5"})),
        false => ModelReply::Text("It is done.".to_owned()),
    });
    let _system = System::builder().telegram(&telegram, ALLOWED).model(&model).workers(5).start();
    for person in PEOPLE {
        write(&telegram, person, "work");
    }
    for ((chat, _), [working, stop]) in PEOPLE.into_iter().zip([
        ["Working · ", "Stop"],
        ["Arbeite · ", "Anhalten"],
        ["Trabajando · ", "Detener"],
        ["Работаю · ", "Стоп"],
        ["处理中 · ", "停止"],
    ]) {
        let shown = wait::until("progress is shown", || {
            let of_chat = |sent: &Sent| sent.chat_id == chat.id && sent.text.starts_with(working);
            telegram.progress().into_iter().find(of_chat)
        });
        assert_eq!(shown.buttons()[0].0, stop);
        assert_eq!(next_to(&telegram, chat, 0).text, "It is done.");
    }
}

#[test]
fn a_call_is_asked_about_decided_and_closed_in_the_language_of_the_chat() {
    let telegram = FakeTelegram::start();
    let builder = System::builder().telegram(&telegram, ALLOWED).policy(ASKS_ABOUT_WRITE);
    let system = builder.variable("AUTONOUS_APPROVERS", "11,12,13,14,15").start();
    for (person, [question, buttons, pressed, outcome]) in PEOPLE.into_iter().zip([
        ["May I call write (risk", "Once, This chat, Deny", "Allowed.", "Allowed once by Ada"],
        [
            "Darf ich write aufrufen (Risiko",
            "Einmal, Dieser Chat, Ablehnen",
            "Erlaubt.",
            "Einmal erlaubt von Ada",
        ],
        [
            "¿Puedo llamar a write (riesgo",
            "Una vez, Este chat, Denegar",
            "Permitido.",
            "Permitido una vez por Ada",
        ],
        [
            "Можно вызвать write (риск",
            "Один раз, Этот чат, Запретить",
            "Разрешено.",
            "Разрешено один раз: Ada",
        ],
        ["可以调用 write 吗（风险", "仅此一次, 此聊天, 拒绝", "已允许。", "已由 Ada"],
    ]) {
        let chat = person.0;
        ask(&telegram, person, "/status");
        let call = call(&system, chat);
        let (asked, data) = telegram.question(chat, 0);
        assert_says(&asked.text, &[question, "It writes.", "a.txt"]);
        assert_eq!(labels(&asked), buttons);
        assert_eq!(telegram.press_answered(chat, chat.id, asked.number, &data[0]), pressed);
        assert_eq!(call.join().unwrap().status, 200);
        wait::until_true("the question says what was decided", || {
            let edits = sent_to(&telegram, chat);
            edits.iter().any(|sent| sent.target == Some(asked.number) && sent.text.starts_with(outcome))
        });
    }
}

/// Writes a file as a chat's session, and waits for a decision meanwhile.
fn call(system: &System, chat: Chat) -> JoinHandle<Answer> {
    let tokens = system.tokens();
    let address = address_of(&tokens.tool_url);
    let arguments = json!({"path": format!("{}/a.txt", chat.id), "content": "hello"});
    let request = Request::call("write", &arguments)
        .header("Authorization", &format!("Bearer {}", tokens.tool_token))
        .of_session(&format!("telegram:{}", chat.id))
        .header("Prefer", "wait=120");
    thread::spawn(move || request.send(address))
}

#[test]
fn a_task_that_fails_says_so_in_the_language_of_the_chat() {
    let telegram = FakeTelegram::start();
    let no_credit = json!({"error": {"message": "no credit", "code": "insufficient_quota"}});
    let model = FakeModel::start(move |_| ModelReply::Refused(402, no_credit.clone()));
    let system = System::builder().telegram(&telegram, ALLOWED).model(&model).start();
    for (person, failed) in PEOPLE.into_iter().zip([
        "I could not do this: The model account has no credit left",
        "Das ging nicht: Das Guthaben des Modellkontos ist aufgebraucht",
        "No pude hacerlo: La cuenta del modelo no tiene saldo",
        "Не удалось выполнить: На счёте модели закончились средства",
        "没能完成：模型账户余额已用完",
    ]) {
        assert_says(&ask(&telegram, person, "work"), &[failed, "/retry"]);
    }
    let errors = system.database().texts("select error from inbox where error is not null");
    assert!(errors.iter().all(|error| error.starts_with("The model account")), "the operator's: {errors:?}");
}

#[test]
fn a_limit_that_is_used_up_is_told_in_the_language_of_the_chat() {
    let telegram = FakeTelegram::start();
    let limits = "[limits.chat]\ntasks_per_day = 1\n";
    let _system = System::builder().telegram(&telegram, ALLOWED).policy(limits).start();
    for (person, [used_up, used]) in PEOPLE.into_iter().zip([
        ["The limit of 1 task a day for this chat is used up.", "Used by this chat: 1 of 1 tasks a day."],
        ["Das Limit ist aufgebraucht: 1 Aufgabe am Tag für diesen Chat.", "1 von 1 Aufgaben am Tag."],
        ["Se agotó el límite de 1 tarea al día para este chat.", "1 de 1 tareas al día."],
        ["Лимит исчерпан: задач в день – 1, для этого чата.", "задачи: 1 из 1 в день."],
        ["限额已用完：本聊天每天 1 个任务。", "每天 1 个任务中的 1 个。"],
    ]) {
        ask(&telegram, person, "ls path=.");
        assert_says(&ask(&telegram, person, "ls path=."), &[used_up]);
        assert_says(&ask(&telegram, person, "/status"), &[used]);
    }
}
