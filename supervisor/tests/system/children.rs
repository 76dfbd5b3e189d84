//! Children that crash, lie, fall silent, or will not end.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use supervisor::run::RunError;

use crate::control::reply_to;
use crate::house::{House, Plan, SHOUTING_WORKER, WAITING_SERVER};

/// Ends in the middle of its first task; the file beside it remembers.
const WORKER_THAT_DIES_ONCE: &str = r#"
if [ ! -e "$0.died" ]; then
    echo '{"type":"heartbeat"}'
    read -r line
    touch "$0.died"
    kill -9 $$
fi
exec /bin/sh "$0.next"
"#;

async fn house_with_next_worker(worker: &'static str) -> House {
    let directory = tempfile::tempdir().unwrap();
    let programs = directory.path().join("programs");
    fs::create_dir_all(&programs).unwrap();
    fs::write(programs.join("agent-worker.next"), SHOUTING_WORKER).unwrap();
    House::start_in(directory, Plan { worker, ..Plan::default() }).await
}

#[tokio::test]
async fn a_worker_that_dies_in_the_middle_leads_to_one_reply() {
    let house = house_with_next_worker(WORKER_THAT_DIES_ONCE).await;
    assert_eq!(reply_to(&house, "hello").await["reply"], "HELLO");
    assert_eq!(house.count("select attempt from inbox"), 2);
    assert_eq!(house.count("select count(*) from outbox"), 1);
    assert_eq!(house.count("select count(*) from events where type = 'retry.scheduled'"), 1);
    let status: Option<String> =
        house.value("select payload ->> 'status' from events where type = 'worker.exited' limit 1");
    assert_eq!(status.as_deref(), Some("signal 9"));
    house.stop().await;
}

#[tokio::test]
async fn the_next_attempt_is_told_what_the_earlier_one_did() {
    let worker = r#"
echo '{"type":"heartbeat"}'
read -r line
id=$(printf '%s' "$line" | sed 's/.*"task_id":"\([^"]*\)".*/\1/')
case "$line" in
*'"earlier":{"calls":[],"summary":"half of it"}'*)
    echo '{"type":"result","task_id":"'$id'","attempt":2,"outcome":{"status":"done","reply":"the rest"}}'
    cat >/dev/null ;;
*'"earlier"'*) exit 1 ;;
*)
    echo '{"type":"event","event":{"id":"e","parent_id":null,"task_id":"'$id'","type":"context.assembled","time_ms":1,"payload":{"summary":"half of it"}}}'
    kill -9 $$ ;;
esac
"#;
    let house = House::start(Plan { worker, ..Plan::default() }).await;
    assert_eq!(reply_to(&house, "hello").await["reply"], "the rest");
    assert_eq!(house.count("select attempt from inbox"), 2);
    house.stop().await;
}

#[tokio::test]
async fn a_worker_that_sends_nonsense_is_ended_and_started_again() {
    let house = house_with_next_worker(
        "if [ ! -e \"$0.lied\" ]; then touch \"$0.lied\"; echo nonsense; exec sleep 60; fi; exec /bin/sh \"$0.next\"",
    )
    .await;
    assert_eq!(reply_to(&house, "hello").await["reply"], "HELLO");
    house.stop().await;
}

#[tokio::test]
async fn a_task_that_kills_every_worker_is_given_up_with_one_message() {
    let worker = "echo '{\"type\":\"heartbeat\"}'; read -r line; exit 3";
    let house = House::start(Plan { worker, max_attempts: 2, ..Plan::default() }).await;
    let reply = reply_to(&house, "hello").await;
    assert_eq!(reply["status"], "dead");
    let text = reply["reply"].as_str().unwrap();
    assert!(text.contains("exit 3") && text.contains("2 times"), "{text}");
    assert_eq!(house.count("select count(*) from outbox"), 1);
    house.stop().await;
}

#[tokio::test]
async fn results_and_events_that_are_not_the_workers_to_tell_are_not_believed() {
    let worker = r#"
event() { echo '{"type":"event","event":{"id":"'$1'","parent_id":null,"task_id":"'$2'","type":"'$3'","time_ms":1,"payload":{}}}'; }
echo '{"type":"heartbeat"}'
read -r line
id=$(printf '%s' "$line" | sed 's/.*"task_id":"\([^"]*\)".*/\1/')
result() { echo '{"type":"result","task_id":"'$1'","attempt":'$2',"outcome":{"status":"done","reply":"'$3'"}}'; }
event a other turn.started
event b "$id" tool_call.started
event c "$id" task.done
event d "$id" turn.started
result other 1 no
result "$id" 2 no
result "$id" 1 yes
cat >/dev/null
"#;
    let house = House::start(Plan { worker, ..Plan::default() }).await;
    assert_eq!(reply_to(&house, "hello").await["reply"], "yes");
    let believed: Option<String> = house.value("select group_concat(id) from events where length(id) = 1");
    assert_eq!(believed.as_deref(), Some("d"));
    house.stop().await;
}

#[tokio::test]
async fn a_child_that_never_gets_ready_is_a_crash_loop() {
    let house = House::start(Plan { tool_server: "exit 1", ..Plan::default() }).await;
    house
        .until("the loop is detected", async || {
            house.count("select count(*) from events where type = 'crash_loop.detected'") == 1
        })
        .await;
    assert_eq!(reply_to(&house, "still here?").await["reply"], "STILL HERE?");
    house.stop().await;
}

