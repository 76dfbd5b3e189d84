//! Calls that a person must approve, by HTTP alone: asking, waiting, deciding, and what a decision covers.

mod document;

use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use harness::http::Request;
use harness::tool_server::APPROVER;
use harness::{ToolServer, ToolServerBuilder, wait};
use protocol::{Envelope, ErrorCode};
use serde_json::{Value, json};

use crate::{ASKS_ABOUT_WRITE, assert_says, lines_of, records};

const CALLER: &str = "FAKE-caller-token";

/// A server that asks about `write`, `delete` and `git push`.
fn builder() -> ToolServerBuilder {
    let more = "[[rule]]\ntools = [\"delete\"]\ndecision = \"ask\"\nreason = \"it deletes\"\n\
                [[rule]]\ncommands = [\"sort\"]\ndecision = \"ask\"\nreason = \"it reads\"\n";
    ToolServer::builder().token(CALLER).approver().policy(&format!("{ASKS_ABOUT_WRITE}{more}"))
}

const REQUIRED: Option<ErrorCode> = Some(ErrorCode::ApprovalRequired);
const DENIED: Option<ErrorCode> = Some(ErrorCode::ApprovalDenied);

fn pending(server: &ToolServer) -> Vec<Value> {
    let answer = server.as_approver(Request::get("/approvals?state=pending"));
    answer.json()["approvals"].as_array().unwrap().clone()
}

/// The only request that waits, once there is one.
fn the_pending(server: &ToolServer) -> Value {
    wait::until("a request waits", || pending(server).first().cloned())
}

/// Its ID.
fn pending_id(server: &ToolServer) -> String {
    the_pending(server)["id"].as_str().unwrap().to_owned()
}

fn grant(server: &ToolServer, id: &str) {
    let answer = server.decide(id, &json!({"decision": "grant", "by": "Ada"}));
    assert_eq!(answer.status, 200, "{}", answer.text());
}

fn id_of(envelope: &Envelope) -> String {
    envelope.meta.data["approval_id"].as_str().unwrap().to_owned()
}

/// A call in a task.
fn in_task(tool: &str, arguments: &Value, task: &str) -> Request {
    Request::call(tool, arguments).of_session("telegram:1").header("X-Task-Id", task)
}

/// Sends a call that waits.
fn waiting(server: &ToolServer, request: Request, seconds: u32) -> JoinHandle<Envelope> {
    let address = server.address();
    let request = request
        .header("Authorization", &format!("Bearer {CALLER}"))
        .header("Prefer", &format!("respond-async, wait={seconds}"));
    thread::spawn(move || request.send(address).envelope())
}

const TASK: &str = "0198c0de-0000-7000-8000-00000000000a";
const OTHER_TASK: &str = "0198c0de-0000-7000-8000-00000000000b";

fn write(path: &str, content: &str) -> Value {
    json!({"path": path, "content": content})
}

/// Event types of the journal that are about approvals.
fn recorded(server: &ToolServer) -> Vec<String> {
    let types = records::<Value>(server.dir()).into_iter().map(|record| record["type"].clone());
    types.filter_map(|name| name.as_str()?.strip_prefix("approval.").map(str::to_owned)).collect()
}

