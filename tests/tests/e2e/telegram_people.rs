//! Who may use the bot: people, groups and their members, and strangers who are paired while it runs.

use harness::fake_telegram::update::{ADA, Chat, GROUP, STRANGER, now_seconds};
use harness::fake_telegram::{Sent, texts};
use harness::{FakeModel, FakeTelegram, Fault, ModelReply, System, wait};
use serde_json::{Value, json};

use crate::assert_says;

fn person(id: i64) -> Value {
    json!({"id": id, "is_bot": false, "first_name": format!("Person {id}")})
}

fn to(sent: &[Sent], chat: Chat) -> Vec<&str> {
    sent.iter().filter(|sent| sent.chat_id == chat.id).map(|sent| sent.text.as_str()).collect()
}

fn group_system(telegram: &FakeTelegram, variables: &[(&str, &str)]) -> System {
    telegram.administer(GROUP.id, &[1]);
    System::builder().telegram(telegram, "4711,-77").variables(variables).start()
}

#[test]
fn nothing_of_those_who_may_not_becomes_a_task() {
    let telegram = FakeTelegram::start();
    let system = group_system(&telegram, &[]);
    let bot = json!({"id": 1, "is_bot": true, "first_name": "B", "username": "other_bot"});
    let group = json!({"id": GROUP.id, "type": "supergroup", "title": "A group"});
    let channel = json!({"id": -100, "type": "channel", "title": "News"});
    let text = "/ls path=never";
    let forwarded = json!({"type": "user", "sender_user": person(9), "date": now_seconds()});
    for fields in [
        json!({"text": text, "from": person(2)}),
        json!({"text": text, "from": bot}),
        json!({"text": text, "from": person(1), "via_bot": bot}),
        json!({"text": text, "from": person(777_000), "sender_chat": channel, "is_automatic_forward": true}),
        json!({"text": text, "sender_chat": group,
               "from": {"id": 1_087_968_824, "is_bot": true, "first_name": "Group"}}),
        json!({"text": text, "from": person(1), "forward_origin": forwarded}),
        json!({"text": "/ls@other_bot path=never", "from": person(1)}),
        json!({"text": "ls path=never", "from": person(1)}),
    ] {
        telegram.push(GROUP.with(&fields));
    }
    telegram.push(json!({"channel_post": {
        "message_id": 1, "date": now_seconds(), "chat": channel, "sender_chat": channel, "text": text,
    }}));
    telegram.push(GROUP.edited(text));
    telegram.push(ADA.with(&json!({"text": text, "forward_origin": forwarded})));
    system.wait_for_rest(&telegram);
    let database = system.database();
    assert_eq!(database.count("select count(*) from inbox where state <> 'skipped' or text <> ''"), 0);
    assert!(!database.has_event("task.claimed"));

    // The same words from those who may are tasks.
    telegram.push(GROUP.with(&json!({"text": "/ls@fake_bot path=admin", "from": person(1)})));
    telegram.push(GROUP.with(&json!({"text": "@fake_bot ls path=owner", "from": person(4711)})));
    let done = "select count(*) from inbox where state = 'done'";
    wait::until_true("both are done", || system.database().count(done) == 2);
    system.wait_for_rest(&telegram);
    let sent = telegram.sent();
    let told = to(&sent, GROUP);
    assert!(told.iter().any(|text| text.contains("its administrators alone")), "{told:?}");
    for name in ["\"admin\"", "\"owner\""] {
        assert!(told.iter().any(|text| text.contains(name)), "{name}: {told:?}");
    }
    assert!(told.iter().all(|text| !text.contains("never")), "{told:?}");
}

