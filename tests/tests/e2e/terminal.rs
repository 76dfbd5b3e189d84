//! The terminal as a channel: what a person types and sees, in a real terminal.

use harness::program::refusal_of;
use harness::pty::Terminal;
use harness::signals;
use harness::system::direct_ls;
use harness::{FakeModel, ModelReply, System, wait};
use rustix::process::Signal;
use serde_json::json;

use crate::{assert_says, short, with_model};

const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";
const UP: &str = "\u{1b}[A";
const LEFT: &str = "\u{1b}[D";
const BACKSPACE: &str = "\u{7f}";
const ENTER: &str = "\r";

const PROMPT: &str = "> ";
/// What the line editor writes when it begins to read keys. Before that, the terminal edits what is typed by
/// itself, and Ctrl-C and Ctrl-D mean something else.
const READS_KEYS: &str = "\u{1b}[?2004h";
const LONG: &str = r#"/bash {"cmd": "sleep 300", "timeout_seconds": 300}"#;

fn conversation(system: &System) -> Terminal {
    let terminal = system.terminal(&["chat"], 100);
    terminal.wait_for(PROMPT, 0);
    terminal
}

/// Types a line, and waits for the reply until the next line can be typed.
fn answer_and_prompt(terminal: &mut Terminal, line: &str, reply: &str) {
    assert_says(&terminal.answer(line, READS_KEYS), &[reply]);
}

/// Leaves the conversation.
fn leave(mut terminal: Terminal) {
    terminal.type_in(CTRL_D);
    assert!(terminal.end().success());
}

#[test]
fn a_conversation_has_line_editing_and_a_history_that_outlives_it() {
    let system = System::start();
    std::fs::write(system.workspace().join("hello.txt"), "x").unwrap();
    let mut first = conversation(&system);
    answer_and_prompt(&mut first, "ls\\\rpath=none", "none");
    let typed = format!("ls path=x{BACKSPACE}{LEFT}{LEFT}\u{b}h=.");
    answer_and_prompt(&mut first, &typed, "hello.txt");
    answer_and_prompt(&mut first, UP, "hello.txt");
    leave(first);

    let mut second = conversation(&system);
    answer_and_prompt(&mut second, UP, "hello.txt");
    let before = second.shown().len();
    second.type_in(CTRL_C);
    assert_says(&second.wait_for(READS_KEYS, before), &["Nothing runs"]);
    second.type_in(CTRL_C);
    assert!(second.end().success());
    let asked = system.database().texts("select text from inbox order by seq");
    assert_eq!(asked, ["ls\npath=none", "ls path=.", "ls path=.", "ls path=."]);
}

#[test]
fn ctrl_c_stops_the_task_and_the_conversation_goes_on() {
    let system = System::start();
    let mut terminal = conversation(&system);
    terminal.answer(LONG, "bash cmd=sleep 300");
    let before = terminal.shown().len();
    terminal.type_in(CTRL_C);
    terminal.wait_for(READS_KEYS, before);
    assert_eq!(system.database().task_states(), ["cancelled"]);
    answer_and_prompt(&mut terminal, "ls path=.", "exit 0");
    leave(terminal);
}

#[test]
fn ctrl_c_twice_leaves_and_says_how_to_see_the_task() {
    let system = System::start();
    for arguments in [&["chat"][..], &["chat", LONG]] {
        let mut terminal = system.terminal(arguments, 100);
        if arguments.len() == 1 {
            terminal.wait_for(PROMPT, 0);
            terminal.type_in(&format!("{LONG}{ENTER}"));
        }
        terminal.wait_for("bash cmd=sleep 300", 0);
        let worker = system.database().texts("select id from inbox order by seq desc limit 1");
        let workers = system.children().into_iter().filter(|child| child.is("agent-worker"));
        let stopped: Vec<u32> = workers.map(|child| child.pid).collect();
        stopped.iter().for_each(|pid| signals::send(*pid, Signal::STOP));
        terminal.type_in(CTRL_C);
        terminal.wait_for("stopping", 0);
        terminal.type_in(CTRL_C);
        let said = terminal.wait_for("goes on without you", 0);
        assert_eq!(terminal.end().code(), Some(130));
        assert_says(&said, &[&format!("supervisor follow {}", short(&worker[0]))]);
        stopped.iter().for_each(|pid| signals::send(*pid, Signal::CONT));
        system.reply(&worker[0]);
    }
}

#[test]
fn a_reply_is_shown_without_its_marks_and_steers_no_terminal() {
    let text = "# Result\n\n**bold** and `code`\u{1b}[2J\u{202e}end\n\n- one\n- two\n";
    let (_model, system) = with_model(vec![ModelReply::text(text); 2]);
    let terminal = system.terminal(&["chat", "hi"], 100);
    let shown = terminal.wait_for("two", 0);
    assert_says(&shown, &["Result", "bold", "end", "one"]);
    assert!(!shown.contains("\u{1b}[2J") && !shown.contains('\u{202e}'), "{shown:?}");
    assert!(!shown.contains("**") && !shown.contains("# Result"), "{shown:?}");
    let piped = system.shown(&["chat", "hi"]);
    assert_says(&piped, &["**bold** and `code`\\u{1b}[2J"]);
}

#[test]
fn a_message_can_come_from_stdin_and_nothing_is_drawn_where_there_is_no_terminal() {
    let (_model, system) = with_model(vec![ModelReply::text("read")]);
    let output = system.run_with_input(&["chat", "-"], "first line\nsecond line\n");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "read\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(system.database().texts("select text from inbox"), ["first line\nsecond line\n"]);
    for (arguments, input, said) in [
        (&["chat", "-"][..], &b""[..], "`text` is empty"),
        (&["chat", "-"], b"\xff", "not UTF-8"),
        (&["chat"], b"", "no message"),
        (&["chat", "--json"], b"", "required"),
    ] {
        assert_says(&refusal_of(&system.run_with_input(arguments, input)), &[said]);
    }
}

