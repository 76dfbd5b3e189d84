//! What a person must allow of the web: hosts that are not listed, and requests that send data.

use harness::http::Request;
use harness::{ToolServer, ToolServerBuilder};
use protocol::{Envelope, ErrorCode};
use serde_json::{Value, json};

use super::network::{PUBLIC, in_a_network_of_its_own};
use super::site::{Reply, Site};
use super::{assert_code, fetch};
use crate::policy::REQUIRED;

fn builder(variables: &[(&str, &str)]) -> ToolServerBuilder {
    ToolServer::builder().variable("AUTONOUS_TOOL_DISABLE_EXEC", "true").variables(variables)
}

fn asking(variables: &[(&str, &str)]) -> ToolServer {
    builder(variables).approver().start()
}

/// The request that a refused call made.
fn shown(server: &ToolServer, refused: &Envelope) -> Value {
    assert_eq!(refused.error_code(), REQUIRED, "{refused:?}");
    let id = refused.meta.data["approval_id"].as_str().unwrap();
    server.approval(id)
}

fn grant(server: &ToolServer, refused: &Envelope, scope: &str) {
    let id = shown(server, refused)["id"].as_str().unwrap().to_owned();
    let answer = server.decide(&id, &json!({"decision": "grant", "scope": scope}));
    assert_eq!(answer.status, 200, "{}", answer.text());
}

fn pending(server: &ToolServer) -> usize {
    let answer = server.as_approver(Request::get("/approvals?state=pending"));
    answer.json()["approvals"].as_array().unwrap().len()
}

fn catalogue(server: &ToolServer) -> Vec<String> {
    server.send(Request::get("/tools")).tool_names()
}

#[test]
fn a_host_that_is_not_listed_asks_and_a_yes_is_for_it_alone() {
    in_a_network_of_its_own(|| {
        let site = Site::start(PUBLIC, 80, |request| Reply::html(&format!("<p>{}</p>", request.path)));
        let mut server = asking(&[]);
        for tool in ["url_fetch", "web_search"] {
            assert!(catalogue(&server).iter().any(|name| name == tool), "{tool}");
        }
        let page = "http://page.test/a?b=c";
        let refused = fetch(&server, page);
        let asked = shown(&server, &refused);
        assert_eq!(asked["preview"], "asks page.test:\nGET http://page.test/a?b=c\n");
        assert_eq!(asked["hosts"], json!(["page.test"]));
        assert!(asked["reason"].as_str().unwrap().contains("not listed"), "{asked}");
        assert_eq!(site.count(), 0);
        // Once is once.
        grant(&server, &refused, "call");
        assert_eq!(fetch(&server, page).stdout, "/a?b=c\n");
        let refused = fetch(&server, page);
        // For a chat it is the host, and no other one, session or tool.
        grant(&server, &refused, "chat");
        for path in ["a?b=c", "b", "c"] {
            assert!(fetch(&server, &format!("http://page.test/{path}")).ok, "{path}");
        }
        let before = site.count();
        assert_eq!(fetch(&server, "http://other.test/").error_code(), REQUIRED);
        let elsewhere = Request::call("url_fetch", &json!({"url": page})).of_session("telegram:2");
        assert_eq!(server.send(elsewhere).envelope().error_code(), REQUIRED);
        let search = server.call("web_search", &json!({"q": "rust"}));
        let asked = shown(&server, &search);
        assert_eq!(asked["preview"], "searches at html.duckduckgo.com for:\nrust\n", "{asked}");
        assert_eq!(site.count(), before);
        // It is remembered over a restart.
        server.crash(|_| ());
        assert!(fetch(&server, "http://page.test/d").ok);
        assert_eq!(fetch(&server, "http://other.test/").error_code(), REQUIRED);
    });
}

#[test]
fn a_listed_host_is_asked_without_a_question() {
    in_a_network_of_its_own(|| {
        let long = (0..5000).map(|line| format!("<p>line {line}</p>")).collect::<String>();
        let site = Site::start(PUBLIC, 80, move |_| Reply::html(&long));
        for hosts in ["page.test", "*.test", "*"] {
            let server = asking(&[("AUTONOUS_FETCH_ALLOWED_HOSTS", hosts)]);
            assert!(fetch(&server, "http://page.test/").ok, "{hosts}");
            assert_eq!(pending(&server), 0, "{hosts}");
        }
        // The further pages of an allowed page ask no person, and no machine.
        let server = asking(&[]);
        grant(&server, &fetch(&server, "http://page.test/"), "call");
        let first = fetch(&server, "http://page.test/");
        let before = site.count();
        let next = json!({"url": "http://page.test/", "cursor": first.next_page_cursor.unwrap()});
        let second = server.call("url_fetch", &next);
        assert!(second.ok && second.meta.data["from_cache"] == true, "{second:?}");
        assert_eq!((site.count(), pending(&server)), (before, 0));
    });
}