#[test]
fn the_story_by_http_alone_ask_show_decide_run_once() {
    let server = builder().start();
    let request = || Request::call("write", &write("a", "one\n")).header("X-Parent-Event-Id", TASK);
    let answer = server.send(request());
    assert_eq!(answer.status, 403);
    let refused = answer.envelope();
    assert_eq!(refused.error_code(), REQUIRED);
    assert!(!server.root().join("a").exists());
    let shown = the_pending(&server);
    let id = id_of(&refused);
    assert_eq!(shown["id"], id);
    for (field, expected) in [
        ("state", json!("pending")),
        ("tool", json!("write")),
        ("risk", json!("high")),
        ("arguments", write("a", "one\n")),
        ("reason", json!("it writes")),
        ("rule", json!("policy.toml, line 1")),
        ("session", json!("default")),
        ("token", json!("caller")),
        ("expires_at_ms", refused.meta.data["expires_at_ms"].clone()),
    ] {
        assert_eq!(shown[field], expected, "{field}: {shown}");
    }
    assert!(shown["preview"].as_str().unwrap().contains("+one"), "{shown}");
    assert_eq!(shown["digest"].as_str().unwrap().len(), 64);
    // The same call is not asked about a second time.
    assert_eq!(id_of(&server.send(request()).envelope()), id);
    let one = server.approval(&id);
    assert_eq!(one, shown);
    grant(&server, &id);
    assert!(pending(&server).is_empty());
    let done = server.send(request()).envelope();
    assert!(done.ok, "{done:?}");
    assert_eq!(fs::read_to_string(server.root().join("a")).unwrap(), "one\n");
    let used = server.approval(&id);
    assert_eq!((&used["state"], &used["decision"]["by"]), (&json!("used"), &json!("Ada")));
    // A yes is for one call.
    fs::remove_file(server.root().join("a")).unwrap();
    let again = server.send(request()).envelope();
    assert_eq!(again.error_code(), REQUIRED);
    assert_ne!(id_of(&again), id);
    assert_eq!(recorded(&server), ["requested", "granted", "used", "requested"]);
}

#[test]
fn a_call_waits_for_its_decision_and_gets_it_at_once() {
    let server = builder().start();
    let call = waiting(&server, Request::call("write", &write("a", "x")), 60);
    let id = pending_id(&server);
    let decided = Instant::now();
    grant(&server, &id);
    let done = call.join().unwrap();
    assert!(done.ok, "{done:?}");
    assert!(decided.elapsed() < Duration::from_secs(5), "{:?}", decided.elapsed());
    let call = waiting(&server, Request::call("write", &write("b", "x")), 60);
    let denial = json!({"decision": "deny", "reason": "not on Fridays", "by": "Ada"});
    assert_eq!(server.decide(&pending_id(&server), &denial).status, 200);
    let denied = call.join().unwrap();
    assert_eq!(denied.error_code(), DENIED);
    assert_says(&denied.meta.error.unwrap().message, &["not on Fridays", "Ada"]);
    assert!(!server.root().join("b").exists());
    // The same call again gets the same answer, and asks no person.
    assert_eq!(server.call("write", &write("b", "x")).error_code(), DENIED);
    assert!(pending(&server).is_empty());
    // A wait that ends names the request that still waits.
    let call = waiting(&server, Request::call("write", &write("c", "x")), 1).join().unwrap();
    assert_eq!(call.error_code(), REQUIRED);
    assert_eq!(pending_id(&server), id_of(&call));
    let bad = Request::call("write", &write("c", "x")).header("Prefer", "wait=soon");
    assert_eq!(server.send(bad).envelope().error_code(), Some(ErrorCode::InvalidArgument));
}

#[test]
fn two_waiting_calls_that_are_the_same_are_one_request_and_one_yes_runs_one_of_them() {
    let server = builder().start();
    let append = json!({"path": "log", "content": "x\n", "mode": "append"});
    let calls: Vec<_> = (0..2).map(|_| waiting(&server, Request::call("write", &append), 5)).collect();
    let id = pending_id(&server);
    // Both wait for the same approval: there is one question while it is undecided.
    thread::sleep(Duration::from_millis(300));
    assert_eq!(pending(&server).len(), 1);
    grant(&server, &id);
    let answers: Vec<Envelope> = calls.into_iter().map(|call| call.join().unwrap()).collect();
    let ran = answers.iter().filter(|answer| answer.ok).count();
    assert_eq!(ran, 1, "{answers:?}");
    assert_eq!(fs::read_to_string(server.root().join("log")).unwrap(), "x\n");
}

