//! `web_search` at services that the test plays: what they are asked, and what comes of each answer.

use std::sync::{Arc, Mutex};

use harness::ToolServer;
use protocol::{Envelope, ErrorCode};
use serde_json::{Value, json};

use super::network::{PRIVATE, PUBLIC, in_a_network_of_its_own};
use super::site::{Asked, Reply, Site};
use super::{assert_code, with};

const KEY: &str = "FAKE-search-key";

type Headers = &'static [(&'static str, &'static str)];

const JSON: Headers = &[("Content-Type", "application/json")];
const HTML: Headers = &[("Content-Type", "text/html; charset=UTF-8")];

/// A service: its name, what it answers with two results, with none and with a refusal, and a part of how the
/// refusal says so.
struct Service {
    name: &'static str,
    found: (u16, String),
    none: (u16, String),
    refusal: (u16, String),
    told: &'static str,
    headers: Headers,
}

fn services() -> [Service; 4] {
    [duckduckgo(), searxng(), brave(), tavily()]
}

/// Two results as the services with JSON list them, with the text of each under the name `words`.
fn results(words: &str) -> Value {
    json!([1, 2].map(|number| {
        json!({"title": format!("Title {number}"), "url": format!("https://{number}.example/page"),
               words: format!("Words {number}")})
    }))
}

fn duckduckgo() -> Service {
    let hit = |number: u8| {
        format!(
            "<div class=\"result results_links results_links_deep web-result\">\
             <h2 class=\"result__title\"><a rel=\"nofollow\" class=\"result__a\" \
             href=\"//duckduckgo.com/l/?uddg=https%3A%2F%2F{number}.example%2Fpage&amp;rut=ab\">\
             Title <b>{number}</b></a></h2>\
             <a class=\"result__snippet\" href=\"//x\">Words {number}</a></div>"
        )
    };
    let page =
        |inner: &str| format!("<html><body><div id=\"links\" class=\"results\">{inner}</div></body></html>");
    let puzzle = "<div class=\"anomaly-modal__title\">Unfortunately, bots use it too.</div>";
    Service {
        name: "duckduckgo",
        found: (200, page(&(hit(1) + &hit(2)))),
        none: (200, page("<div class=\"no-results\">No results found for that.</div>")),
        refusal: (202, puzzle.to_owned()),
        told: "for a robot",
        headers: HTML,
    }
}

fn searxng() -> Service {
    let engines = json!([]);
    Service {
        name: "searxng",
        found: (200, json!({"results": results("content"), "unresponsive_engines": engines}).to_string()),
        none: (200, json!({"results": [], "unresponsive_engines": engines}).to_string()),
        refusal: (429, "Too Many Requests".to_owned()),
        told: "too often",
        headers: JSON,
    }
}

fn brave() -> Service {
    let quota = json!({"code": "QUOTA_LIMITED", "detail": "d", "status": 429});
    Service {
        name: "brave",
        found: (200, json!({"type": "search", "web": {"results": results("description")}}).to_string()),
        none: (200, json!({"type": "search", "query": {"original": "q"}}).to_string()),
        refusal: (429, json!({"type": "ErrorResponse", "error": quota}).to_string()),
        told: "no quota left",
        headers: JSON,
    }
}

fn tavily() -> Service {
    let wrong_key = json!({"error": "Unauthorized: missing or invalid API key."});
    Service {
        name: "tavily",
        found: (200, json!({"query": "q", "results": results("content")}).to_string()),
        none: (200, json!({"query": "q", "results": []}).to_string()),
        refusal: (401, json!({"detail": wrong_key}).to_string()),
        told: "invalid API key",
        headers: JSON,
    }
}

fn search(server: &ToolServer, more: &Value) -> Envelope {
    let mut arguments = json!({"q": "opening hours & prices"});
    for (name, value) in more.as_object().unwrap() {
        arguments[name] = value.clone();
    }
    server.call("web_search", &arguments)
}