#[test]
fn what_sends_data_asks_also_at_a_listed_host_and_shows_all_of_it() {
    in_a_network_of_its_own(|| {
        let site = Site::start(PUBLIC, 80, |_| Reply::html("<p>thanks</p>"));
        let url = "http://page.test/";
        let long = format!("{url}?q={}", "x".repeat(1000));
        let body = format!("{{\"text\":\"{}\"}}", "data ".repeat(2000));
        let sending = [
            ("POST", json!({"url": url, "method": "POST", "body": body})),
            ("POST without a body", json!({"url": url, "method": "POST"})),
            ("PUT", json!({"url": url, "method": "PUT", "body": "a"})),
            ("PATCH", json!({"url": url, "method": "PATCH", "body": "a"})),
            ("DELETE", json!({"url": url, "method": "DELETE"})),
            ("a long query", json!({"url": long})),
            ("a long header", json!({"url": url, "headers": {"X-Note": "x".repeat(1000)}})),
        ];
        let server = asking(&[("AUTONOUS_FETCH_ALLOWED_HOSTS", "*")]);
        for (name, arguments) in &sending {
            let refused = server.call("url_fetch", arguments);
            let asked = shown(&server, &refused);
            assert_eq!(asked["reason"], "it sends data to another machine", "{name}");
            let preview = asked["preview"].as_str().unwrap();
            for part in ["method", "url", "body"] {
                let part = arguments[part].as_str().unwrap_or_default();
                assert!(preview.contains(part), "{name}: {preview}");
            }
        }
        assert_eq!(site.count(), 0);
        let (_, post) = &sending[0];
        grant(&server, &server.call("url_fetch", post), "call");
        assert_eq!(server.call("url_fetch", post).stdout, "thanks\n");
        assert_eq!(site.last().body, body);
        assert_eq!(server.call("url_fetch", post).error_code(), REQUIRED, "a yes is for one call");
        // A yes for pages of the host covers nothing that is sent to it.
        let server = asking(&[]);
        grant(&server, &fetch(&server, url), "chat");
        assert!(fetch(&server, url).ok);
        assert_eq!(server.call("url_fetch", post).error_code(), REQUIRED);
        // A rule can allow it, and requests without a body work as before.
        let allow =
            "[[rule]]\ncircumstances = [\"sends_data\"]\nhosts = [\"page.test\"]\ndecision = \"allow\"\n";
        let server = builder(&[("AUTONOUS_FETCH_ALLOWED_HOSTS", "*")]).policy(allow).start();
        assert!(server.call("url_fetch", post).ok);
        let elsewhere = json!({"url": "http://other.test/", "method": "POST"});
        assert_eq!(server.call("url_fetch", &elsewhere).error_code(), REQUIRED);
    });
}

#[test]
fn a_redirect_leads_to_no_host_that_was_not_allowed() {
    in_a_network_of_its_own(|| {
        let site = Site::start(PUBLIC, 80, |request| match request.path.as_str() {
            "/away" => Reply::redirect("http://other.test/end"),
            "/near" => Reply::redirect("/end"),
            _ => Reply::html("<p>end</p>"),
        });
        let go = |server: &ToolServer, path: &str| fetch(server, &format!("http://page.test/{path}"));
        let server = asking(&[]);
        grant(&server, &go(&server, "near"), "chat");
        assert!(go(&server, "near").ok);
        let refused = go(&server, "away");
        assert_code(&refused, ErrorCode::UrlBlocked, "other.test is not among the hosts");
        assert!(refused.meta.error.unwrap().hint.contains("with that address itself"));
        grant(&server, &fetch(&server, "http://other.test/end"), "call");
        assert!(fetch(&server, "http://other.test/end").ok);
        // Where all are listed a redirect is followed, but not past a rule about hosts.
        let all = [("AUTONOUS_FETCH_ALLOWED_HOSTS", "*")];
        assert!(go(&asking(&all), "away").ok, "the way is open without a rule");
        let rule = "[[rule]]\nhosts = [\"other.test\"]\ndecision = \"deny\"\n";
        let server = builder(&all).policy(rule).start();
        let before = site.count();
        assert_code(&fetch(&server, "http://other.test/end"), ErrorCode::ToolNotAllowed, "denies");
        assert_code(&go(&server, "away"), ErrorCode::UrlBlocked, "a redirect leads to another host");
        assert_eq!((site.count(), site.last().host()), (before + 1, "page.test"));
        assert!(go(&server, "near").ok);
    });
}