#[test]
fn the_first_of_two_approvers_decides_and_the_second_is_told() {
    let server = builder().start();
    let id = id_of(&server.call("write", &write("a", "x")));
    let granted = AtomicU32::new(0);
    thread::scope(|scope| {
        for decision in ["grant", "deny"] {
            let (server, id, granted) = (&server, &id, &granted);
            scope.spawn(move || {
                let answer = server.decide(id, &json!({"decision": decision, "by": decision}));
                if answer.status == 200 {
                    granted.fetch_add(1, Ordering::Relaxed);
                } else {
                    assert_eq!(answer.status, 409, "{}", answer.text());
                    let envelope = answer.envelope();
                    assert_eq!(envelope.error_code(), Some(ErrorCode::ApprovalDecided));
                    let first = envelope.meta.data["decision"]["by"].as_str().unwrap().to_owned();
                    assert_ne!(first, decision);
                    assert!(envelope.meta.error.unwrap().message.contains(&first));
                }
            });
        }
    });
    assert_eq!(granted.load(Ordering::Relaxed), 1);
    assert_eq!(server.decide(&id, &json!({"decision": "grant"})).status, 409, "a late tap");
}

#[test]
fn a_yes_is_bound_to_arguments_session_task_and_files() {
    let server = builder().start();
    fs::write(server.root().join("script"), "echo harmless").unwrap();
    let run = json!({"cmd": "sort script"});
    let base = || in_task("bash", &run, TASK);
    let id = id_of(&server.send(base()).envelope());
    grant(&server, &id);
    // Something else with the same yes.
    for other in [
        in_task("bash", &json!({"cmd": "sort script "}), TASK),
        in_task("bash", &json!({"cmd": "sort script", "timeout_seconds": 5}), TASK),
        in_task("bash", &run, OTHER_TASK),
        base().of_session("telegram:2"),
    ] {
        assert_eq!(server.send(other.clone()).envelope().error_code(), REQUIRED, "{other:?}");
    }
    // The file changes between the yes and the run.
    fs::write(server.root().join("script"), "echo evil").unwrap();
    let changed = server.send(base()).envelope();
    assert_eq!(changed.error_code(), REQUIRED);
    assert_ne!(id_of(&changed), id);
    fs::write(server.root().join("script"), "echo harmless").unwrap();
    let done = server.send(base()).envelope();
    assert_eq!((done.ok, done.stdout.as_str()), (true, "echo harmless\n"), "{done:?}");
    // What a path leads to is part of it.
    fs::create_dir_all(server.root().join("one")).unwrap();
    fs::create_dir_all(server.root().join("two")).unwrap();
    std::os::unix::fs::symlink("one", server.root().join("link")).unwrap();
    let into = || in_task("write", &write("link/file", "x"), TASK);
    grant(&server, &id_of(&server.send(into()).envelope()));
    fs::remove_file(server.root().join("link")).unwrap();
    std::os::unix::fs::symlink("two", server.root().join("link")).unwrap();
    assert_eq!(server.send(into()).envelope().error_code(), REQUIRED);
    assert!(!server.root().join("two/file").exists());
}