#[test]
fn the_settings_name_members_and_what_counts_as_a_request() {
    let telegram = FakeTelegram::start();
    let settings = [("AUTONOUS_TELEGRAM_ALLOWED_USERS", "5"), ("AUTONOUS_TELEGRAM_GROUP_TRIGGER", "all")];
    let system = group_system(&telegram, &settings);
    for (id, name) in [(5, "listed"), (1, "admin"), (6, "member")] {
        telegram.push(GROUP.with(&json!({"text": format!("ls path={name}"), "from": person(id)})));
    }
    // A person who is allowed is so in private, too.
    telegram.push(Chat { id: 5 }.text("ls path=private"));
    wait::until_true("two are done", || system.database().task_states().len() == 4);
    system.wait_for_rest(&telegram);
    let texts = system.database().texts("select text from inbox where state = 'done' order by seq");
    assert_eq!(texts, ["ls path=listed", "ls path=private"]);
}

#[test]
fn an_answer_in_a_group_quotes_the_message_that_asked_and_one_in_private_does_not() {
    let telegram = FakeTelegram::start();
    let system = group_system(&telegram, &[]);
    for (number, name) in [(51, "first"), (52, "second")] {
        let text = format!("/ls path={name}");
        telegram.push(GROUP.with(&json!({"text": text, "from": person(1), "message_id": number})));
    }
    telegram.push(ADA.text("ls path=private"));
    system.wait_for_rest(&telegram);
    let quoted = |name: &str| {
        let sent = telegram.sent().into_iter().find(|sent| sent.text.contains(name));
        sent.unwrap_or_else(|| panic!("no answer names {name}")).answers
    };
    assert_eq!(["first", "second", "private"].map(quoted), [Some(51), Some(52), None]);
}

#[test]
fn nobody_is_obeyed_while_telegram_does_not_say_who_administers_the_group() {
    let telegram = FakeTelegram::start();
    telegram.fail("getChatAdministrators", Fault::BadRequest);
    let system = group_system(&telegram, &[]);
    telegram.push(GROUP.with(&json!({"text": "/ls path=.", "from": person(1)})));
    let sent = telegram.wait_for_sent(1);
    assert_says(&sent[0].text, &["could not read who administers"]);
    system.wait_for_rest(&telegram);
    assert_eq!(system.database().task_states(), ["skipped"]);
}

#[test]
fn a_stranger_is_paired_while_it_runs_and_the_pairing_is_taken_back() {
    let (telegram, mut system) = crate::with_telegram();
    telegram.push(STRANGER.text("ls path=before"));
    // The owner is asked as well; this test decides with the command line.
    telegram.wait_for_sent(2);
    let told = to(&telegram.sent(), STRANGER).concat();
    let listed = system.shown_json(&["chats", "--json"]);
    let code = listed["chats"][1]["code"].as_str().unwrap().to_owned();
    assert_says(&told, &[&format!("supervisor pair {code}"), "666"]);
    let allowed = [0, 1].map(|chat| listed["chats"][chat]["allowed"].clone());
    assert_eq!(allowed, ["settings", "nobody"]);

    assert_says(&system.refused(&["pair", "AAAA2222"]), &["no chat has this code", "good for an hour"]);
    assert_says(&system.shown(&["pair", &code.to_lowercase()]), &["666", "may use the bot"]);
    assert_says(&telegram.wait_for_sent(3)[2].text, &["You may use this bot now"]);
    telegram.push(STRANGER.text("ls path=after"));
    assert_says(&telegram.wait_for_sent(4)[3].text, &["after"]);
    // A code is used once.
    system.refused(&["pair", &code]);

    // It outlives a restart; a person who is paired is obeyed in an allowed group, too.
    assert!(system.stop().success());
    assert_says(&system.shown(&["chats"]), &["666", "pairing"]);
    system.restart();
    telegram.push(STRANGER.text("ls path=again"));
    assert_says(&telegram.wait_for_sent(5)[4].text, &["again"]);

    assert_says(&system.refused(&["unpair", "4711"]), &["the settings allow this chat"]);
    assert_says(&system.shown(&["unpair", "666"]), &["may no longer use the bot"]);
    telegram.push(STRANGER.text("ls path=too-late"));
    telegram.wait_for_sent(7);
    assert_says(to(&telegram.sent(), STRANGER).last().unwrap(), &["supervisor pair"]);
    system.wait_for_rest(&telegram);
    assert_eq!(system.database().count("select count(*) from inbox where text like '%too-late%'"), 0);
    let types = "select type from events where type like 'chat.%' and type <> 'chat.placed' order by seq";
    let types = system.database().texts(types);
    assert_eq!(types, ["chat.paired", "chat.unpaired"]);
}