#[test]
fn nobody_is_asked_about_what_could_not_be_allowed() {
    in_a_network_of_its_own(|| {
        let near = Site::start(super::network::PRIVATE, 80, |_| Reply::html("<p>private</p>"));
        let server =
            asking(&[("AUTONOUS_FETCH_ALLOW_PRIVATE", "true"), ("AUTONOUS_FETCH_ALLOWED_HOSTS", "x.test")]);
        for url in [
            "http://127.0.0.1/", "http://localhost/", "http://10.9.9.9/", "http://[::ffff:7f00:1]/",
            "http://page.test:6379/", "file:///etc/passwd",
        ] {
            assert_code(&fetch(&server, url), ErrorCode::UrlBlocked, "is blocked");
            let sent = server.call("url_fetch", &json!({"url": url, "method": "POST"}));
            assert_code(&sent, ErrorCode::UrlBlocked, "is blocked");
        }
        let header = json!({"url": "http://page.test/", "headers": {"Cookie": "a=b"}});
        assert_code(&server.call("url_fetch", &header), ErrorCode::InvalidArgument, "Cookie");
        let body = json!({"url": "http://page.test/", "body": "a"});
        assert_code(&server.call("url_fetch", &body), ErrorCode::InvalidArgument, "`body`");
        assert_eq!(pending(&server), 0);
        // What only its name server knows is found out after the yes, which is no yes to a private address.
        grant(&server, &fetch(&server, "http://private.test/"), "call");
        assert_code(&fetch(&server, "http://private.test/"), ErrorCode::UrlBlocked, "not public");
        assert_eq!(near.count(), 0);
        let open =
            [("AUTONOUS_FETCH_ALLOW_PRIVATE", "true"), ("AUTONOUS_FETCH_ALLOWED_HOSTS", "private.test")];
        assert!(fetch(&asking(&open), "http://private.test/").ok, "the operator can allow it");
    });
}

#[test]
fn without_an_approver_what_would_ask_is_refused() {
    let check = |variables: &[(&str, &str)], approver: bool| {
        let builder = builder(variables);
        let builder = if approver { builder.approver() } else { builder };
        let mut server = builder.start();
        let pid = server.program().pid();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        (server, children.split_whitespace().count())
    };
    // No host is listed and no person can be asked: there is no tool, and no process for it.
    let (server, children) = check(&[], false);
    assert!(!catalogue(&server).contains(&"url_fetch".to_owned()));
    assert_code(&fetch(&server, "http://page.test/"), ErrorCode::UrlBlocked, "no host may be asked");
    let (with_approver, more) = check(&[], true);
    assert!(catalogue(&with_approver).contains(&"url_fetch".to_owned()));
    assert_eq!(more, children + 1);
    let (off, none) = check(&[("AUTONOUS_TOOL_DISABLED", "url_fetch,web_search")], true);
    assert_eq!(none, children, "a process that no tool needs");
    drop(off);
    // One is listed: another is refused with the line that would send it again.
    let (server, _) = check(&[("AUTONOUS_FETCH_ALLOWED_HOSTS", "page.test")], false);
    let refused = fetch(&server, "http://other.test/");
    assert_eq!(refused.error_code(), REQUIRED, "{refused:?}");
    assert!(refused.meta.data["approval_id"].is_null());
    assert!(refused.meta.data["replay"]["curl"].as_str().unwrap().contains("other.test"));
    // The command line says which rule decides.
    let test = |tool: &str, json: &str| {
        let output = server.run_command(&["policy", "test", tool, json]);
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    for (json, expected) in [
        (r#"{"url": "http://page.test/"}"#, "allow (no rule"),
        (r#"{"url": "http://other.test/"}"#, "ask (it asks a host that is not listed"),
        (r#"{"url": "http://page.test/", "method": "POST"}"#, "ask (it sends data"),
    ] {
        let said = test("url_fetch", json);
        assert!(said.contains(expected), "{json}: {said}");
    }
    assert!(test("web_search", r#"{"q": "x"}"#).contains("ask (it asks a host"));
}