#[test]
fn a_yes_for_a_task_or_a_chat_covers_its_tool_and_rule_there_and_nothing_else() {
    let server = builder().start();
    let call = |tool: &str, arguments: Value, session: &str, task: &str| {
        let request = in_task(tool, &arguments, task).of_session(session);
        server.send(request).envelope().error_code()
    };
    let id = id_of(&server.send(in_task("write", &write("a", "1"), TASK)).envelope());
    assert_eq!(server.decide(&id, &json!({"decision": "grant", "scope": "task"})).status, 200);
    for content in ["1", "2", "3"] {
        let append = json!({"path": "n", "content": content, "mode": "append"});
        assert_eq!(call("write", append, "telegram:1", TASK), None);
    }
    assert_eq!(call("write", write("a", "1"), "telegram:1", OTHER_TASK), REQUIRED);
    assert_eq!(call("bash", json!({"cmd": "sort n"}), "telegram:1", TASK), REQUIRED);
    // A chat, until a time.
    let id = id_of(&server.send(in_task("bash", &json!({"cmd": "sort n"}), TASK)).envelope());
    let until = protocol::now_ms() + 3_000;
    let scope = json!({"decision": "grant", "scope": "chat", "until_ms": until});
    assert_eq!(server.decide(&id, &scope).status, 200);
    assert_eq!(call("bash", json!({"cmd": "sort n"}), "telegram:1", OTHER_TASK), None);
    assert_eq!(call("bash", json!({"cmd": "sort n"}), "telegram:2", TASK), REQUIRED);
    assert_eq!(call("write", write("z", "1"), "telegram:1", OTHER_TASK), REQUIRED);
    let sort = || call("bash", json!({"cmd": "sort n"}), "telegram:1", OTHER_TASK);
    wait::until_true("the yes has ended", || sort() == REQUIRED);
    assert!(protocol::now_ms() >= until);
    // What makes no sense is refused.
    let id = id_of(&server.call("write", &write("b", "1")));
    for (bad, says) in [
        (json!({"decision": "grant", "scope": "task"}), "belongs to no task"),
        (json!({"decision": "deny", "scope": "chat"}), "`call`"),
        (json!({"decision": "grant", "until_ms": 1}), "`chat` alone"),
        (json!({"decision": "grant", "scope": "chat", "until_ms": 1}), "after now"),
        (json!({"decision": "maybe"}), "not understood"),
        (json!({"decision": "grant", "extra": 1}), "not understood"),
        (json!({"decision": "grant", "by": "x".repeat(300)}), "200 characters"),
    ] {
        let answer = server.decide(&id, &bad);
        assert_eq!(answer.status, 400, "{bad}");
        assert_says(&answer.text(), &[says]);
    }
    assert_eq!(pending(&server).iter().filter(|one| one["id"] == id).count(), 1);
}

#[test]
fn nobody_decides_in_time() {
    let server = builder().variable("AUTONOUS_APPROVAL_TIMEOUT_SECONDS", "1").start();
    let expired = waiting(&server, Request::call("write", &write("a", "x")), 3600).join().unwrap();
    assert_eq!(expired.error_code(), REQUIRED);
    assert_says(&expired.meta.error.as_ref().unwrap().message, &["nobody decided in time"]);
    let late = server.decide(&id_of(&expired), &json!({"decision": "grant"}));
    assert_eq!(late.status, 409, "{}", late.text());
    assert_says(&late.text(), &["expired"]);
    // A yes that no call used in time ends as well.
    let id = id_of(&server.call("write", &write("a", "x")));
    grant(&server, &id);
    wait::until_true("it has ended", || server.approval(&id)["state"] == "expired");
    assert_eq!(server.call("write", &write("a", "x")).error_code(), REQUIRED);
    assert!(!server.root().join("a").exists());
    assert_eq!(recorded(&server)[..2], ["requested", "expired"]);
}

