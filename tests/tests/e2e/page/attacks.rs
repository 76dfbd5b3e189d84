//! Attacks on the page: each is refused with a reason, and logged.

use harness::System;
use harness::http::{self, Request};
use serde_json::json;

use super::{form, get, page};
use crate::assert_says;

const READING: [&str; 10] = [
    "/", "/chat", "/chat/main", "/tasks", "/files", "/tools", "/usage", "/schedules", "/settings",
    "/approvals",
];

#[test]
fn without_the_cookie_every_view_leads_to_the_sign_in_and_nothing_is_done() {
    let system = System::start();
    let task = system.run_task("ls path=.");
    let paths = READING.iter().map(ToString::to_string).chain([
        format!("/tasks/{task}"),
        "/live/now".to_owned(),
        "/files/raw?session=local:local&path=x".to_owned(),
    ]);
    for path in paths {
        for cookie in ["", "autonous_session=", "autonous_session=0000"] {
            let answer = get(&system, &path, cookie);
            assert_eq!(
                (answer.status, answer.header("location")),
                (303, Some("/sign-in")),
                "{path} {cookie}"
            );
        }
    }
    for path in [format!("/act/tasks/{task}/requeue"), "/act/undo".to_owned(), "/tools/ls/try".to_owned()] {
        let answer = system.ask_openly(form(&system, &path, "force=true", "autonous_session=0000"));
        assert_eq!(answer.status, 401, "{path}: {}", answer.text());
        assert!(answer.text().contains("You are not signed in"), "{}", answer.text());
    }
    assert_eq!(system.database().count("select count(*) from inbox where requeues > 0"), 0);
}

#[test]
fn another_site_or_another_port_can_make_a_browser_do_nothing() {
    let system = System::start();
    let task = system.run_task("ls path=.");
    let cookie = system.signed_in();
    let path = format!("/act/tasks/{task}/requeue");
    let own = system.tokens().control_url;
    let request = |origin: Option<&str>, site: Option<&str>| {
        let request = Request::post(&path, "force=true")
            .header("Content-Type", "application/x-www-form-urlencoded")
            .header("Cookie", &cookie);
        let request = origin.into_iter().fold(request, |request, origin| request.header("Origin", origin));
        site.into_iter().fold(request, |request, site| request.header("Sec-Fetch-Site", site))
    };
    for (origin, site) in [
        (Some("https://evil.example"), Some("cross-site")),
        // A server that an agent runs on this machine has the same host, and gets the same cookie.
        (Some("http://127.0.0.1:3000"), Some("same-site")),
        (Some("null"), None),
        (None, None),
        (None, Some("none")),
        (Some(own.as_str()), Some("same-site")),
        (Some(own.as_str()), Some("cross-site")),
    ] {
        let answer = system.ask_openly(request(origin, site));
        assert_eq!(answer.status, 403, "{origin:?} {site:?}: {}", answer.text());
    }
    assert_eq!(system.database().count("select count(*) from inbox where requeues > 0"), 0);
    system.until_logged("refused an action that does not come from the page");
    let allowed = system.ask_openly(request(Some(&own), Some("same-origin")));
    assert_eq!(allowed.status, 303, "{}", allowed.text());
    assert_eq!(system.database().count("select count(*) from inbox where requeues > 0"), 1);
}

#[test]
fn a_name_that_was_bound_to_this_machine_reaches_nothing() {
    let system = System::start();
    let cookie = system.signed_in();
    let port = http::address_of(&system.tokens().control_url).port();
    for host in [format!("evil.example:{port}"), format!("autonous.localhost.evil.example:{port}")] {
        let request = Request::get("/").without("Host").header("Host", &host).header("Cookie", &cookie);
        assert_eq!(system.ask_openly(request).status, 403, "{host}");
    }
    let own = format!("autonous.localhost:{port}");
    let request = Request::get("/").without("Host").header("Host", &own).header("Cookie", &cookie);
    assert_eq!(system.ask_openly(request).status, 200, "the name for browsers is ours");
}

