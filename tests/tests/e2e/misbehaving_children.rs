//! Children that crash, lie, hang or refuse to exit, as the real ones never would: the real supervisor with
//! shell scripts for its two children.

use std::fs;
use std::path::Path;

use harness::{Request, System, wait};
use serde_json::{Value, json};

use crate::assert_says;

/// Shell functions for the worker scripts. `next` behaves as a worker that answers each task with its text in
/// capitals.
const WORKER: &str = r#"
field() { printf '%s' "$line" | sed 's/.*"'$1'":"\{0,1\}\([^",]*\).*/\1/'; }
ready() { echo '{"type":"heartbeat"}'; }
result() {
    echo '{"type":"result","task_id":"'$1'","attempt":'$2',"outcome":{"status":"done","reply":"'"$3"'"}}'
}
event() {
    printf %s '{"type":"event","event":{"id":"'$1'","parent_id":null,"task_id":"'$2'",'
    echo '"type":"'$3'","time_ms":1,"payload":'"${4-{\}}"'}}'
}
next() {
    ready
    while read -r line; do
        result "$(field task_id)" "$(field attempt)" "$(field text | tr a-z A-Z)"
    done
}
"#;

/// A tool server that only waits for its lifeline to close.
const TOOL_SERVER: &str = "cat >/dev/null";

fn start(worker: &str) -> System {
    start_with(worker, TOOL_SERVER)
}

fn start_with(worker: &str, tool_server: &str) -> System {
    System::builder()
        .scripted_children(&format!("{WORKER}{worker}"), tool_server)
        .workers(1)
        .variable("AUTONOUS_TASK_RETRY_BASE_MS", "10")
        .variable("AUTONOUS_TASK_MAX_ATTEMPTS", "2")
        .variable("AUTONOUS_TOOL_ENV", "NAMED")
        .variable("NAMED", "value")
        .variable("UNNAMED", "value")
        .variable("OPENAI_API_KEY", "model-key")
        .start()
}

fn wait_for_file(system: &System, name: &str) {
    let file = system.dir().programs().join(name);
    wait::until_true(&format!("{name} is written"), || file.exists());
}

#[test]
fn a_worker_that_dies_during_a_task_leads_to_one_reply() {
    let system = start(
        r#"if [ ! -e "$0.died" ]; then ready; read -r line; touch "$0.died"; kill -9 $$; fi
           next"#,
    );
    assert_eq!(system.reply(&system.say("hello")), "HELLO");
    let database = system.database();
    assert_eq!(database.count("select attempt from inbox"), 2);
    assert_eq!(database.count("select count(*) from outbox"), 1);
    assert_eq!(system.database().events_of("retry.scheduled"), 1);
    let ends = database.texts("select payload ->> 'status' from events where type = 'worker.exited'");
    assert_eq!(ends, ["signal 9"]);
}

#[test]
fn the_next_attempt_is_told_what_the_earlier_one_did() {
    let system = start(
        r#"ready
           read -r line
           id=$(field task_id)
           case "$line" in
           *'"earlier":{"calls":[],"summary":"half of it"}'*) result "$id" 2 'the rest'; cat >/dev/null ;;
           *'"earlier"'*) exit 1 ;;
           *) event e "$id" context.assembled '{"summary":"half of it"}'; kill -9 $$ ;;
           esac"#,
    );
    assert_eq!(system.reply(&system.say("hello")), "the rest");
    assert_eq!(system.database().count("select attempt from inbox"), 2);
}

#[test]
fn a_worker_that_sends_nonsense_is_killed_and_started_again() {
    let system = start(
        r#"if [ ! -e "$0.lied" ]; then touch "$0.lied"; echo nonsense; exec sleep 60; fi
           next"#,
    );
    assert_eq!(system.reply(&system.say("hello")), "HELLO");
}

#[test]
fn a_task_that_kills_every_worker_is_given_up_with_one_message() {
    let system = start("ready; read -r line; exit 3");
    let task = system.say("hello");
    let reply = system.reply(&task);
    assert!(reply.contains("exit 3") && reply.contains("2 times"), "{reply}");
    assert_eq!(system.database().task_states(), ["dead"]);
    assert_eq!(system.database().count("select count(*) from outbox"), 1);
}

#[test]
fn a_worker_is_not_believed_about_other_tasks_other_attempts_or_events_that_are_not_its_own() {
    let system = start(
        r#"ready
           read -r line
           id=$(field task_id)
           event a other turn.started
           event b "$id" tool_call.started
           event c "$id" task.done
           event d "$id" turn.started
           result other 1 no
           result "$id" 2 no
           result "$id" 1 yes
           cat >/dev/null"#,
    );
    assert_eq!(system.reply(&system.say("hello")), "yes");
    assert_eq!(system.database().texts("select id from events where length(id) = 1"), ["d"]);
}

