//! Several machines on one database: each chat is worked for on one of them, and a machine that goes away
//! loses and doubles nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use harness::fake_telegram::Sent;
use harness::fake_telegram::update::{Chat, listed};
use harness::http::Request;
use harness::system::direct_ls;
use harness::{FakeTelegram, Postgres, System, SystemBuilder, leftovers, program, wait};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::assert_says;
use crate::page::page;

const CHATS: [i64; 6] = [101, 102, 103, 104, 105, 106];

fn node(server: &Postgres, telegram: &FakeTelegram, name: &str) -> SystemBuilder {
    let builder = System::builder().telegram(telegram, &listed(CHATS));
    builder.variable("AUTONOUS_DATABASE_URL", &server.url("")).variable("AUTONOUS_NODE", name)
}

/// What the database says, each row as its columns with a space between them.
fn asked(server: &Postgres, sql: &str) -> Vec<String> {
    server.try_ask(sql).unwrap()
}

/// What a command prints, with the settings of the system.
fn shown(system: &System, arguments: &[&str]) -> String {
    program::stdout_of(&system.run_set_up(arguments))
}

fn nodes(system: &System) -> BTreeMap<String, Value> {
    let listed: Value = serde_json::from_str(&shown(system, &["nodes", "--json"])).unwrap();
    let nodes = listed["nodes"].as_array().unwrap().iter();
    nodes.map(|node| (node["name"].as_str().unwrap().to_owned(), node.clone())).collect()
}

/// The chats that are on a node.
fn chats_of(server: &Postgres, node: &str) -> Vec<i64> {
    let sql = format!("select chat_id from chats where node = '{node}' and channel = 'telegram' order by 1");
    asked(server, &sql).iter().map(|id| id.parse().unwrap()).collect()
}

/// What a chat got, edits and signs left out.
fn answers(telegram: &FakeTelegram, chat: i64) -> Vec<Sent> {
    telegram.sent_that(|sent| sent.chat_id == chat && sent.method == "sendmessage" && !sent.is_progress)
}

fn say(telegram: &FakeTelegram, chat: i64, text: &str) {
    telegram.push(Chat { id: chat }.text(text));
}

/// Waits until each of these chats has so many answers.
fn wait_for_answers(telegram: &FakeTelegram, chats: &[i64], count: usize) {
    wait::until_true("all are answered", || chats.iter().all(|chat| answers(telegram, *chat).len() == count));
}

/// Places every chat by a first message, and waits for its answer.
fn greet(telegram: &FakeTelegram) {
    for chat in CHATS {
        say(telegram, chat, &direct_ls("."));
    }
    wait_for_answers(telegram, &CHATS, 1);
}

/// No two nodes led at once: each began after the one before it had shown for the last time that it leads.
fn assert_one_leader(server: &Postgres) {
    let overlaps = "select count(*) from leaders as a join leaders as b on a.epoch < b.epoch
                    where a.until_ms > b.since_ms";
    assert_eq!(asked(server, overlaps), ["0"], "{:?}", asked(server, "select * from leaders order by epoch"));
}

#[test]
fn chats_are_spread_over_the_nodes_and_each_is_answered_by_its_own_in_order() {
    let (server, telegram) = (Postgres::start(), FakeTelegram::start());
    let first = node(&server, &telegram, "a").start();
    let second = node(&server, &telegram, "b").start();
    greet(&telegram);
    for number in 0..3 {
        for chat in CHATS {
            say(&telegram, chat, &format!("write path={chat}-{number}.txt content=1"));
        }
    }
    wait_for_answers(&telegram, &CHATS, 4);
    for chat in CHATS {
        let texts: Vec<String> = answers(&telegram, chat).into_iter().map(|sent| sent.text).collect();
        for (number, text) in texts[1..].iter().enumerate() {
            assert_says(text, &[&format!("{chat}-{number}.txt")]);
        }
    }
    let (of_first, of_second) = (chats_of(&server, "a"), chats_of(&server, "b"));
    assert!(of_first.len() >= 2 && of_second.len() >= 2, "{of_first:?} {of_second:?}");
    let ran = "select distinct i.chat_id || ' ' || (e.payload ->> 'node') from events as e
               join inbox as i on i.id = e.task_id where e.type = 'task.claimed' order by 1";
    for ran in asked(&server, ran) {
        let (chat, node) = ran.split_once(' ').unwrap();
        let placed = if node == "a" { &of_first } else { &of_second };
        assert!(placed.contains(&chat.parse().unwrap()), "{ran}: a task ran on a node without its files");
    }
    let listed = nodes(&second);
    assert_eq!(listed.values().filter(|node| node["leads"] == true).count(), 1, "{listed:?}");
    assert_says(&shown(&first, &["chats"]), &["NODE"]);
    let cookie = second.signed_in();
    assert_says(&page(&second, "/", &cookie), &["Nodes", "Machines that share the database", "leads"]);
    let task = asked(&server, "select id from inbox where node = 'a' limit 1").remove(0);
    assert_says(&page(&second, &format!("/tasks/{task}"), &cookie), &["<dt>Node</dt><dd>a</dd>"]);
    assert_one_leader(&server);
}