#[test]
fn the_model_is_told_who_wrote_and_what_was_forwarded() {
    let telegram = FakeTelegram::start();
    telegram.administer(GROUP.id, &[1]);
    let model = FakeModel::answering(vec![ModelReply::text("hello"), ModelReply::text("hello")]);
    let system = System::builder().telegram(&telegram, "-77").model(&model).start();
    let origin = json!({"type": "hidden_user", "sender_user_name": "Eve", "date": now_seconds()});
    telegram.push(GROUP.with(&json!({"text": "@fake_bot hi", "from": person(1)})));
    telegram.wait_for_sent(1);
    let fields = json!({"text": "@fake_bot obey", "from": person(1), "forward_origin": origin});
    telegram.push(GROUP.with(&fields));
    telegram.wait_for_sent(2);
    let requests = Value::from(model.requests()).to_string();
    assert_says(
        &requests,
        &["[From Person 1 (ID 1), in the group “A group”]", "forwarding what Eve wrote]", "<untrusted-"],
    );
    assert_eq!(texts(&telegram.sent()), ["hello", "hello"]);
    drop(system);
}

/// The question about a stranger in the owner's chat, and what its buttons carry.
fn question(telegram: &FakeTelegram, number: usize) -> (Sent, String, String) {
    let (asked, _) = telegram.question(ADA, number);
    let [(allow, allows), (ignore, ignores)] = <[_; 2]>::try_from(asked.buttons()).unwrap();
    assert_eq!((allow.as_str(), ignore.as_str()), ("Allow", "Ignore"));
    (asked, allows, ignores)
}

/// What the owner was asked and told, in order.
fn to_owner(telegram: &FakeTelegram) -> Vec<Sent> {
    let is_new = |sent: &Sent| sent.chat_id == ADA.id && sent.method == "sendmessage";
    telegram.sent().into_iter().filter(is_new).collect()
}

#[test]
fn a_crowd_of_strangers_asks_three_questions_behind_every_answer_and_waits_for_its_codes() {
    let telegram = FakeTelegram::start();
    let system = System::builder().telegram(&telegram, "4711,12").start();
    for id in 1000..1100 {
        telegram.push(Chat { id }.text("hello?"));
    }
    telegram.push(ADA.text("ls path=."));
    let [.., digest] =
        wait::until("the owner reads how many wrote", || <[_; 5]>::try_from(to_owner(&telegram)).ok());
    assert_eq!(digest.text, "97 more strangers wrote to this bot. /pairings shows who waits.");
    let answer = to_owner(&telegram).iter().position(|sent| sent.text.contains("no output"));
    assert!(answer.is_some_and(|at| at <= 1), "behind the questions: {:?}", texts(&to_owner(&telegram)));
    let strangers = || {
        let with_code = telegram.sent().into_iter().filter(|sent| sent.text.contains("supervisor pair "));
        with_code.map(|sent| sent.chat_id).collect::<Vec<_>>()
    };
    wait::until_true("three strangers have a code", || strangers().len() == 3);

    // Each answer makes room for one.
    let (asked, _, ignore) = question(&telegram, 0);
    assert_eq!(telegram.press_answered(ADA, ADA.id, asked.number, &ignore), "Ignored.");
    wait::until_true("a fourth has one", || strangers().len() == 4);
    let (_, allow, _) = question(&telegram, 1);
    let code = allow.trim_start_matches("pair:allow:");
    assert!(system.run_command(&["pair", code]).status.success());
    wait::until_true("a fifth has one", || strangers().len() == 5);

    // Only the owner reads who they are.
    telegram.push(Chat { id: 12 }.text("/pairings"));
    telegram.push(ADA.text("/pairings"));
    wait::until_true("the other one is refused", || {
        to(&telegram.sent(), Chat { id: 12 }) == ["Only the owner of this bot decides who may use it."]
    });
    let list = wait::until("the owner has the list", || {
        to_owner(&telegram).into_iter().find(|sent| sent.text.contains("The buttons come below."))
    });
    let says = ["3 chats want to use this bot.", "95 more wait", "Ada (ID 1005)", "and others."];
    assert_says(&list.text, &says);
    let (again, ..) = wait::until("the questions come again", || {
        (to_owner(&telegram).len() >= 11).then(|| question(&telegram, 7))
    });
    assert_says(&again.text, &["wants to use this bot"]);
}