#[test]
fn each_page_forbids_frames_foreign_content_and_being_kept() {
    let system = System::start();
    let cookie = system.signed_in();
    for path in READING.iter().chain(&["/sign-in"]) {
        let answer = get(&system, path, &cookie);
        assert_eq!(answer.status, 200, "{path}");
        let policy = answer.header("content-security-policy").unwrap_or_default();
        let shown = format!("{path}: {policy}");
        assert_says(&shown, &["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"]);
        assert_says(&shown, &["form-action 'self'"]);
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(answer.header("x-frame-options"), Some("DENY"), "{path}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
        assert!(!answer.text().contains(" style="), "{path} has a style that the policy forbids");
        let token = system.tokens().control_token;
        assert!(!answer.text().contains(&token), "{path} has the token");
    }
}

#[test]
fn a_link_works_once_and_an_address_alone_never_again() {
    let system = System::start();
    let own = system.tokens().control_url;
    let link = system.page_link();
    let path = link.strip_prefix(&own).expect("the link is ours").to_owned();
    let first = system.ask_openly(Request::get(&path));
    let set = first.header("set-cookie").unwrap_or_default().to_owned();
    assert_says(&set, &["autonous_session=", "HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=604800"]);
    let again = system.ask_openly(Request::get(&path));
    assert_eq!((again.status, again.header("set-cookie")), (401, None));
    assert!(again.text().contains("This link was used"), "{}", again.text());
    let invented = system.ask_openly(Request::get("/session?once=0000"));
    assert_eq!((invented.status, invented.header("set-cookie")), (401, None));
    system.until_logged("a link to sign in at the page was used before");
    let tls =
        Request::get(system.page_link().strip_prefix(&own).unwrap()).header("X-Forwarded-Proto", "https");
    let set = system.ask_openly(tls).header("set-cookie").unwrap_or_default().to_owned();
    assert!(set.ends_with("; Secure"), "{set}");
}

#[test]
fn ten_thousand_wrong_tokens_are_refused_and_the_right_one_waits() {
    let system = System::start();
    let token = system.tokens().control_token;
    let attempt = |token: &str| system.ask_openly(form(&system, "/session", &format!("token={token}"), ""));
    let (mut wrong, mut too_many) = (0, 0);
    for number in 0..10_000 {
        let answer = attempt(&format!("FAKE-{number}"));
        assert_eq!(answer.header("set-cookie"), None);
        match answer.status {
            401 => wrong += 1,
            429 => too_many += 1,
            other => panic!("{other}: {}", answer.text()),
        }
    }
    // The minute may be over once or twice in between.
    assert!(wrong < 1000 && too_many > 9000, "{wrong} wrong, {too_many} too many");
    assert_eq!(attempt(&token).status, 429, "no token is looked at");
    system.until_logged("wrong tokens within a minute at the page");
    assert!(!system.log().contains("FAKE-1"), "no token is logged");
    // A link is another way in, which cannot be guessed.
    system.signed_in();
}

#[test]
fn signing_out_ends_the_session_everywhere() {
    let system = System::start();
    let [one, other] = [system.signed_in(), system.signed_in()];
    let ended = system.ask_openly(form(&system, "/session/end", "", &one));
    assert_eq!((ended.status, ended.header("location")), (303, Some("/sign-in")));
    assert_eq!(get(&system, "/", &one).status, 303);
    page(&system, "/", &other);
    assert_eq!(system.shown(&["sign-out"]).trim(), "Ended 1 session of the page.");
    assert_eq!(get(&system, "/", &other).status, 303);
    assert_eq!(
        system.ask_openly(Request::get(&system.page_link()[system.tokens().control_url.len()..])).status,
        200
    );
}

#[test]
fn with_the_page_switched_off_there_is_nothing_of_it() {
    let system = System::builder().variable("AUTONOUS_PAGE", "false").start();
    for path in READING.iter().chain(&["/sign-in", "/session?once=1", "/assets/page.js"]) {
        let answer = system.ask_openly(Request::get(path));
        assert!(matches!(answer.status, 401 | 404 | 405), "{path}: {} {}", answer.status, answer.text());
        assert_eq!(answer.header("set-cookie"), None, "{path}");
    }
    let said = system.refused(&["open", "--print"]);
    assert_says(&said, &["the page is switched off", "AUTONOUS_PAGE"]);
}

#[test]
fn a_program_with_the_token_still_gets_json_where_the_page_has_the_same_route() {
    let system = System::start();
    let answer = system.control(Request::get("/approvals"));
    assert_eq!((answer.status, &answer.json()["approvals"]), (200, &json!([])));
    let refused = system.ask_openly(Request::get("/approvals").bearer("FAKE-wrong"));
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (401, &json!("UNAUTHORIZED")));
    let called = system.control(Request::call("ls", &json!({"path": "."})));
    assert_eq!(called.status, 200, "{}", called.text());
}
