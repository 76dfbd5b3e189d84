//! What keeps failing is paused for itself alone: dead links stop no other page, and a dead search service
//! stops no page at all.

use protocol::{Envelope, ErrorCode};
use serde_json::json;

use super::network::{PRIVATE, PUBLIC, in_a_network_of_its_own};
use super::site::{Reply, Site};
use super::{assert_code, fetch, server, with};

/// Fails three times and is paused then.
fn assert_paused(mut ask: impl FnMut() -> Envelope, machine: &str) {
    for _ in 0..3 {
        assert_code(&ask(), ErrorCode::IoError, "");
    }
    let paused = ask();
    assert_code(&paused, ErrorCode::CircuitOpen, machine);
    assert!(paused.meta.error.unwrap().hint.contains("another host"));
}

#[test]
fn dead_links_stop_no_other_page() {
    in_a_network_of_its_own(|| {
        let long: String = (0..5000).map(|line| format!("<p>line {line}</p>")).collect();
        let site = Site::start(PUBLIC, 80, move |request| match request.path.as_str() {
            "/missing" => Reply::status(404, &[("Content-Type", "text/plain")], "gone"),
            "/broken" => Reply::status(500, &[("Content-Type", "text/plain")], "sorry"),
            "/to-dead" => Reply::redirect("http://other.test:8083/"),
            "/long" => Reply::html(&long),
            _ => Reply::html("<p>here</p>"),
        });
        let server = server();
        let get = |path: &str| fetch(&server, &format!("http://page.test{path}"));
        let first = get("/long");
        assert_paused(|| fetch(&server, "http://other.test:8082/"), "other.test:8082");
        assert_eq!(get("/").stdout, "here\n");
        // The same machine at another port is another service.
        assert_eq!(fetch(&server, "http://other.test/").stdout, "here\n");
        for _ in 0..4 {
            assert_eq!(get("/missing").meta.data["status"], 404);
            assert_eq!(get("/broken").meta.data["status"], 500);
            assert_code(&fetch(&server, "http://nowhere.test/"), ErrorCode::NotFound, "has no address");
            assert_code(&get("/to-dead"), ErrorCode::IoError, "Cannot connect");
        }
        assert_eq!(get("/").stdout, "here\n", "whoever only leads to a dead link works");
        assert_code(&fetch(&server, "http://other.test:8083/"), ErrorCode::CircuitOpen, "other.test:8083");
        // The rest of a page asks no one, even while its host is paused.
        let next = json!({"url": "http://page.test/long", "cursor": first.next_page_cursor.unwrap()});
        let asked = site.count();
        assert!(server.call("url_fetch", &next).ok);
        assert_eq!(site.count(), asked);
    });
}

#[test]
fn a_host_that_never_answers_is_paused_alone() {
    in_a_network_of_its_own(|| {
        let _site = Site::start(PUBLIC, 80, |request| match request.path.as_str() {
            "/slow" => Reply::redirect("http://other.test:8084/"),
            _ => Reply::html("<p>here</p>"),
        });
        let _silent = std::net::TcpListener::bind((PUBLIC, 8084)).unwrap();
        let server = server();
        // The first request takes longer: the fetcher reads the certificates that it trusts.
        assert_eq!(fetch(&server, "http://page.test/").stdout, "here\n");
        for url in ["http://page.test/slow", "http://other.test:8084/", "http://other.test:8084/a"] {
            let late = server.call("url_fetch", &json!({"url": url, "timeout_seconds": 3}));
            assert_code(&late, ErrorCode::Timeout, "");
        }
        assert_code(&fetch(&server, "http://other.test:8084/"), ErrorCode::CircuitOpen, "other.test:8084");
        assert_eq!(fetch(&server, "http://page.test/").stdout, "here\n");
    });
}

#[test]
fn a_dead_search_service_stops_no_page() {
    in_a_network_of_its_own(|| {
        let _site = Site::start(PUBLIC, 80, |_| Reply::html("<p>here</p>"));
        let url = format!("http://{PRIVATE}:8081");
        let server = with(&[("AUTONOUS_SEARCH_PROVIDER", "searxng"), ("AUTONOUS_SEARCH_URL", &url)]);
        assert_paused(|| server.call("web_search", &json!({"q": "x"})), &format!("{PRIVATE}:8081"));
        assert_eq!(fetch(&server, "http://page.test/").stdout, "here\n");
    });
}