#[test]
fn readiness_names_the_child_that_is_not_ready_and_tasks_are_answered_meanwhile() {
    for (tool_server, state) in [(TOOL_SERVER, "is starting"), ("exit 1", "is started again")] {
        let system = start_with("next", tool_server);
        let is_a_loop = || system.database().has_event("crash_loop.detected");
        wait::until_true("the crash loop is detected", || state != "is started again" || is_a_loop());
        assert_eq!(system.reply(&system.say("still here?")), "STILL HERE?");
        let readiness = system.control(Request::get("/readyz"));
        assert_eq!(readiness.status, 503, "{}", readiness.text());
        let tool_server = system.part("tool_server");
        assert_eq!(tool_server["state"], "failed");
        assert_says(&tool_server["detail"].to_string(), &[state]);
        assert_eq!(system.part("workers")["detail"], "1 of 1 ready");
    }
}

#[test]
fn a_child_sees_only_the_variables_and_secrets_on_its_own_list() {
    let dump = r#"env > "$0.env"; cat <&${AUTONOUS_SECRETS_FD} > "$0.secrets"; echo "$@" > "$0.arguments"
                  touch "$0.dumped""#;
    let system = start_with(&format!("{dump}; next"), &format!("{dump}; cat"));
    wait_for_file(&system, "agent-worker.dumped");
    wait_for_file(&system, "tool-server.dumped");
    let read = |name: &str| fs::read_to_string(system.dir().programs().join(name)).unwrap();
    let secrets = |name: &str| serde_json::from_str::<Value>(&read(name)).unwrap();
    let token = system.tokens().tool_token;
    let approver = &system.tokens().approver_token;
    let expected = json!({"AUTONOUS_TOOL_TOKEN": token, "AUTONOUS_TOOL_APPROVER_TOKEN": approver});
    assert_eq!(secrets("tool-server.secrets"), expected);
    let expected = json!({"AUTONOUS_TOOL_TOKEN": token, "OPENAI_API_KEY": "model-key"});
    assert_eq!(secrets("agent-worker.secrets"), expected);
    let names = |name: &str| {
        let text = read(name);
        let mut names: Vec<&str> = text.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
        // What the shell of the script adds by itself.
        names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name));
        names.sort_unstable();
        names.join(" ")
    };
    let expected = "AUTONOUS_LOG_FORMAT AUTONOUS_SECRETS_FD AUTONOUS_TOOL_URL RUST_LOG";
    assert_eq!(names("agent-worker.env"), expected);
    let expected = "AUTONOUS_DATA_DIR AUTONOUS_LOG_FORMAT AUTONOUS_SECRETS_FD AUTONOUS_SKILLS_DIR \
                    AUTONOUS_TOOL_ALLOWED_ROOTS AUTONOUS_TOOL_ENV AUTONOUS_TOOL_JOURNAL AUTONOUS_TOOL_LISTEN \
                    AUTONOUS_TOOL_OUTPUT_DIR LISTEN_FDS NAMED PATH RUST_LOG";
    assert_eq!(names("tool-server.env"), expected);
    assert_eq!(read("tool-server.arguments").trim(), "serve --lifeline");
}

#[test]
fn a_stop_kills_children_that_refuse_to_end_and_puts_their_task_back_in_the_queue() {
    let mut system = start("trap '' TERM INT; ready; read -r line; touch \"$0.busy\"; exec sleep 600");
    let task = system.say("hello");
    wait_for_file(&system, "agent-worker.busy");
    let pid = "select cast(payload ->> 'pid' as text) from events where payload ->> 'child' = 'agent-worker'";
    let process = Path::new("/proc").join(&system.database().texts(pid)[0]);
    assert!(process.exists(), "{}", process.display());
    assert!(system.stop().success());
    assert!(!process.exists(), "{}", process.display());
    system.dir().write_program("agent-worker", &format!("{WORKER}next"));
    system.restart();
    assert_eq!(system.reply(&task), "HELLO");
    assert_eq!(system.database().count("select attempt from inbox"), 2);
}

#[test]
fn a_worker_that_ignores_a_cancel_is_killed_and_the_task_is_cancelled() {
    let system = start("ready; read -r line; touch \"$0.busy\"; exec sleep 600");
    let task = system.say("hello");
    wait_for_file(&system, "agent-worker.busy");
    assert_eq!(system.control(Request::post(&format!("/tasks/{task}/cancel"), "")).status, 202);
    wait::until_true("the task is cancelled", || system.database().task_states() == ["cancelled"]);
    assert_eq!(system.database().count("select attempt from inbox"), 1);
    assert_eq!(system.database().count("select count(*) from outbox"), 1);
}
