//! Four persons who meet Autonous for the first time, each as a script of what they type: tests/persons/.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};

use harness::fake_telegram::update::Chat;
use harness::fake_telegram::{Sent, TOKEN};
use harness::project_copy::workspace;
use harness::{FakeTelegram, TestDir, binaries, wait};

/// Starts a person's script in a directory that is also the home.
fn person(dir: &TestDir, name: &str, variables: &[(&str, &str)]) -> Child {
    let programs = binaries::path_of("supervisor");
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", programs.parent().unwrap().display());
    let home = dir.path().join("home");
    fs::create_dir(&home).unwrap();
    let mut command = Command::new("bash");
    command
        .arg(workspace().join("tests/persons").join(format!("{name}.sh")))
        .env_clear()
        .env("PATH", path)
        .env("HOME", &home)
        .env("AUTONOUS_CONTROL_LISTEN", "127.0.0.1:0")
        .env("AUTONOUS_TOOL_LISTEN", "127.0.0.1:0")
        .envs(variables.iter().copied())
        .current_dir(home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(fs::File::create(dir.logs().join("stderr")).unwrap());
    dir.spawn(&mut command).unwrap()
}

/// Follows the script to its end, which has to be a good one. `answer` is asked for each line.
fn follow(dir: &TestDir, mut script: Child, mut answer: impl FnMut(&str) -> Option<String>) {
    let mut steps = 0;
    let mut input = script.stdin.take().unwrap();
    for line in BufReader::new(script.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        steps += usize::from(line.starts_with("# "));
        if let Some(answer) = answer(&line) {
            writeln!(input, "{}", answer.replace('\n', " ")).unwrap();
        }
    }
    let status = script.wait().unwrap();
    let stderr = fs::read_to_string(dir.logs().join("stderr")).unwrap();
    assert!(status.success(), "after step {steps}: {stderr}");
    assert!(steps > 3, "{steps} steps");
}

fn alone(name: &str) {
    let dir = TestDir::new();
    follow(&dir, person(&dir, name, &[]), |_| None);
}

#[test]
fn a_developer_works_on_her_own_project() {
    alone("developer");
}

#[test]
fn an_engineer_uses_the_tool_server_alone() {
    alone("engineer");
}

#[test]
fn an_auditor_finds_what_was_done() {
    alone("auditor");
}

#[test]
fn an_operator_runs_the_bot_for_others() {
    let (dir, telegram) = (TestDir::new(), FakeTelegram::start());
    let variables = [("AUTONOUS_TELEGRAM_API_URL", &*telegram.url()), ("BOT_TOKEN", TOKEN)];
    let script = person(&dir, "operator", &variables);
    let mut heard: HashMap<i64, usize> = HashMap::new();
    let mut next = |chat: Chat| {
        let number = heard.entry(chat.id).or_default();
        let to_chat =
            |sent: &Sent| sent.chat_id == chat.id && sent.method == "sendmessage" && !sent.is_progress;
        let said = wait::until("the bot says more", || telegram.sent_that(to_chat).into_iter().nth(*number));
        *number += 1;
        said
    };
    follow(&dir, script, |line| {
        let mut words = line.splitn(3, ' ');
        let what = words.next().filter(|what| ["SEND", "PRESS", "HEAR"].contains(what))?;
        let chat = Chat { id: words.next()?.parse().unwrap() };
        if let Some(text) = words.next() {
            telegram.push(chat.text(text));
        }
        let mut said = next(chat);
        if what == "PRESS" {
            let yes = said.buttons().into_iter().next().expect("the question has buttons").1;
            telegram.press(chat, chat.id, said.number, &yes);
            said = next(chat);
        }
        Some(said.text)
    });
}