#[test]
fn only_the_approvers_token_decides_and_it_cannot_call() {
    let server = builder().start();
    let id = id_of(&server.call("write", &write("a", "x")));
    let one = format!("/approvals/{id}");
    let yes = json!({"decision": "grant"});
    for request in [
        Request::get("/approvals"),
        Request::get("/approvals/stream"),
        Request::get(&one),
        Request::post_json(&one, &yes),
        Request::post_json(&one, &yes).header("Authorization", "Bearer FAKE-guessed"),
        Request::post_json(&one, &yes).header("Authorization", ""),
    ] {
        let answer = server.send(request.clone());
        assert_eq!(answer.status, 401, "{request:?}: {}", answer.text());
    }
    let call = server.as_approver(Request::call("ls", &json!({})));
    assert_eq!(call.status, 401, "{}", call.text());
    assert_eq!(server.as_approver(Request::get("/approvals/nonsense")).status, 404);
    let unknown = server.decide(TASK, &yes);
    assert_eq!((unknown.status, unknown.envelope().error_code()), (404, Some(ErrorCode::NotFound)));
    assert_eq!(server.as_approver(Request::get("/approvals?state=lost")).status, 400);
    // Where callers need no token, the approver's is still none of a caller.
    let open = ToolServer::builder().approver().start();
    assert!(open.call("ls", &json!({})).ok);
    assert_eq!(open.as_approver(Request::call("ls", &json!({}))).status, 401);
    assert_eq!(open.send(Request::get("/approvals")).status, 401);
}

#[test]
fn a_server_that_is_killed_while_a_call_waits_goes_on_with_the_same_request() {
    let mut server = builder().start();
    let key = "0198c0de-0000-7000-8000-0000000000ff";
    let request = || Request::call("write", &write("a", "x")).header("Idempotency-Key", key);
    let call = waiting(&server, request(), 60);
    let id = pending_id(&server);
    let granted = id_of(&server.call("write", &write("granted", "x")));
    grant(&server, &granted);
    server.crash(|_| {});
    assert!(call.join().is_err(), "its connection is gone");
    assert_eq!(pending_id(&server), id);
    // The next attempt finds it, with the key of the call that never ran.
    let call = waiting(&server, request(), 60);
    grant(&server, &id);
    assert!(call.join().unwrap().ok);
    assert!(server.call("write", &write("granted", "x")).ok, "a yes survives");
    server.crash(|_| {});
    assert_eq!(server.approval(&id)["state"], "used");
    let replayed = server.send(request()).envelope();
    assert!(replayed.ok, "the key has its answer: {replayed:?}");
    let append = json!({"path": "a", "content": "x", "mode": "append"});
    assert_eq!(server.call("write", &append).error_code(), REQUIRED);
}

#[test]
fn a_flood_of_requests_is_bounded_and_told() {
    let server = builder().start();
    let call = |session: &str, name: usize| {
        let arguments = write(&format!("f{name}"), "x");
        server.send(Request::call("write", &arguments).of_session(session))
    };
    for name in 0..20 {
        assert_eq!(call("a", name).envelope().error_code(), REQUIRED);
    }
    let answer = call("a", 20);
    assert_eq!((answer.status, answer.header("retry-after").is_some()), (503, true), "{}", answer.text());
    assert!(answer.envelope().error_code() == Some(ErrorCode::Overloaded));
    assert_eq!(pending(&server).len(), 20);
    assert_eq!(call("b", 0).envelope().error_code(), REQUIRED, "other sessions go on");
    assert_eq!(call("a", 3).envelope().error_code(), REQUIRED, "a request that waits is no new one");
}

#[test]
fn nobody_is_asked_about_a_call_that_would_fail_anyway() {
    let server = builder().start();
    for (tool, arguments, expected) in [
        ("delete", json!({"path": "missing"}), ErrorCode::NotFound),
        ("write", write(".env", "x"), ErrorCode::PathDenied),
        ("write", write("/etc/passwd", "x"), ErrorCode::PathOutsideRoots),
        ("write", json!({"path": 1}), ErrorCode::InvalidArgument),
    ] {
        assert_eq!(server.call(tool, &arguments).error_code(), Some(expected), "{tool} {arguments}");
    }
    assert!(pending(&server).is_empty());
}

