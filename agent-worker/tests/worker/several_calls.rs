//! Several calls in one reply: what runs at once, what waits, and in which order the model sees it.

use protocol::ToWorker;

use crate::model_server::{ModelServer, calls, says};
use crate::process::{Worker, soon, task};
use crate::tool_server::{Next, ToolServer};

#[tokio::test]
async fn looks_run_at_once_and_their_results_keep_the_order_of_the_calls() {
    // Each is answered only when all three have arrived: one after the other they would wait for ever.
    let tools = ToolServer::start([Next::Once(3), Next::Once(3), Next::Once(3)]).await;
    let three = calls(&[("ls", "{}"), ("ls", r#"{"path":"b"}"#), ("ls", r#"{"path":"c"}"#)]);
    let model = ModelServer::start([three, says("done")]).await;
    let ended = Worker::start(&model.variables(&tools.url)).run(&task("look")).await;
    assert_eq!(ended.reply(), "done");
    assert_eq!(model.tool_results(), ["exit 0\na.txt"; 3]);
    let messages = model.requests()[1]["messages"].as_array().unwrap().clone();
    let ids: Vec<&str> = messages.iter().filter_map(|message| message["tool_call_id"].as_str()).collect();
    assert_eq!(ids, ["call_a", "call_b", "call_c"]);
}

#[tokio::test]
async fn a_look_behind_a_change_waits_for_it_and_is_not_said_to_have_begun() {
    let tools = ToolServer::start([Next::Once(1), Next::Silence]).await;
    let model = ModelServer::start([calls(&[("ls", "{}"), ("bash", "{}"), ("ls", "{}")])]).await;
    let mut worker = Worker::start(&model.variables(&tools.url));
    let task = task("change");
    worker.send_task(&task).await;
    soon(async {
        while tools.calls().len() < 2 {
            tools.called().await;
        }
    })
    .await;
    worker.send(&ToWorker::Cancel { task_id: task.task_id.clone() }).await;
    let ended = worker.ended(&task).await;
    let done = "Done so far:\n- ls {}: exit 0\n- bash {}: was running, its outcome is unknown\n\nThe last";
    assert!(ended.reply().contains(done), "{}", ended.reply());
    assert_eq!(tools.calls().len(), 2);
}
