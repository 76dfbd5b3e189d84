//! Plans: of the steps that the model lists, or made by another model in one request with a schema; kept in
//! the conversation.

use harness::fake_model::KEY;
use harness::worker::task;
use harness::{FakeModel, FakeToolServer, ModelReply, Worker};
use protocol::event::{
    AgentCompleted, ContextAssembled, ModelRequestCompleted, PlanCreated, PlanUpdated, ToolCallFailed,
    ToolCallStarted, TurnStarted,
};
use protocol::{EarlierAttempts, Plan, PlanStep, StepStatus};
use serde_json::{Value, json};

use crate::{
    calls, last_messages, listed, model, owned, refuses, run, run_alone, run_with, says, started,
    tool_results, with,
};

/// A plan as the model writes it.
fn written(steps: &[(&str, &str)]) -> Value {
    let steps: Vec<Value> =
        steps.iter().map(|(step, status)| json!({"step": step, "status": status})).collect();
    let (risks, questions, completion) = (["time"], json!([]), "it works");
    json!({
        "summary": "Mend it.", "steps": steps, "risks": risks, "questions": questions,
        "completion": completion,
    })
}

fn two_steps() -> ModelReply {
    says(&written(&[("look", "in_progress"), ("mend", "pending")]).to_string())
}

fn plan_it() -> ModelReply {
    let arguments = r#"{"task":"mend it","max_steps":3,"style":"cautious","model":"fake-1"}"#;
    calls(&[("plan_create", arguments)])
}

fn update(arguments: &str) -> ModelReply {
    calls(&[("plan_update", arguments)])
}

fn names(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    tools.iter().filter_map(|tool| tool["function"]["name"].as_str()).collect()
}

#[test]
fn a_plan_of_the_callers_own_steps_takes_no_request() {
    let arguments = r#"{"task":"mend it","steps":["look","mend","test","tell","tidy","rest","end"]}"#;
    let replies = vec![calls(&[("plan_create", arguments)]), says("planned")];
    let (ended, model) = run_alone(replies, &[]);
    assert_eq!((ended.reply(), model.requests().len()), ("planned", 2));
    assert_eq!(ended.events_of::<ModelRequestCompleted>().len(), 0);
    let shown = "mend it\n1. [in progress] look\n2. [pending] mend\n3. [pending] test";
    assert!(tool_results(&model)[0].contains(shown), "{:?}", tool_results(&model));
    assert_eq!(ended.events_of::<PlanCreated>()[0].1.plan.steps.len(), 7);
}

