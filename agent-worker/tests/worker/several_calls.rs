//! Several calls in one reply: what runs at once, what waits, and in which order the model sees it.

use harness::worker::task;
use harness::{FakeToolServer, ToolReply};

use crate::{calls, run, says, started, tool_results};

#[test]
fn looks_run_at_once_and_their_results_keep_the_order_of_the_calls() {
    // Each is answered only when all three have arrived: one after the other they would wait for ever.
    let tools =
        FakeToolServer::start([ToolReply::AfterCalls(3), ToolReply::AfterCalls(3), ToolReply::AfterCalls(3)]);
    let three = calls(&[("ls", "{}"), ("ls", r#"{"path":"b"}"#), ("ls", r#"{"path":"c"}"#)]);
    let (ended, model) = run(vec![three, says("done")], &tools, &[]);
    assert_eq!(ended.reply(), "done");
    assert_eq!(tool_results(&model), ["exit 0\na.txt"; 3]);
    let messages = model.requests()[1]["messages"].as_array().unwrap().clone();
    let ids: Vec<&str> = messages.iter().filter_map(|message| message["tool_call_id"].as_str()).collect();
    assert_eq!(ids, ["call_1_0", "call_1_1", "call_1_2"]);
}

#[test]
fn a_look_behind_a_change_waits_for_it_and_is_not_said_to_have_begun() {
    let tools = FakeToolServer::start([ToolReply::AfterCalls(1), ToolReply::Silent]);
    let (_model, mut worker) = started([calls(&[("ls", "{}"), ("bash", "{}"), ("ls", "{}")])], &tools, &[]);
    let task = task("change");
    worker.send_task(&task);
    tools.wait_for_calls(2);
    worker.cancel(&task);
    let ended = worker.wait_for_result(&task);
    let done = "Done so far:\n- ls {}: exit 0\n- bash {}: was running, its outcome is unknown\n\nThe last";
    assert!(ended.reply().contains(done), "{}", ended.reply());
    assert_eq!(tools.calls().len(), 2);
}