#[test]
fn follow_prints_the_events_of_a_task_until_it_ends_and_all_events_as_they_come() {
    let system = System::start();
    let mut all = system.terminal(&["follow"], 100);
    wait::until_true("it watches", || {
        system.say(&direct_ls("."));
        all.shown().contains("tool_call.completed")
    });
    let task = system.run_task(&direct_ls("."));
    all.wait_for(&format!("{}  task.done", short(&task)), 0);
    assert!(all.shown().lines().all(|line| line.trim_end().chars().count() <= 100), "{}", all.shown());
    all.type_in(CTRL_C);
    all.end();

    let one = system.shown(&["follow", short(&task)]);
    for event in ["task.queued", "tool_call.started", "tool_call.completed", "task.done"] {
        assert!(one.lines().any(|line| line.contains(event)), "{event}: {one}");
    }
    let json = system.shown(&["follow", &task, "--json"]);
    let events: Vec<serde_json::Value> =
        json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(events.iter().all(|event| event["task_id"] == task.as_str()) && events.len() >= 4, "{json}");
    assert_says(&system.refused(&["follow", "nothing"]), &["no such task"]);

    let running = system.say(LONG);
    let mut one = system.terminal(&["follow", &running], 60);
    one.wait_for("tool_call.started", 0);
    system.shown(&["cancel", &running]);
    one.wait_for("task.cancelled", 0);
    assert!(one.end().success());
}

#[test]
fn tables_are_as_wide_as_the_terminal() {
    let system = System::start();
    system.run_task(&format!("ls path={}", "a-long-name/".repeat(12)));
    let widest = |columns: u16| {
        let mut terminal = system.terminal(&["tasks"], columns);
        terminal.end();
        let shown = terminal.wait_for("1 done", 0);
        let plain = shown.split("\u{1b}[").map(|part| part.split_once('m').map_or(part, |(_, rest)| rest));
        plain.collect::<String>().lines().map(|line| line.trim_end().chars().count()).max().unwrap()
    };
    assert_eq!([widest(120), widest(60)], [120, 60]);
    assert_eq!(system.shown(&["tasks"]).lines().map(|line| line.chars().count()).max(), Some(80));
}

#[test]
fn a_conversation_puts_a_question_as_a_numbered_list() {
    let question = json!({"question": "Which colour?", "options": ["Red", "Deep blue"]});
    let model = FakeModel::telling(ModelReply::call("ask_user", &question));
    let system = System::builder().model(&model).workers(1).start();
    let mut terminal = conversation(&system);
    let shown = terminal.answer("paint it", "A number: ");
    assert_says(&shown, &["Which colour?", "1. Red", "2. Deep blue"]);
    terminal.answer("green", "one of the numbers");
    let told = terminal.answer("2", "exit 0");
    assert_says(&told, &["Answered by the terminal: Deep blue", "I was told"]);
    // Somebody who does not answer now can do it later.
    terminal.answer("paint it", "A number: ");
    terminal.type_in(CTRL_D);
    terminal.wait_for("It waits: `supervisor answer", 0);
    let before = terminal.shown().len();
    let id = &system.pending_approval();
    system.shown(&["answer", id, "red"]);
    assert_says(&terminal.wait_for(READS_KEYS, before), &["Answered by the command line: Red"]);
    leave(terminal);
}

#[test]
fn a_conversation_shows_the_whole_call_that_waits_and_takes_the_answer() {
    let arguments = json!({"path": "a", "content": "x\n\u{1b}[2J".repeat(40), "mode": "append"});
    let model = FakeModel::telling(ModelReply::call("write", &arguments));
    let rules = "[[rule]]\ntools = [\"write\"]\ndecision = \"ask\"\nreason = \"it writes\"\n";
    let system = System::builder().model(&model).workers(1).policy(rules).start();
    let file = system.workspace().join("a");
    let mut terminal = conversation(&system);
    let prompt = "[o]nce, this [t]ask, this [c]hat, [d]eny: ";

    let shown = terminal.answer("write it", prompt);
    assert_says(&shown, &["May I call write", "It writes.", "Asked for by local:local"]);
    // All forty lines, and none of them steers the terminal.
    assert_eq!(shown.matches("[2J").count() % 40, 0, "{shown}");
    assert!(shown.contains("[2J") && !shown.contains("\u{1b}[2J"), "{shown:?}");
    terminal.answer("what?", "one of the letters");
    terminal.answer("d", "Why?");
    // The end of what the model says, which is shown while it grows.
    let told = terminal.answer("not today", "APPROVAL_DENIED");
    assert_says(&told, &["Denied by the terminal: not today", "I was told"]);
    assert!(!file.exists());

    terminal.answer("write it", prompt);
    let told = terminal.answer("o", "exit 0");
    assert_says(&told, &["Allowed once by the terminal", "I was told"]);
    assert!(file.exists());

    // An approver who does not decide leaves it to others, and sees the answer all the same.
    terminal.answer("write it", prompt);
    terminal.type_in(CTRL_D);
    terminal.wait_for("It waits: `supervisor approve", 0);
    let before = terminal.shown().len();
    let id = &system.pending_approval();
    system.shown(&["deny", id, "--reason", "from outside"]);
    assert_says(&terminal.wait_for(READS_KEYS, before), &["from outside"]);
    leave(terminal);

    let texts = system.database().texts("select text from inbox");
    assert_eq!(texts, ["write it"; 3], "the answers are no messages");
}