#[tokio::test]
async fn a_child_sees_its_own_list_of_variables_and_its_own_secrets_alone() {
    let dump = "env > \"$0.env\"; cat <&${AUTONOUS_SECRETS_FD} > \"$0.secrets\"; touch \"$0.dumped\"; ";
    let worker: &'static str = format!("{dump}{SHOUTING_WORKER}").leak();
    let tool_server: &'static str = format!("{dump}echo $@ > \"$0.arguments\"; {WAITING_SERVER}").leak();
    let house = House::start(Plan { worker, tool_server, ..Plan::default() }).await;
    let programs = house.directory.path().join("programs");
    let read = |name: &str| fs::read_to_string(programs.join(name)).unwrap_or_default();
    house
        .until("both have told what they see", async || {
            programs.join("agent-worker.dumped").exists() && !read("tool-server.arguments").is_empty()
        })
        .await;
    let tokens = house.tokens();
    let secrets = |name: &str| serde_json::from_str::<Value>(&read(name)).unwrap();
    assert_eq!(secrets("tool-server.secrets"), json!({"AUTONOUS_TOOL_TOKEN": tokens.tool_token}));
    assert_eq!(
        secrets("agent-worker.secrets"),
        json!({"AUTONOUS_TOOL_TOKEN": tokens.tool_token, "OPENAI_API_KEY": "model-key"})
    );
    let names = |name: &str| {
        let text = read(name);
        let mut names: Vec<String> =
            text.lines().filter_map(|line| Some(line.split_once('=')?.0.to_owned())).collect();
        // What the shell of the script adds by itself.
        names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(&name.as_str()));
        names.sort();
        names
    };
    assert_eq!(names("agent-worker.env"), ["AUTONOUS_SECRETS_FD", "AUTONOUS_TOOL_URL"]);
    assert_eq!(
        names("tool-server.env"),
        [
            "AUTONOUS_DATA_DIR",
            "AUTONOUS_SECRETS_FD",
            "AUTONOUS_SKILLS_DIR",
            "AUTONOUS_TOOL_ALLOWED_ROOTS",
            "AUTONOUS_TOOL_ENV",
            "AUTONOUS_TOOL_JOURNAL",
            "AUTONOUS_TOOL_LISTEN",
            "AUTONOUS_TOOL_OUTPUT_DIR",
            "LISTEN_FDS",
            "NAMED",
        ]
    );
    assert_eq!(read("tool-server.arguments").trim(), "serve --lifeline");
    house.stop().await;
}

#[tokio::test]
async fn a_stop_ends_children_that_will_not_end_and_gives_their_task_back() {
    let stubborn =
        "trap '' TERM INT; echo '{\"type\":\"heartbeat\"}'; read -r line; touch \"$0.busy\"; exec sleep 600";
    let house = House::start(Plan { worker: stubborn, ..Plan::default() }).await;
    let tokens = house.tokens();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let post = client.post(format!("{}/messages", tokens.control_url)).bearer_auth(&tokens.control_token);
    assert!(post.json(&json!({"text": "hello"})).send().await.unwrap().status().is_success());
    let programs = house.directory.path().join("programs");
    house.until("the worker is busy", async || programs.join("agent-worker.busy").exists()).await;
    let pid = "select payload ->> 'pid' from events where payload ->> 'child' = 'agent-worker'";
    let process = Path::new("/proc").join(house.count(pid).to_string());
    assert!(process.exists(), "{}", process.display());
    let directory = house.stop().await;
    assert!(!process.exists(), "{}", process.display());
    let again = House::start_in(directory, Plan::default()).await;
    again
        .until("the task is done", async || {
            again.count("select count(*) from inbox where state = 'done'") == 1
        })
        .await;
    assert_eq!(again.count("select attempt from inbox"), 2);
    again.stop().await;
}

#[tokio::test]
async fn a_worker_that_will_not_stop_a_cancelled_task_is_ended_and_the_task_with_it() {
    let deaf = "echo '{\"type\":\"heartbeat\"}'; read -r line; touch \"$0.busy\"; exec sleep 600";
    let house = House::start(Plan { worker: deaf, ..Plan::default() }).await;
    let (client, tokens) = (reqwest::Client::builder().no_proxy().build().unwrap(), house.tokens());
    let post =
        |path: &str| client.post(format!("{}{path}", tokens.control_url)).bearer_auth(&tokens.control_token);
    assert!(post("/messages").json(&json!({"text": "hello"})).send().await.unwrap().status().is_success());
    let programs = house.directory.path().join("programs");
    house.until("the worker is busy", async || programs.join("agent-worker.busy").exists()).await;
    let task: String = house.value("select id from inbox").unwrap();
    assert_eq!(post(&format!("/tasks/{task}/cancel")).send().await.unwrap().status(), 202);
    house
        .until("the task is cancelled", async || {
            house.value("select state from inbox") == Some("cancelled".to_owned())
        })
        .await;
    assert_eq!(house.count("select attempt from inbox"), 1);
    assert_eq!(house.count("select count(*) from outbox"), 1);
    house.stop().await;
}

#[tokio::test]
async fn a_second_supervisor_on_the_same_data_is_refused() {
    let house = House::start(Plan::default()).await;
    let refused = house.second().await.unwrap_err();
    assert!(matches!(refused, RunError::DataDir(_)), "{refused}");
    assert!(refused.to_string().contains("another supervisor"), "{refused}");
    house.stop().await;
}