#[test]
fn a_plan_is_made_by_one_request_and_updated_step_by_step() {
    let tools = FakeToolServer::start([]);
    let updates =
        [r#"{"step":1,"status":"completed","note":"found it"}"#, r#"{"step":2,"status":"completed"}"#];
    let replies = vec![plan_it(), two_steps(), update(updates[0]), update(updates[1]), says("mended")];
    let (ended, model) = run(replies, &tools, &[]);
    assert_eq!(ended.reply(), "mended");
    let requests = model.requests();
    assert_eq!(names(&requests[0]), ["bash", "ls", "plan_create"], "there is nothing to update");
    assert_eq!(names(&requests[2]), ["bash", "ls", "plan_create", "plan_update"]);
    let asked = &requests[1];
    assert_eq!(
        (names(asked), asked["response_format"]["json_schema"]["strict"].clone()),
        (vec![], json!(true))
    );
    let text = asked["messages"].to_string();
    assert!(
        text.contains("At most 3 steps") && text.contains("cautious") && text.contains("mend it"),
        "{text}"
    );
    assert!(
        requests.iter().enumerate().all(|(at, request)| request["response_format"].is_null() == (at != 1))
    );
    let shown = "Mend it.\n1. [in progress] look\n2. [pending] mend\nRisk: time\nDone when: it works";
    let results = tool_results(&model);
    assert!(results[0].contains(shown), "{results:?}");
    assert!(results[1].contains("[2/2] in progress: mend") && results[2].contains("[2/2] completed"));

    let (created, plan) = ended.events_of::<PlanCreated>()[0];
    assert_eq!(plan.plan.recap(), "[1/2] in progress: look; next: mend");
    let updated: Vec<_> =
        ended.events_of::<PlanUpdated>().iter().map(|(_, update)| update.plan.recap()).collect();
    assert_eq!(updated, ["[2/2] in progress: mend", "[2/2] completed"]);
    assert_eq!(ended.events_of::<PlanUpdated>()[0].1.note.as_deref(), Some("found it"));
    assert_eq!(created.parent_id.as_ref(), Some(&ended.events_of::<TurnStarted>()[0].0.id));
    assert_eq!(ended.events_of::<ToolCallStarted>().len(), 0, "a plan is no tool's work");

    let requested = ended.events_of::<ModelRequestCompleted>();
    let [(_, request)] = requested[..] else { panic!("{requested:?}") };
    let tokens = (request.input_tokens, request.cached_input_tokens, request.output_tokens);
    assert_eq!((request.purpose.as_str(), tokens), ("plan_create", (100, 60, 20)));
    let (_, AgentCompleted { totals, .. }) = ended.events_of::<AgentCompleted>()[0];
    assert_eq!((totals.turns, totals.input_tokens, totals.output_tokens), (4, 500, 100));
    assert_eq!(tools.calls().len(), 0);
}

#[test]
fn the_request_for_a_plan_counts_in_the_tasks_budget() {
    let settings = [("AUTONOUS_CONTROL_MAX_TOKENS", "100")];
    let (ended, model) = run_alone(vec![plan_it(), two_steps(), says("more")], &settings);
    assert!(ended.reply().contains("AUTONOUS_CONTROL_MAX_TOKENS"), "{}", ended.reply());
    assert_eq!(model.requests().len(), 2, "each took 60");
}

#[test]
fn an_unusable_plan_is_repaired_once_and_then_the_call_fails() {
    let bad = || {
        says(&written(&[("a", "pending"), ("b", "pending"), ("c", "pending"), ("d", "pending")]).to_string())
    };
    let repaired = vec![plan_it(), bad(), two_steps(), says("ok")];
    let (ended, model) = run_alone(repaired, &[]);
    assert_eq!((ended.reply(), ended.events_of::<PlanCreated>().len()), ("ok", 1));
    let told = model.requests()[2]["messages"].to_string();
    assert!(told.contains("it has 4 steps, and at most 3 are allowed"), "{told}");
    for (answer, why) in
        [("I would rather not.", "no JSON object"), ("{\"steps\": []}", "missing field `summary`")]
    {
        let failing = vec![plan_it(), says(answer), says(answer), says("without, then")];
        let (ended, model) = run_alone(failing, &[]);
        assert_eq!((ended.reply(), model.requests().len()), ("without, then", 4));
        let result = tool_results(&model).remove(0);
        assert!(result.contains("invalid plan response") && result.contains(why), "{result}");
        assert_eq!(ended.events_of::<PlanCreated>().len(), 0);
        assert_eq!(ended.events_of::<ModelRequestCompleted>().len(), 2);
    }
}

#[test]
fn a_server_that_takes_no_schema_is_asked_without_one() {
    let takes_none = |request: &Value| match (&request["response_format"], request["messages"].as_array()) {
        (Value::Object(_), _) => refuses(400, "unknown parameter: response_format"),
        (_, Some(messages)) if messages.iter().any(|message| message["role"] == "tool") => says("ok"),
        (_, _) if request["tools"].is_null() => two_steps(),
        (_, _) => plan_it(),
    };
    let (model, tools) = (FakeModel::start(takes_none), FakeToolServer::start([]));
    let ended = crate::worker(&model, &tools, &[]).run(&task("go"));
    assert_eq!((ended.reply(), ended.events_of::<PlanCreated>().len()), ("ok", 1));
    let without = model.requests()[2].to_string();
    assert!(
        without.contains(r#"\"completion\":{\"type\":\"string\"}"#),
        "the prompt has the schema: {without}"
    );
}

#[test]
fn the_json_protocol_makes_plans_too() {
    let arguments = json!({"task": "mend it", "model": "fake-1"});
    let call = json!({"tool_calls": [{"name": "plan_create", "arguments": arguments}]});
    let answer = says(r#"{"tool_calls":[],"final_answer":"ok"}"#);
    let settings = [("AUTONOUS_MODEL_TOOL_PROTOCOL", "json")];
    let replies = vec![says(&call.to_string()), two_steps(), answer];
    let (ended, _) = run_alone(replies, &settings);
    assert_eq!((ended.reply(), ended.events_of::<PlanCreated>().len()), ("ok", 1));
}

#[test]
fn another_model_makes_the_plan_if_the_call_names_it() {
    let first = model([calls(&[("plan_create", r#"{"task":"mend it","model":"thinker"}"#)]), says("ok")]);
    let second = model([two_steps()]);
    let run_first = |first: &FakeModel| {
        let more = "model = \"fake-1\"\napi_key_env = \"SOME_KEY\"";
        let models = listed("worker", "openai", first, more) + &listed("thinker", "openai", &second, more);
        run_with(&models, &[("SOME_KEY", KEY)])
    };
    let ended = run_first(&first);
    assert_eq!((ended.reply(), ended.events_of::<PlanCreated>().len()), ("ok", 1));
    assert_eq!((first.requests().len(), second.requests().len()), (2, 1));

    let first = model([calls(&[("plan_create", r#"{"task":"mend it","model":"nobody"}"#)]), says("ok")]);
    run_first(&first);
    let results = tool_results(&first);
    assert!(results[0].contains("no such model") && results[0].contains("thinker"), "{results:?}");
    assert_eq!(second.requests().len(), 1);
}

#[test]
fn what_cannot_be_done_with_a_plan_is_told_to_the_model() {
    for (arguments, part) in [
        (r#"{"step":1,"status":"completed"}"#, "NOT_FOUND: This task has no plan."),
        (r#"{"step":0,"status":"completed"}"#, "`step` must be at least 1"),
        (r#"{"step":1,"status":"done"}"#, "`status` must be one of"),
        (r#"{"status":"completed"}"#, "`step` is required"),
    ] {
        let (ended, model) = run_alone(vec![update(arguments), says("ok")], &[]);
        let result = tool_results(&model).remove(0);
        assert!(result.contains(part), "{arguments}: {result}");
        assert_eq!((ended.reply(), ended.events_of::<ToolCallFailed>().len()), ("ok", 0));
    }
    for (arguments, part) in [
        (r#"{"task":" "}"#, "`task` is empty"),
        (r#"{"task":"x","max_steps":21}"#, "`max_steps` must be at most 20"),
        (r#"{"max_steps":2}"#, "`task` is required"),
        (r#"{"task":"x"}"#, "`steps` is missing"),
        (r#"{"task":"x","steps":[]}"#, "`steps` needs at least 1"),
        (r#"{"task":"x","steps":[" "]}"#, "it has no step"),
        (r#"{"task":"x","steps":["a","b"],"max_steps":1}"#, "it has 2 steps, and at most 1"),
    ] {
        let replies = vec![calls(&[("plan_create", arguments)]), says("ok")];
        let (_, model) = run_alone(replies, &[]);
        let result = tool_results(&model).remove(0);
        assert!(result.contains(part), "{arguments}: {result}");
        assert_eq!(model.requests().len(), 2);
    }
    let replies = vec![plan_it(), two_steps(), update(r#"{"step":3,"status":"completed"}"#), says("ok")];
    let (_, model) = run_alone(replies, &[]);
    assert!(tool_results(&model)[1].contains("the plan has the steps 1 to 2"));
}

#[test]
fn a_tool_that_is_off_is_not_offered_and_says_why() {
    let settings = [("AUTONOUS_TOOL_DISABLED", "plan_create")];
    let (_, model) = run_alone(vec![plan_it(), says("ok")], &settings);
    assert_eq!(names(&model.requests()[0]), ["bash", "ls"]);
    let result = tool_results(&model).remove(0);
    assert!(
        result.contains("TOOL_NOT_ALLOWED") && result.contains("plan_create tool is disabled"),
        "{result}"
    );

    let tools = FakeToolServer::start([]);
    let mut worker = Worker::start(with(&tools, &[("AUTONOUS_MODEL_PROVIDER", "direct")]));
    let reply = worker.run(&task("/plan_create {\"task\":\"x\",\"steps\":[\"a\"]}")).reply().to_owned();
    assert!(reply.contains("1. [in progress] a"), "{reply}");
}

#[test]
fn a_plan_stays_in_a_conversation_that_outgrows_the_window_and_survives_an_attempt() {
    let tools = FakeToolServer::start([]);
    let look = |number: usize| owned(&[("ls", &format!(r#"{{"path":"{number}{}"}}"#, "x".repeat(2500)))]);
    let mut replies = vec![plan_it(), two_steps(), update(r#"{"step":1,"status":"completed"}"#)];
    replies.extend((0..12).map(|number| ModelReply::Calls(look(number))));
    replies.push(says("done"));
    let settings = [("AUTONOUS_MODEL_CONTEXT_TOKENS", "6000"), ("AUTONOUS_CONTROL_MAX_TURNS", "50")];
    let (model, mut worker) = started(replies, &tools, &settings);
    let ended = worker.run(&task("mend it"));
    let fitted = ended.events_of::<ContextAssembled>();
    assert!(fitted.iter().any(|(_, context)| matches!(context, ContextAssembled::Fitted(_))), "{fitted:?}");
    let messages = last_messages(&model);
    let calls_plan = |message: &&Value| message["tool_calls"].to_string().contains("plan_create");
    assert_eq!(messages.iter().filter(calls_plan).count(), 0, "its turn was dropped");
    let shown: Vec<&str> = messages.iter().filter_map(|message| message["content"].as_str()).collect();
    let plan = "Your plan, as far as it came:\nMend it.\n1. [completed] look\n2. [in progress] mend";
    assert_eq!(shown.iter().filter(|text| text.contains(plan)).count(), 1, "{shown:?}");

    let step = |step: &str, status| PlanStep { step: step.to_owned(), status };
    let steps = vec![step("look", StepStatus::Completed), step("mend", StepStatus::InProgress)];
    let plan = Plan { summary: "Mend it.".to_owned(), steps, ..Plan::default() };
    let (model, mut worker) =
        started([update(r#"{"step":2,"status":"completed"}"#), says("ok")], &tools, &[]);
    let mut again = task("mend it");
    (again.attempt, again.earlier) = (2, EarlierAttempts { plan: Some(plan), ..EarlierAttempts::default() });
    assert_eq!(worker.run(&again).reply(), "ok");
    let told = model.requests()[0]["messages"].to_string();
    assert!(told.contains("1. [completed] look\\n2. [in progress] mend"), "{told}");
    assert!(tool_results(&model)[0].contains("[2/2] completed"));
}