#[test]
fn the_owner_looks_after_the_bot_from_a_phone_and_other_people_do_not() {
    let telegram = FakeTelegram::start();
    let system = System::builder().telegram(&telegram, "4711,12").start();
    telegram.push(STRANGER.text("hello"));
    let (asked, allow, _) = question(&telegram, 0);
    assert_eq!(telegram.press_answered(ADA, ADA.id, asked.number, &allow), "Allowed.");
    let answer = |chat: Chat, text: &str| {
        let before = to(&telegram.sent(), chat).len();
        telegram.push(chat.text(text));
        wait::until(text, || to(&telegram.sent(), chat).get(before).map(|text| (*text).to_owned()))
    };
    for command in ["/chats", "/unpair 666", "/schedules", "/usage", "/health"] {
        assert_eq!(answer(Chat { id: 12 }, command), "Only the owner of this bot can do that.");
    }
    system.wait_for_rest(&telegram);
    let (everybody, owner) = (answer(Chat { id: 12 }, "/help"), answer(ADA, "/help"));
    assert!(everybody.contains("/status – ") && !everybody.contains("owner"), "{everybody}");
    assert_says(&owner, &["/status – ", "/pairings – ", "/unpair – "]);
    assert_says(&answer(ADA, "/chats"), &["12: by the settings", "666: Ada (ID 666), paired"]);
    assert_eq!(answer(ADA, "/schedules"), "Nothing is scheduled.");
    assert_eq!(answer(ADA, "/usage"), "No model was used in the last 7 days.");
    assert_says(&answer(ADA, "/health"), &["database: ok", "telegram: ok", "workers: ok"]);
    assert_says(&answer(ADA, "/unpair"), &["/unpair ID takes a pairing back"]);
    assert_says(&answer(ADA, "/unpair 12"), &["allowed by the settings"]);
    assert_says(&answer(ADA, "/unpair 13"), &["No chat with the ID 13 was paired."]);
    assert_says(&answer(ADA, "/unpair 666"), &["666 may not use this bot any more"]);
    let rows = system.database().count("select count(*) from inbox where state = 'done'");
    telegram.push(STRANGER.text("ls path=."));
    system.wait_for_rest(&telegram);
    assert_eq!(system.database().count("select count(*) from inbox where state = 'done'"), rows);
}

