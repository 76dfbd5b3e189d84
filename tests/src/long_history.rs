//! A long history, as months of work leave it: for what must stay small or quick with it.

use serde_json::{Value, json};

use crate::System;

/// The task with many events.
pub const LONG: &str = "0198c0de-0000-7000-8000-000000000001";

/// Adds tasks that are done, and one with many events.
pub fn fill(system: &System, tasks: u32, events: u32) {
    let done = (1..=tasks).map(|number| {
        let chat = format!("chat{}", number % 50);
        let text = format!("task number {number} with some words that say what to do");
        let times = format!("{number}, {number}, {number}, {}", number + 5);
        format!("('0198c0de-0000-7000-8000-{number:012}', 'local', '{chat}', '{text}', 'done', 1, {times})")
    });
    let event = |id: &str, parent: &str, kind: &str, time: u32, payload: &Value| {
        format!("('{id}', {parent}, '{LONG}', '{kind}', {time}, '{payload}')")
    };
    let root = event("root", "null", "task.claimed", 1, &json!({"attempt": 1}));
    let calls = (1..=events / 2).flat_map(|number| {
        let cmd = format!("echo {number}{}", "0".repeat(400));
        let started = json!({"tool_name": "bash", "risk": "medium", "session_id": "local:chat1",
            "arguments": {"cmd": cmd}});
        let ended = json!({"tool_name": "bash", "exit_code": 0, "output_text": "0".repeat(1800),
            "latency_ms": 3, "truncated_lines": false, "truncated_bytes": false,
            "session_id": "local:chat1"});
        let (call, end) = (format!("call{number}"), format!("end{number}"));
        [
            event(&call, "'root'", "tool_call.started", number, &started),
            event(&end, &format!("'{call}'"), "tool_call.completed", number + 1, &ended),
        ]
    });
    system.database().change(&format!(
        "begin;
         insert into inbox (id, channel, chat_id, text, state, attempt, available_at_ms, created_at_ms,
                            updated_at_ms, finished_at_ms) values {};
         insert into events (id, parent_id, task_id, type, time_ms, payload) values {};
         commit;",
        done.collect::<Vec<_>>().join(","),
        std::iter::once(root).chain(calls).collect::<Vec<_>>().join(","),
    ));
}