#[test]
fn secrets_are_not_shown_and_the_commands_of_a_line_are() {
    let server = builder().start();
    let line = format!("cd . && sort x | grep {CALLER}");
    server.call("bash", &json!({"cmd": line}));
    let shown = the_pending(&server);
    assert!(!shown.to_string().contains(CALLER), "{shown}");
    let preview = shown["preview"].as_str().unwrap();
    assert_says(preview, &["runs `cd` `.`", "runs `sort` `x`"]);
    assert!(!preview.contains("redirections"), "{preview}");
    server.decide(shown["id"].as_str().unwrap(), &json!({"decision": "deny"}));
    server.call("bash", &json!({"cmd": "sort x > y"}));
    assert_says(the_pending(&server)["preview"].as_str().unwrap(), &["with redirections into files"]);
}

#[test]
fn an_event_stream_tells_what_happens() {
    let server = builder().start();
    let request = Request::get("/approvals/stream").header("Authorization", &format!("Bearer {APPROVER}"));
    let mut lines = lines_of(&request, server.address());
    let mut next = |prefix: &str| {
        let line = lines.find(|line| line.starts_with(prefix)).unwrap();
        line[prefix.len()..].trim().to_owned()
    };
    assert_eq!(next(": "), "listening");
    let id = id_of(&server.call("write", &write("a", "x")));
    assert_eq!(next("event: "), "requested");
    let data: Value = serde_json::from_str(&next("data: ")).unwrap();
    assert_eq!((&data["id"], &data["state"]), (&json!(id), &json!("pending")));
    grant(&server, &id);
    assert_eq!(next("event: "), "decided");
    assert!(server.call("write", &write("a", "x")).ok);
    assert_eq!(next("event: "), "used");
    // A listener does not keep the server from ending.
    let since = Instant::now();
    server.stop();
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
}

/// What a question hides is noted with its length and place; the approver alone can see it, and only while
/// the request waits.
#[test]
fn the_approver_sees_what_is_hidden_and_no_file_has_it() {
    const SECRET: &str = "FAKEx1y2z3a4b5c6d7e8";
    let rules = "[[rule]]\ntools = [\"bash\", \"url_fetch\"]\ndecision = \"ask\"\nreason = \"it acts\"\n";
    let builder = ToolServer::builder().token(CALLER).approver();
    let builder = builder.variable("AUTONOUS_FETCH_ALLOWED_HOSTS", "a.example");
    let mut server = builder.policy(rules).start();
    let fetch = json!({"url": format!("https://a.example/x?q=1&token={SECRET}")});
    let command = json!({"cmd": format!("API_KEY={SECRET} true")});
    let revealing = |id: &str| Request::get(&format!("/approvals/{id}?reveal=true"));
    let at = |server: &ToolServer, id: &str| server.as_approver(revealing(id));
    let mut ids = Vec::new();
    for (tool, arguments, note) in
        [("url_fetch", &fetch, "query parameter `token`]"), ("bash", &command, "value of `API_KEY`]")]
    {
        let id = id_of(&server.call(tool, arguments));
        let shown = server.as_approver(Request::get(&format!("/approvals/{id}"))).text();
        assert!(!shown.contains(SECRET), "{shown}");
        assert!(shown.contains(&format!("[hidden: 20 characters, {note}")), "{note}: {shown}");
        let revealed = at(&server, &id).json();
        assert_eq!(revealed["arguments"], *arguments, "{revealed}");
        let as_caller = server.send(revealing(&id));
        assert!(as_caller.status >= 400 && !as_caller.text().contains(SECRET), "{}", as_caller.text());
        ids.push(id);
    }
    // It is nowhere but in memory.
    let files = Command::new("grep").args(["-rl", SECRET]).arg(server.dir().data()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&files.stdout), "");
    server.crash(|_| {});
    assert_eq!(at(&server, &ids[1]).status, 409);
    assert_eq!(id_of(&server.call("bash", &command)), ids[1], "the same call asks nobody a second time");
    assert_eq!(at(&server, &ids[1]).json()["arguments"], command);
    grant(&server, &ids[1]);
    assert_eq!(at(&server, &ids[1]).status, 409, "what was decided is not kept");
}