#[test]
fn a_leader_that_is_killed_is_followed_and_its_chats_are_told_and_answered_when_it_is_back() {
    let (server, telegram) = (Postgres::start(), FakeTelegram::start());
    let mut first = node(&server, &telegram, "a").start();
    wait::until_true("it leads", || asked(&server, "select node from leaders") == ["a"]);
    let second = node(&server, &telegram, "b").start();
    greet(&telegram);
    let (gone, alive) = (chats_of(&server, "a")[0], chats_of(&server, "b")[0]);
    first.kill();
    say(&telegram, alive, &direct_ls("."));
    wait_for_answers(&telegram, &[alive], 2);
    say(&telegram, gone, "write path=late.txt content=late");
    wait::until_true("its people know", || {
        answers(&telegram, gone).iter().any(|sent| sent.text.contains("(a) is not running"))
    });
    assert_eq!(nodes(&second)["a"]["state"], "gone");
    first.restart();
    wait::until_true("what waited is done", || {
        answers(&telegram, gone).last().is_some_and(|sent| sent.text.contains("late.txt"))
    });
    assert_eq!(fs::read_to_string(first.workspace().join("late.txt")).unwrap(), "late");
    wait::until_true("it is back", || nodes(&second)["a"]["state"] == "active");
    assert_one_leader(&server);
}

#[test]
fn a_node_that_stands_still_beyond_its_lease_ends_and_sends_nothing_any_more() {
    let (server, telegram) = (Postgres::start(), FakeTelegram::start());
    let shared = harness::TestDir::new();
    let root = shared.path().join("workspace");
    fs::create_dir(&root).unwrap();
    let root = root.display().to_string();
    let variables = [("AUTONOUS_TOOL_ALLOWED_ROOTS", root.as_str()), ("AUTONOUS_SHARED_WORKSPACES", "true")];
    let [first, second] = ["a", "b"].map(|name| node(&server, &telegram, name).variables(&variables).start());
    greet(&telegram);
    let chat = chats_of(&server, "a")[0];
    say(&telegram, chat, "bash cmd=\"sleep 1000\"");
    let running = "select node from inbox where state = 'in_progress'";
    wait::until_true("it runs", || {
        asked(&server, running) == ["a"] && asked(&server, "select count(*) from open_calls") == ["1"]
    });
    first.signal_all(Signal::STOP);
    // What the call did is unknown, so the second attempt says that instead of making it again.
    wait::until_true("another node has it", || {
        answers(&telegram, chat).last().is_some_and(|sent| sent.text.contains("was interrupted"))
    });
    first.signal_all(Signal::CONT);
    wait::until_true("it is back", || nodes(&second)["a"]["state"] == "active");
    wait::until_true("it has ended its attempt", || {
        !leftovers::processes_of(first.dir()).iter().any(|process| process.command.contains("sleep 1000"))
    });
    say(&telegram, chat, &direct_ls("."));
    wait_for_answers(&telegram, &[chat], 3);
    let ended = "select (e.payload ->> 'attempt') from events as e join inbox as i on i.id = e.task_id
                 where e.type = 'task.done' and i.text like 'bash%'";
    assert_eq!(asked(&server, ended), ["2"], "the first attempt ended nothing");
    let sent = answers(&telegram, chat);
    let told = sent.iter().filter(|sent| sent.text.contains("was interrupted")).count();
    assert_eq!((sent.len(), told), (3, 1), "{sent:?}");
    assert_one_leader(&server);
}

