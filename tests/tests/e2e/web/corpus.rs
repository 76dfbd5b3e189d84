//! The corpus' cases of `url_fetch`, each on a fresh server that may ask every public host, in a network
//! where what must not be asked would answer.

use std::fs;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use harness::ToolServer;
use harness::corpus::{self, Case, Expected};
use protocol::{Envelope, ErrorCode};
use serde_json::{Map, Value};

use super::network::{PUBLIC, in_a_network_of_its_own};
use super::site::{Asked, Reply, Site};

/// Where something listens that no fetch may reach, as `{PORT}`.
const LOCAL_PORT: u16 = 8099;

const TOKEN: &str = "FAKE-corpus/token+0123456789";

/// Codes that mean that the tool did not run, so they prove nothing.
const NOT_REACHED: [ErrorCode; 5] = [
    ErrorCode::UnknownTool,
    ErrorCode::CircuitOpen,
    ErrorCode::Internal,
    ErrorCode::ApprovalRequired,
    ErrorCode::Unauthorized,
];

fn cases() -> Vec<Case> {
    corpus::load().into_iter().filter(|case| case.tool == "url_fetch").collect()
}

fn server(variables: &[(&str, &str)]) -> ToolServer {
    let builder = ToolServer::builder()
        .token(TOKEN)
        .variable("AUTONOUS_TOOL_DISABLE_EXEC", "true")
        .variable("AUTONOUS_FETCH_ALLOWED_HOSTS", "*");
    builder.variables(variables).start()
}

/// What a step in words asks of the world: the answer of `/x`, the host that stands for `{TEST_HTTP}`, and
/// variables of the server.
fn world(case: &Case) -> (Option<Reply>, &'static str, Vec<(&'static str, String)>) {
    let local = format!("http://127.0.0.1:{LOCAL_PORT}");
    let plain = |reply| (Some(reply), "page.test", Vec::new());
    match case.steps.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] | ["two fetches"] => (None, "page.test", Vec::new()),
        [step] if step.starts_with("TEST_HTTP answers 302") => {
            plain(Reply::redirect(&format!("{local}/tools/bash")))
        }
        ["302 -> http://169.254.169.254/"] => plain(Reply::redirect("http://169.254.169.254/")),
        [step] if step.starts_with("resolver stub") => (None, "mixed.test", Vec::new()),
        [step] if step.starts_with("HTTP_PROXY") => {
            let names = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"];
            (None, "page.test", names.map(|name| (name, local.clone())).to_vec())
        }
        [step] if step.starts_with("Alt-Svc") => {
            let hint = format!("h3=\"127.0.0.1:{LOCAL_PORT}\"; ma=60, h2=\"127.0.0.1:{LOCAL_PORT}\"; ma=60");
            plain(Reply::status(200, &[("Alt-Svc", &hint), ("Content-Type", "text/plain")], "here"))
        }
        unknown => panic!("{}: unknown steps {unknown:?}", case.id),
    }
}

/// 200 MB of zeros, compressed twice.
fn bomb() -> Vec<u8> {
    let line = "head -c 200000000 /dev/zero | gzip -9 | gzip -9";
    let body = Command::new("sh").args(["-c", line]).output().unwrap().stdout;
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip, gzip\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.into_bytes(), body].concat()
}

fn filled(value: &Value, host: &str) -> Value {
    let text = serde_json::to_string(value).unwrap();
    let text = text.replace("{TEST_HTTP}", host).replace("{PORT}", &LOCAL_PORT.to_string());
    let text = text.replace("{SERVER_SECRET}", TOKEN);
    assert!(!text.contains("{TEST") && !text.contains("{SERVER"), "unknown placeholder in {text}");
    serde_json::from_str(&text).unwrap()
}

