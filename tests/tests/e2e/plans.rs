//! Plans over the whole system: in the tree and the usage, after a kill, and in what a chat sees.

use std::sync::mpsc;

use harness::fake_telegram::update::ADA;
use harness::{FakeModel, FakeTelegram, ModelReply, System, wait};
use serde_json::json;

const PLAN: &str = r#"{"summary":"Count the files.","steps":[{"step":"look","status":"in_progress"},
    {"step":"count","status":"pending"}],"risks":[],"questions":[],"completion":"A number is told."}"#;

/// A model that plans, completes the first step, waits for the test before its third turn, and completes the
/// second one.
fn planner(go_on: mpsc::Receiver<()>) -> FakeModel {
    FakeModel::start(move |request| {
        if request["response_format"].is_object() {
            return ModelReply::text(PLAN);
        }
        let messages = request["messages"].to_string();
        let update =
            |step: u32| ModelReply::call("plan_update", &json!({"step": step, "status": "completed"}));
        if messages.contains("[2/2] completed") {
            return ModelReply::text("Two files.");
        }
        if messages.contains("[2/2] in progress: count") || messages.contains("1. [completed] look") {
            let _ = go_on.recv_timeout(wait::SOON);
            return update(2);
        }
        if messages.contains("1. [in progress] look") {
            return update(1);
        }
        ModelReply::call("plan_create", &json!({"task": "count the files", "model": "fake-1"}))
    })
}

fn requests_for(model: &FakeModel, part: &str) -> usize {
    model.requests().iter().filter(|request| request.to_string().contains(part)).count()
}

#[test]
fn a_plan_is_in_the_tree_counts_as_usage_and_survives_the_kill_of_its_worker() {
    let (go_on, waiting) = mpsc::channel();
    let model = planner(waiting);
    let system = System::builder().model(&model).workers(1).start();
    let task = system.say("how many files are there?");
    wait::until_true("the first step is done", || requests_for(&model, "[2/2] in progress") == 1);
    system.kill_child("agent-worker");
    go_on.send(()).unwrap();
    wait::until_true("the next attempt is told the plan", || {
        requests_for(&model, r"1. [completed] look\n2. [in progress] count") > 0
    });
    go_on.send(()).unwrap();
    assert_eq!(system.reply(&task), "Two files.");
    assert_eq!(model.requests().iter().filter(|request| request["response_format"].is_object()).count(), 1);

    let tree = "select parent.type || ' ' || planned.type from events as planned
                join events as parent on parent.id = planned.parent_id
                where planned.type like 'plan.%' order by planned.seq";
    let under = |event: &str| format!("turn.started {event}");
    assert_eq!(
        system.database().texts(tree),
        [under("plan.created"), under("plan.updated"), under("plan.updated")]
    );
    let shown = system.shown(&["tree", "--task", &task]);
    assert!(shown.contains("plan.created") && shown.contains("plan.updated"), "{shown}");
    let usage = system.shown_json(&["usage", "--json"])["usage"][0].clone();
    let counted = "select sum(cast(payload ->> 'input_tokens' as bigint)) from events
                   where type in ('turn.completed', 'model_request.completed')";
    assert_eq!(usage["input_tokens"], json!(system.database().count(counted)), "{usage}");
    let turns = "select count(*) from events where type = 'turn.completed'";
    assert_eq!(usage["turns"], json!(system.database().count(turns)), "{usage}");
    assert_eq!(system.database().events_of("model_request.completed"), 1);
}

#[test]
fn a_chat_in_telegram_sees_the_step_that_is_worked_on() {
    let (go_on, waiting) = mpsc::channel();
    let (telegram, model) = (FakeTelegram::start(), planner(waiting));
    let _system = System::builder().telegram(&telegram, "4711").model(&model).start();
    telegram.push(ADA.text("how many files are there?"));
    let shown = || telegram.progress().iter().any(|sent| sent.text.contains("\n[2/2] in progress: count"));
    wait::until_true("the progress message has the step", shown);
    go_on.send(()).unwrap();
    wait::until_true("it is answered", || {
        telegram.sent().iter().any(|sent| sent.text.contains("Two files."))
    });
}

#[test]
fn the_operator_turns_the_workers_tools_off_by_the_setting_of_all_tools() {
    let model = FakeModel::telling(ModelReply::call("plan_create", &json!({"task": "x"})));
    let builder = System::builder().variable("AUTONOUS_TOOL_DISABLED", "plan_create,bash");
    let system = builder.model(&model).start();
    let reply = system.reply(&system.say("plan"));
    assert!(reply.contains("TOOL_NOT_ALLOWED") && reply.contains("plan_create tool is disabled"), "{reply}");
    let tools = model.requests()[0]["tools"].to_string();
    assert!(!tools.contains("plan_create") && !tools.contains("\"bash\"") && tools.contains("\"ls\""));
    assert_eq!(system.database().count("select count(*) from events where type like 'plan.%'"), 0);
}
