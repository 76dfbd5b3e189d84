//! A message in the local channel, from the front door to the reply, without any account.

use std::fs;

use harness::system::{direct_ls, without_status_line};
use harness::{Request, System};
use serde_json::json;

#[test]
fn a_message_is_answered_with_a_real_listing() {
    let system = System::start();
    fs::write(system.workspace().join("hello.txt"), "x").unwrap();
    let task = system.say(&direct_ls("."));
    assert_eq!(without_status_line(&system.reply(&task)), "hello.txt");
    assert_eq!(system.database().task_states(), ["done"]);
}

#[test]
fn chat_prints_the_reply() {
    let system = System::start();
    fs::create_dir(system.workspace().join("notes")).unwrap();
    let output = system.run_command(&["chat", "ls path=."]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("notes/"), "{said}");
}

#[test]
fn chat_without_a_running_supervisor_says_how_to_start_one() {
    let mut system = System::start();
    system.stop();
    let output = system.run_command(&["chat", "ls path=."]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(said.contains("supervisor run"), "{said}");
    assert!(!said.contains("panicked"), "{said}");
}

#[test]
fn messages_of_one_chat_are_answered_in_their_order() {
    let system = System::start();
    let tasks: Vec<String> = (0..5).map(|number| system.say(&format!("ls path=none-{number}"))).collect();
    for (number, task) in tasks.iter().enumerate() {
        assert!(system.reply(task).contains(&format!("none-{number}")), "task {number}");
    }
    let database = system.database();
    let done = "select task_id from events where type = 'task.done' order by seq";
    assert_eq!(database.texts(done), tasks);
}

#[test]
fn the_tools_can_be_called_past_the_worker_with_the_token_that_is_printed() {
    let system = System::start();
    let tokens = system.tokens();
    let printed = system.run_command(&["token"]);
    assert!(String::from_utf8_lossy(&printed.stdout).contains(&tokens.tool_token), "{printed:?}");
    let address = harness::http::address_of(&tokens.tool_url);
    let call = Request::post_json("/tools/ls", &json!({"path": "."}));
    assert_eq!(call.send(address).status, 401);
    let call = call.header("Authorization", &format!("Bearer {}", tokens.tool_token));
    assert!(call.send(address).envelope().ok);
}

#[test]
fn the_control_port_refuses_strangers() {
    let system = System::start();
    let address = harness::http::address_of(&system.tokens().control_url);
    let message = || Request::post_json("/messages", &json!({"text": "ls path=."}));
    assert_eq!(message().send(address).status, 401);
    assert_eq!(message().header("Authorization", "Bearer wrong").send(address).status, 401);
    let foreign = message().header("Host", "evil.example");
    assert_eq!(system.control(foreign).status, 403);
    let foreign = message().header("Origin", "https://evil.example");
    assert_eq!(system.control(foreign).status, 403);
    assert!(system.database().task_states().is_empty());
}

#[test]
fn a_wrong_message_gets_an_answer_that_helps() {
    let system = System::start();
    for body in ["", "[]", r#"{"txt":"x"}"#, r#"{"text":""}"#, r#"{"text":1}"#, "{\"text\":\"\u{0}\"}"] {
        let answer = system.control(Request::post("/messages", body));
        assert!((400..500).contains(&answer.status), "{body}: {}", answer.text());
        assert!(answer.json()["error"]["message"].is_string(), "{body}: {}", answer.text());
    }
    let unknown = system.control(Request::get("/messages/nobody"));
    assert_eq!(unknown.status, 404, "{}", unknown.text());
    assert!(system.database().task_states().is_empty());
}

#[test]
fn an_odd_message_is_answered_with_what_can_be_said() {
    let system = System::start();
    let reply = system.reply(&system.say("what can you do?"));
    assert!(reply.contains("ls"), "{reply}");
}

#[test]
fn sigterm_ends_everything_with_success() {
    let mut system = System::start();
    system.reply(&system.say("ls path=."));
    assert!(system.stop().success());
    assert!(system.children().is_empty());
}

#[test]
fn a_second_supervisor_on_the_same_data_is_refused() {
    let system = System::start();
    let second = system.run_command(&["run"]);
    assert!(!second.status.success());
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(said.contains("another supervisor"), "{said}");
    system.reply(&system.say("ls path=."));
}