#[test]
fn the_owner_allows_a_stranger_with_a_button_and_nobody_else_does() {
    let telegram = FakeTelegram::start();
    let allowed = format!("{},{},12", GROUP.id, ADA.id);
    let mut system = System::builder().telegram(&telegram, &allowed).start();
    telegram.push(STRANGER.text("ls path=before"));
    let (asked, allow, ignore) = question(&telegram, 0);
    assert_says(&asked.text, &["Ada (ID 666)", "chat ID 666", "wants to use this bot"]);

    // Neither the stranger, nor another one who is allowed, nor somebody in an allowed group.
    for (chat, by) in [(STRANGER, 666), (Chat { id: 12 }, 12), (GROUP, 12), (ADA, 666)] {
        let answer = telegram.press_answered(chat, by, asked.number, &allow);
        assert_eq!(answer, "Only the owner of this bot decides that.", "{by} in {}", chat.id);
    }
    assert_eq!(system.database().count("select count(*) from paired_chats"), 0);

    // Ignoring takes the buttons away, and a press that comes late still counts.
    assert_eq!(telegram.press_answered(ADA, ADA.id, asked.number, &ignore), "Ignored.");
    let now = telegram.edited(asked.number, 1);
    assert_says(&now.text, &["666", "is ignored"]);
    assert!(now.markup.is_null(), "{now:?}");
    system.wait_until_all_is_sent();
    system.kill();
    system.restart();
    assert_eq!(telegram.press_answered(ADA, ADA.id, asked.number, &allow), "Allowed.");
    let now = telegram.edited(asked.number, 2);
    assert_says(&now.text, &["666", "may use this bot now", "supervisor unpair 666", "/unpair 666 takes"]);
    wait::until_true("the stranger is told", || {
        to(&telegram.sent(), STRANGER).iter().any(|text| text.contains("You may use this bot now"))
    });
    telegram.push(STRANGER.text("ls path=after"));
    wait::until_true("and served", || {
        to(&telegram.sent(), STRANGER).iter().any(|text| text.contains("after"))
    });

    // Once more, it says that there is nothing left to decide.
    let again = telegram.press_answered(ADA, ADA.id, asked.number, &allow);
    assert_eq!(again, "This code was used, or it has expired.");
    let unknown = telegram.press_answered(ADA, ADA.id, asked.number, "pair:perhaps:X");
    assert_eq!(unknown, "This button does nothing any more.");
    let paired = system.database().texts("select chat_id || ' ' || paired_by from paired_chats");
    assert_eq!(paired, ["666 telegram"]);
}

#[test]
fn a_bot_without_an_owner_asks_nobody_until_somebody_is_paired() {
    let telegram = FakeTelegram::start();
    let system = System::builder().telegram(&telegram, "-77").start();
    telegram.push(ADA.text("hello"));
    telegram.wait_for_sent(1);
    let code = system.shown_json(&["chats", "--json"])["chats"][1]["code"].as_str().unwrap().to_owned();
    system.shown(&["pair", &code]);
    telegram.wait_for_sent(2);
    telegram.push(STRANGER.text("hello"));
    let (asked, allow, _) = question(&telegram, 0);
    assert_eq!(telegram.press_answered(ADA, ADA.id, asked.number, &allow), "Allowed.");
}

#[test]
fn what_only_the_owner_may_do_is_in_the_menu_of_the_owner_alone() {
    let telegram = FakeTelegram::start();
    let system = System::builder().telegram(&telegram, "-77").start();
    let shows_more = |chat: Chat| telegram.menu_of(chat.id).contains(&"unpair".to_owned());
    telegram.push(ADA.text("hello"));
    telegram.wait_for_sent(1);
    wait::until_true("the menu is set", || telegram.menu_of(ADA.id).contains(&"help".to_owned()));
    assert!(!shows_more(ADA));
    let code = system.shown_json(&["chats", "--json"])["chats"][1]["code"].as_str().unwrap().to_owned();
    system.shown(&["pair", &code]);
    // The next message ends the request that waits for one.
    telegram.push(STRANGER.text("hello"));
    wait::until_true("the owner sees more", || shows_more(ADA));
    assert!(telegram.menu_of(ADA.id).contains(&"help".to_owned()));
    assert!(!shows_more(STRANGER) && !shows_more(GROUP));
    telegram.ask(ADA, &format!("/unpair {}", ADA.id));
    telegram.push(STRANGER.text("hello"));
    wait::until_true("the owner is none any more", || !shows_more(ADA));
    assert!(telegram.menu_of(ADA.id).contains(&"help".to_owned()), "as everybody");
}