fn check(case: &Case, answer: &Envelope, took: Duration, pid: u32, reached: usize) {
    let id = &case.id;
    let body = serde_json::to_string(answer).unwrap();
    let code = answer.meta.error.as_ref().map(|error| error.code);
    assert!(code.is_none_or(|code| !NOT_REACHED.contains(&code)), "{id}: the tool did not run: {body}");
    let holds = case.right_outcomes().iter().any(|expected| match expected {
        Expected::Denied => code.is_some(),
        Expected::Ok => answer.ok,
        Expected::Contained => true,
    });
    assert!(holds, "{id} ({}): {body}", case.why);
    assert_eq!(reached, 0, "{id}: a private host was asked: {body}");
    for (name, wanted) in &case.check {
        let most = wanted.as_u64().unwrap_or_default();
        match name.as_str() {
            "server_saw_no_request_from_fetch" | "server_alive" => {}
            "body_not_contains" => {
                for text in wanted.as_array().unwrap() {
                    assert!(!body.contains(text.as_str().unwrap()), "{id}: {body}");
                }
            }
            "server_rss_mb_max" => assert!(peak_mb(pid) <= most, "{id}: {} MB", peak_mb(pid)),
            "max_ms" => assert!(took.as_millis() <= u128::from(most), "{id}: {took:?}"),
            "body_max_bytes" => assert!(body.len() as u64 <= most, "{id}: {} bytes", body.len()),
            unknown => panic!("{id}: unknown check {unknown}"),
        }
    }
}

fn peak_mb(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() >> 10
}

#[test]
fn every_case_of_the_corpus_about_url_fetch_holds() {
    in_a_network_of_its_own("web::corpus::every_case_of_the_corpus_about_url_fetch_holds", || {
        let local = Site::start("127.0.0.1", LOCAL_PORT, |_| Reply::html("<p>root:x:0:0 private</p>"));
        let special: Arc<Mutex<Option<Reply>>> = Arc::default();
        let (of_case, bomb) = (Arc::clone(&special), bomb());
        let answer = move |asked: &Asked| match asked.path.as_str() {
            "/x" => of_case.lock().unwrap().take().unwrap_or_else(|| Reply::html("<p>here</p>")),
            "/bomb.gzgz" => Reply::Bytes(bomb.clone()),
            "/endless" => Reply::Endless,
            "/liar" => Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"),
            "/cookie" => Reply::status(200, &[("Set-Cookie", "id=1; Path=/")], "x"),
            _ => Reply::html("<p>here</p>"),
        };
        let site = Site::start(PUBLIC, 80, answer);
        let cases = cases();
        assert!(cases.len() >= 28, "{}", cases.len());
        let mut attacks = 0;
        for case in &cases {
            let (reply, host, variables) = world(case);
            let variables: Vec<(&str, &str)> =
                variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let arguments = filled(&Value::Object(Map::clone(&case.args)), host);
            // Where private addresses may be asked, the attack works.
            let aims_here = arguments["url"].as_str().unwrap().contains(&format!(":{LOCAL_PORT}"))
                && case.category == "ssrf";
            if aims_here || case.id == "ssrf-059" {
                *special.lock().unwrap() = world(case).0;
                let open = server(&[("AUTONOUS_FETCH_ALLOW_PRIVATE", "true")]);
                let before = local.count();
                let answer = open.call("url_fetch", &arguments);
                assert_eq!(local.count(), before + 1, "{}: the attack works: {answer:?}", case.id);
                attacks += 1;
            }
            *special.lock().unwrap() = reply;
            let mut server = server(&variables);
            let (before, since) = (local.count(), Instant::now());
            let answer = server.call("url_fetch", &arguments);
            let took = since.elapsed();
            check(case, &answer, took, server.program().pid(), local.count() - before);
            if case.steps == ["two fetches"] {
                server.call("url_fetch", &filled(&serde_json::json!({"url": "http://{TEST_HTTP}/"}), host));
                assert_eq!(site.last().header("cookie"), None, "{}", case.id);
            }
            server.assert_alive(&case.id);
            assert!(server.stop().success(), "{}", case.id);
        }
        assert!(attacks >= 6, "{attacks} attacks were tried without the guard");
    });
}