/// Whether a service was asked as its documentation says, with the key where it belongs and nowhere else.
fn assert_asked(name: &str, asked: &Asked) {
    let query = "q=opening+hours+%26+prices+site%3Adocs.rs";
    let (path, place) = match name {
        "duckduckgo" => (format!("/html/?{query}&df=w"), None),
        "searxng" => (format!("/search?{query}&format=json&time_range=week"), None),
        "brave" => (
            format!("/res/v1/web/search?{query}&count=2&freshness=pw"),
            Some(("x-subscription-token", KEY.to_owned())),
        ),
        _ => ("/search".to_owned(), Some(("authorization", format!("Bearer {KEY}")))),
    };
    assert_eq!(asked.path, path, "{name}");
    assert!(!asked.path.contains(KEY) && !asked.body.contains(KEY), "{name}");
    for header in ["x-subscription-token", "authorization"] {
        let expected = place.as_ref().filter(|(known, _)| *known == header).map(|(_, value)| value.as_str());
        assert_eq!(asked.header(header), expected, "{name}: {header}");
    }
    if name == "tavily" {
        let body: Value = serde_json::from_str(&asked.body).unwrap();
        let expected = json!({"query": "opening hours & prices", "max_results": 2,
                              "include_domains": ["docs.rs"],
                              "time_range": "week"});
        assert_eq!(body, expected);
    }
}

/// The site of a service, which answers what the test says.
struct Played {
    site: Site,
    answer: Arc<Mutex<(u16, String, Headers)>>,
}

impl Played {
    fn start() -> Self {
        let answer = Arc::new(Mutex::new((200, String::new(), JSON)));
        let next = Arc::clone(&answer);
        let site = Site::start(PRIVATE, 8080, move |_| {
            let (status, body, headers) = next.lock().unwrap().clone();
            Reply::status(status, headers, &body)
        });
        Self { site, answer }
    }

    fn says(&self, (status, body): &(u16, String), headers: Headers) {
        *self.answer.lock().unwrap() = (*status, body.clone(), headers);
    }
}

fn server_with(service: &Service) -> ToolServer {
    let url = format!("http://{PRIVATE}:8080");
    with(&[
        ("AUTONOUS_SEARCH_PROVIDER", service.name),
        ("AUTONOUS_SEARCH_URL", &url),
        ("AUTONOUS_SEARCH_API_KEY", KEY),
    ])
}

/// Whether two results are shown as the service found them, and one of them where one is asked for.
fn assert_found(server: &ToolServer, service: &Service, played: &Played) {
    played.says(&service.found, service.headers);
    let asked = json!({"site": "docs.rs", "recency": "week", "max_results": 2});
    let found = search(server, &asked);
    assert!(found.ok, "{}: {found:?}", service.name);
    assert_asked(service.name, &played.site.last());
    let results: Vec<_> = found.meta.data["results"].as_array().unwrap().iter().collect();
    assert_eq!(found.meta.data["provider"], service.name);
    assert_eq!(
        (results.len(), &results[1]["title"], &results[1]["url"], &results[1]["snippet"]),
        (2, &json!("Title 2"), &json!("https://2.example/page"), &json!("Words 2")),
        "{}",
        service.name
    );
    assert!(found.stdout.contains("https://1.example/page") && !format!("{found:?}").contains(KEY));
    let one = search(server, &json!({"max_results": 1}));
    assert_eq!(one.meta.data["results"].as_array().unwrap().len(), 1);
}

#[test]
fn each_service_is_asked_in_its_own_form_and_its_answer_is_told() {
    in_a_network_of_its_own(
        "web::search::each_service_is_asked_in_its_own_form_and_its_answer_is_told",
        || {
            let played = Played::start();
            for service in services() {
                let server = server_with(&service);
                assert_found(&server, &service, &played);
                played.says(&service.none, service.headers);
                let none = search(&server, &json!({}));
                assert!(none.ok && none.meta.data["results"] == json!([]), "{}: {none:?}", service.name);
                played.says(&service.refusal, service.headers);
                assert_code(&search(&server, &json!({})), ErrorCode::IoError, service.told);
                let new = "<html><body>Something quite new.</body></html>".to_owned();
                played.says(&(200, new), service.headers);
                assert_code(&search(&server, &json!({})), ErrorCode::IoError, "no list of results");
            }
        },
    );
}

#[test]
fn a_service_that_redirects_elsewhere_or_is_away_is_an_error() {
    in_a_network_of_its_own("web::search::a_service_that_redirects_elsewhere_or_is_away_is_an_error", || {
        let elsewhere = Site::start(PUBLIC, 80, |_| Reply::status(200, JSON, "{\"results\": []}"));
        let _site = Site::start(PRIVATE, 8080, |_| Reply::redirect(&format!("http://{PUBLIC}/search")));
        for (port, part) in [(8080, "did not accept the request (status 302)"), (8081, "")] {
            let url = format!("http://{PRIVATE}:{port}");
            let server = with(&[("AUTONOUS_SEARCH_PROVIDER", "searxng"), ("AUTONOUS_SEARCH_URL", &url)]);
            let answer = search(&server, &json!({}));
            assert_code(&answer, ErrorCode::IoError, part);
        }
        assert_eq!(elsewhere.count(), 0);
    });
}
