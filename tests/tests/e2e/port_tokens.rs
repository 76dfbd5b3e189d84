//! The tokens of the two ports that the operator gives: one of the tool server that outlives restarts, and
//! one of the control port that only reads.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use harness::leftovers::everything_below;
use harness::project_copy::workspace;
use harness::{Answer, Request, System, environment, http};
use serde_json::json;

use crate::assert_says;

const TOOL: &str = "FAKE-tool-token-that-stays";
const READING: &str = "FAKE-token-that-only-reads";

#[test]
fn a_given_tool_token_stays_over_restarts_and_is_in_no_environment() {
    let dir = harness::TestDir::new();
    let file = dir.path().join("tool-token");
    fs::write(&file, format!("{TOOL}\n")).unwrap();
    for (name, value) in [("AUTONOUS_TOOL_TOKEN", TOOL), ("AUTONOUS_TOOL_TOKEN_FILE", file.to_str().unwrap())]
    {
        let mut system = System::builder().variable(name, value).start();
        let before = system.tokens();
        for is_restarted in [false, true] {
            if is_restarted {
                assert!(system.stop().success());
                system.restart();
            }
            assert_eq!(system.shown(&["token", "tool"]).trim(), TOOL);
            let asked = Request::get("/tools").bearer(TOOL);
            let answer = asked.send(http::address_of(&system.tokens().tool_url));
            assert_eq!(answer.status, 200, "{}", answer.text());
            // The worker calls with it.
            assert_says(&system.reply(&system.say("ls path=.")), &["exit 0"]);
        }
        assert_ne!(system.tokens().approver_token, before.approver_token, "that one is made at each start");
        assert!(!system.log().contains("is ignored") && !system.log().contains(TOOL));
        let pids = system.children().into_iter().map(|child| child.pid).chain([system.supervisor_pid()]);
        for pid in pids {
            let variables = environment(pid).unwrap_or_default();
            assert!(!variables.contains(TOOL), "{pid}: {variables}");
        }
    }
}

#[test]
fn a_tool_token_that_is_weak_or_opens_the_control_port_as_well_is_refused() {
    for (name, value) in [("AUTONOUS_CONTROL_TOKEN", TOOL), ("AUTONOUS_PAGE", "true")] {
        let tool = if value == TOOL { TOOL } else { "short" };
        let builder = System::builder().variable(name, value).variable("AUTONOUS_TOOL_TOKEN", tool);
        let stderr = builder.start_refused().stderr;
        assert_says(&stderr, &["AUTONOUS_TOOL_TOKEN"]);
        assert!(stderr.contains("8 to 256") || stderr.contains("another token than"), "{stderr}");
        assert!(!stderr.contains(tool), "{stderr}");
    }
}

/// What a route does with the token that only reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// It answers.
    Read,
    /// It needs the control token.
    Kept,
    /// It is the page's, which wants a session.
    Page,
    /// It is open to everybody.
    Open,
}

use Class::{Kept, Open, Page, Read};

/// Each route of the control port.
const CLASSES: &[(&str, &str, Class)] = &[
    ("GET", "/", Page),
    ("POST", "/act/approvals/{id}", Page),
    ("POST", "/act/resend", Page),
    ("POST", "/act/schedules/cancel", Page),
    ("POST", "/act/tasks/{id}/cancel", Page),
    ("POST", "/act/tasks/{id}/requeue", Page),
    ("POST", "/act/undo", Page),
    ("GET", "/approvals", Read),
    ("GET", "/approvals/stream", Read),
    ("GET", "/approvals/{id}", Read),
    ("POST", "/approvals/{id}", Kept),
    ("GET", "/assets/{name}", Open),
    ("GET", "/calls/{id}", Page),
    ("GET", "/calls/{id}/output", Page),
    ("GET", "/chat", Page),
    ("GET", "/chat/open", Page),
    ("GET", "/chat/{chat}", Page),
    ("POST", "/chat/{chat}", Page),
    ("GET", "/chats", Kept),
    ("POST", "/chats/move", Kept),
    ("GET", "/favicon.ico", Open),
    ("GET", "/files", Page),
    ("GET", "/files/raw", Page),
    ("POST", "/journal/accept", Kept),
    ("GET", "/live/{view}", Page),
    ("GET", "/live/{view}/{id}", Page),
    ("GET", "/livez", Open),
    ("POST", "/messages", Kept),
    ("GET", "/messages/{task_id}", Read),
    ("GET", "/messages/{task_id}/words", Read),
    ("GET", "/metrics", Read),
    ("GET", "/nodes", Read),
    ("POST", "/nodes/drain", Kept),
    ("POST", "/nodes/resume", Kept),
    ("POST", "/outbox", Kept),
    ("POST", "/outbox/resend", Kept),
    ("GET", "/outbox/{outbox_id}", Read),
    ("GET", "/page-files/{id}", Page),
    ("POST", "/pair", Kept),
    ("POST", "/prune", Kept),
    ("GET", "/readyz", Open),
    ("GET", "/schedules", Page),
    ("GET", "/session", Page),
    ("POST", "/session", Page),
    ("POST", "/session/end", Page),
    ("POST", "/session/end-all", Kept),
    ("POST", "/session/link", Kept),
    ("GET", "/settings", Page),
    ("GET", "/sign-in", Open),
    ("GET", "/status", Read),
    ("GET", "/tasks", Page),
    ("POST", "/tasks/requeue", Kept),
    ("GET", "/tasks/{id}", Page),
    ("POST", "/tasks/{task_id}/cancel", Kept),
    ("POST", "/tasks/{task_id}/requeue", Kept),
    ("GET", "/tools", Page),
    ("GET", "/tools/{name}", Page),
    ("POST", "/tools/{name}", Kept),
    ("POST", "/tools/{name}/try", Page),
    ("POST", "/undo", Kept),
    ("POST", "/unpair", Kept),
    ("GET", "/usage", Page),
];