#[test]
fn chats_move_by_hand_and_a_drained_node_gets_no_new_ones() {
    let (server, telegram) = (Postgres::start(), FakeTelegram::start());
    let [first, second] = ["a", "b"].map(|name| node(&server, &telegram, name).start());
    say(&telegram, 101, &direct_ls("."));
    wait_for_answers(&telegram, &[101], 1);
    let (from, to) = if chats_of(&server, "a") == [101] { ("a", "b") } else { ("b", "a") };
    let moved = shown(&second, &["chats", "move", "101", to]);
    assert_says(&moved, &["telegram:101 is on"]);
    say(&telegram, 101, "write path=here.txt content=1");
    wait_for_answers(&telegram, &[101], 2);
    let target = if to == "a" { &first } else { &second };
    assert!(target.workspace().join("here.txt").exists(), "it ran on {to}");
    let drained = shown(&first, &["nodes", "drain", from]);
    assert_says(&drained, &["takes no new chats"]);
    for chat in &CHATS[1..] {
        say(&telegram, *chat, &direct_ls("."));
    }
    wait_for_answers(&telegram, &CHATS[1..], 1);
    assert_eq!(chats_of(&server, to), CHATS);
    for (arguments, why) in [
        (&["chats", "move", "101", "c"][..], "no node"),
        (&["chats", "move", "999", to], "on no node"),
        (&["chats", "move", "101", from], "is draining"),
        (&["nodes", "drain", "c"], "no node"),
        (&["nodes", "resume", "c"], "no node"),
    ] {
        let said = program::refusal_of(&first.run_set_up(arguments));
        assert!(said.contains(why), "{arguments:?}: {said}");
    }
    assert_says(&shown(&first, &["nodes", "resume", from]), &["takes new chats again"]);
    assert_eq!(nodes(&first)[from]["state"], "active");
}

#[test]
fn a_pairing_and_a_decision_reach_the_node_that_they_are_about() {
    let (server, telegram) = (Postgres::start(), FakeTelegram::start());
    let rules = "[[rule]]\ntools = [\"write\"]\ndecision = \"ask\"\nreason = \"it writes\"\n";
    let start = |name| {
        let builder = node(&server, &telegram, name).policy(rules);
        builder.variable("AUTONOUS_APPROVERS", "101").start()
    };
    let [first, second] = ["a", "b"].map(start);
    greet(&telegram);
    let asks = if chats_of(&server, "a").contains(&101) { "b" } else { "a" };
    let chat = chats_of(&server, asks)[0];
    say(&telegram, chat, "write path=asked.txt content=1");
    let (question, buttons) = telegram.question(Chat { id: 101 }, 0);
    let said = telegram.press_answered(Chat { id: 101 }, 101, question.number, &buttons[0]);
    assert_says(&said, &["Noted"]);
    let system = if asks == "a" { &first } else { &second };
    wait::until_true("it is written", || system.workspace().join("asked.txt").exists());

    say(&telegram, 900, "hello");
    let code = wait::until("the stranger has a code", || {
        asked(&server, "select code from pairing_codes where chat_id = '900'").pop()
    });
    let at = asked(&server, "select node from chats where chat_id = '900'");
    let other = if at == ["a"] { &second } else { &first };
    let paired = other.control(Request::post_json("/pair", &json!({"code": code})));
    assert_eq!(paired.status, 200, "{}", paired.text());
    wait::until_true("the stranger is welcome", || answers(&telegram, 900).len() >= 2);
    wait::until_true("its node obeys it", || {
        say(&telegram, 900, &direct_ls("."));
        wait::out(std::time::Duration::from_secs(1));
        answers(&telegram, 900).last().is_some_and(|sent| sent.text.contains("exit 0"))
    });
}

#[test]
fn a_schedule_of_any_node_is_run_once_on_the_node_of_its_chat() {
    let (server, telegram) = (Postgres::start(), FakeTelegram::start());
    let [first, second] = ["a", "b"].map(|name| node(&server, &telegram, name).start());
    greet(&telegram);
    for (system, name) in [(&first, "a"), (&second, "b")] {
        let chat = chats_of(&server, name)[0];
        let format = r#"'YYYY-MM-DD"T"HH24:MI:SS"Z"'"#;
        let soon = format!("select to_char(now() at time zone 'utc' + interval '2 seconds', {format})");
        let at = asked(&server, &soon);
        let text = format!("write path={name}.txt content=1");
        let set =
            system.tool_as(&format!("telegram:{chat}"), "schedule_task", &json!({"text": text, "at": at[0]}));
        assert!(set.meta.error.is_none(), "{set:?}");
        wait::until_true("it was done", || system.workspace().join(format!("{name}.txt")).exists());
    }
    let due = "select payload ->> 'schedule_id' from events where type = 'schedule.due'";
    let due = asked(&server, due);
    assert_eq!((due.len(), due.iter().collect::<BTreeSet<_>>().len()), (2, 2), "{due:?}");
}
