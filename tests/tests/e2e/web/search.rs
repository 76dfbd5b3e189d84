//! `web_search` at services that the test plays: what they are asked, and what comes of each answer.

use harness::ToolServer;
use protocol::{Envelope, ErrorCode};
use serde_json::{Value, json};

use super::network::{PRIVATE, PUBLIC, in_a_network_of_its_own};
use super::site::{Asked, Reply, Site};
use super::{assert_code, with};

const KEY: &str = "FAKE-search-key";

const JSON: &[(&str, &str)] = &[("Content-Type", "application/json")];

/// A service at one address: Brave is asked with GET and its key in a header of its own, Tavily with POST.
fn service(asked: &Asked) -> Reply {
    if asked.path.contains("too+much") {
        let quota = json!({"code": "QUOTA_LIMITED", "detail": "d", "status": 429});
        return Reply::status(429, JSON, &json!({"type": "ErrorResponse", "error": quota}).to_string());
    }
    let results = json!([1, 2].map(|number| {
        let url = format!("https://{number}.example/page");
        json!({"title": format!("Title {number}"), "url": url, "description": "Words", "content": "Words"})
    }));
    let answer = json!({"type": "search", "query": {"original": "q"}, "web": {"results": results},
                        "results": results});
    Reply::status(200, JSON, &answer.to_string())
}

fn search(server: &ToolServer, query: &str) -> Envelope {
    server.call("web_search", &json!({"q": query, "site": "docs.rs", "recency": "week", "max_results": 1}))
}

/// Whether the service was asked as its documentation says, with the key where it belongs and nowhere else.
fn assert_asked(name: &str, asked: &Asked) {
    let (path, token, bearer) = match name {
        "brave" => ("/res/v1/web/search?q=a+%26+b+site%3Adocs.rs&count=1&freshness=pw", Some(KEY), None),
        _ => ("/search", None, Some(format!("Bearer {KEY}"))),
    };
    assert_eq!(asked.path, path);
    assert_eq!(asked.header("x-subscription-token"), token);
    assert_eq!(asked.header("authorization"), bearer.as_deref());
    assert!(!asked.path.contains(KEY) && !asked.body.contains(KEY), "{asked:?}");
    if name == "tavily" {
        let body: Value = serde_json::from_str(&asked.body).unwrap();
        let expected = json!({"query": "a & b", "max_results": 1, "include_domains": ["docs.rs"],
                              "time_range": "week"});
        assert_eq!(body, expected);
    }
}

#[test]
fn a_service_is_asked_with_its_key_and_its_answer_is_told() {
    in_a_network_of_its_own(|| {
        let site = Site::start(PRIVATE, 8080, service);
        let url = format!("http://{PRIVATE}:8080");
        for name in ["brave", "tavily"] {
            let server = with(&[
                ("AUTONOUS_SEARCH_PROVIDER", name),
                ("AUTONOUS_SEARCH_URL", &url),
                ("AUTONOUS_SEARCH_API_KEY", KEY),
            ]);
            let found = search(&server, "a & b");
            assert!(found.ok, "{name}: {found:?}");
            assert_asked(name, &site.last());
            let page = "https://1.example/page";
            let results = json!([{"number": 1, "title": "Title 1", "url": page, "snippet": "Words"}]);
            assert_eq!(found.meta.data["results"], results);
            assert_eq!(found.meta.data["provider"], name);
            assert!(found.stdout.contains(page) && !format!("{found:?}").contains(KEY));
            if name == "brave" {
                assert_code(&search(&server, "too much"), ErrorCode::IoError, "no quota left");
            }
        }
    });
}

#[test]
fn a_service_that_redirects_elsewhere_or_is_away_is_an_error() {
    in_a_network_of_its_own(|| {
        let elsewhere = Site::start(PUBLIC, 80, |_| Reply::status(200, JSON, "{\"results\": []}"));
        let _site = Site::start(PRIVATE, 8080, |_| Reply::redirect(&format!("http://{PUBLIC}/search")));
        for (port, part) in [(8080, "did not accept the request (status 302)"), (8081, "")] {
            let url = format!("http://{PRIVATE}:{port}");
            let server = with(&[("AUTONOUS_SEARCH_PROVIDER", "searxng"), ("AUTONOUS_SEARCH_URL", &url)]);
            let answer = search(&server, "q");
            assert_code(&answer, ErrorCode::IoError, part);
        }
        assert_eq!(elsewhere.count(), 0);
    });
}