/// The routes in the sources of the supervisor, each with its method.
fn routes_in_sources() -> BTreeSet<(String, String)> {
    let mut routes = BTreeSet::new();
    for file in ["control/mod.rs", "channels/local/mod.rs", "page/mod.rs"] {
        let source = fs::read_to_string(workspace().join("supervisor/src").join(file)).unwrap();
        for found in source.split(".route(").skip(1) {
            let (path, methods) = found.trim_start().strip_prefix('"').unwrap().split_once('"').unwrap();
            let methods = methods.split(".layer(").next().unwrap().split('\n').next().unwrap();
            let mut named: Vec<&str> = [("GET", "get("), ("POST", "post("), ("PUT", "put(")]
                .into_iter()
                .filter_map(|(method, word)| methods.contains(word).then_some(method))
                .collect();
            // The page adds to a route that programs have.
            if named.is_empty() {
                assert_eq!(methods, ", tool);", "{path}: of which method is it?");
                named.push("GET");
            }
            routes.extend(named.into_iter().map(|method| (method.to_owned(), path.to_owned())));
        }
    }
    routes
}

fn all_routers() -> Vec<String> {
    let root = workspace().join("supervisor/src");
    let has_routes = |path: &PathBuf| {
        !path.ends_with("tests.rs") && fs::read_to_string(path).is_ok_and(|text| text.contains(".route("))
    };
    let files = everything_below(&root).into_iter().filter(has_routes);
    files.map(|path| path.strip_prefix(&root).unwrap().display().to_string()).collect()
}

fn ask(system: &System, (method, path): (&str, &str), token: Option<&str>) -> Answer {
    let request = Request::new(method, path).header("Content-Type", "application/json");
    system.ask_openly(token.into_iter().fold(request, Request::bearer))
}

#[test]
fn each_route_is_known_and_the_token_that_only_reads_opens_those_that_read() {
    let known = CLASSES.iter().map(|(method, path, _)| ((*method).to_owned(), (*path).to_owned()));
    assert_eq!(routes_in_sources(), known.collect(), "say in CLASSES what each route does");
    assert_eq!(all_routers(), ["channels/local/mod.rs", "control/mod.rs", "page/mod.rs"]);
    let system = System::builder().variable("AUTONOUS_CONTROL_READ_TOKEN", READING).start();
    let task = system.run_task("ls path=.");
    for (method, path, class) in CLASSES.iter().filter(|(_, path, _)| *path != "/approvals/stream") {
        let path = path.replace("{task_id}", &task);
        let path = path.replace("{name}", "ls").replace("{view}", "now").replace("{id}", &task);
        // Nothing is written, so nothing newer is waited for.
        let path = path.replace("/words", "/words?after=1");
        let path = path.replace("{outbox_id}", "1").replace("{chat}", "local:local");
        let answer = ask(&system, (method, &path), Some(READING));
        let (status, text) = (answer.status, answer.text());
        let is_right = match class {
            Read => status == 200 || status == 404 && text.contains("NOT_FOUND") || text.contains("such"),
            Kept => status == 403 && text.contains("READ_ONLY_TOKEN"),
            Page => [303, 401, 403, 415].contains(&status),
            Open => status == 200 || status == 404,
        };
        assert!(is_right, "{method} {path} is {class:?}, but answers {status}: {text}");
        assert!(!text.contains(&system.tokens().control_token), "{path}");
    }
}

#[test]
fn a_token_that_only_reads_signs_nobody_in_reveals_nothing_and_is_as_secret_as_the_other() {
    let system = System::builder().variable("AUTONOUS_CONTROL_READ_TOKEN", READING).start();
    let status = ask(&system, ("GET", "/status"), Some(READING));
    assert_eq!(status.status, 200, "{}", status.text());
    assert!(!status.text().contains(READING), "{}", status.text());
    assert_eq!(ask(&system, ("GET", "/metrics"), Some(READING)).status, 200);
    assert_eq!(ask(&system, ("GET", "/status"), Some("FAKE-token-that-is-wrong")).status, 401);
    assert_eq!(ask(&system, ("GET", "/status"), None).status, 401);
    let revealed = "/approvals/01939b3e-0000-7000-8000-000000000000?reveal=true";
    assert_eq!(ask(&system, ("GET", revealed), Some(READING)).status, 403);
    let form = Request::post("/session", format!("token={READING}"))
        .header("Content-Type", "application/x-www-form-urlencoded")
        .header("Origin", &system.tokens().control_url);
    let signed = system.ask_openly(form);
    assert!([401, 403].contains(&signed.status) && signed.header("set-cookie").is_none(), "{signed:?}");
    let message = ask(&system, ("POST", "/messages"), Some(READING)).json();
    assert_eq!(message["error"]["code"], json!("READ_ONLY_TOKEN"));
    assert_says(message["error"]["hint"].as_str().unwrap(), &["supervisor token control"]);
    let variables = environment(system.supervisor_pid()).unwrap_or_default();
    assert!(!variables.contains(READING), "{variables}");
    let same = System::builder()
        .variable("AUTONOUS_CONTROL_TOKEN", READING)
        .variable("AUTONOUS_CONTROL_READ_TOKEN", READING);
    assert_says(&same.start_refused().stderr, &["AUTONOUS_CONTROL_READ_TOKEN", "another token than"]);
}
