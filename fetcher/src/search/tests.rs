//! The answers of each service as it sends them: results, none, errors, puzzles and unknown layouts.

use url::Url;

use super::{endpoint, provider};
use settings::choices::SearchService;

use crate::messages::{FetchError, Recency, Search};

/// Title, address and snippet.
type Hit = (String, String, String);

fn hits(name: SearchService, status: u16, body: &str) -> Result<Vec<Hit>, (String, bool)> {
    match provider(name).hits(status, body) {
        Ok(hits) => Ok(hits.into_iter().map(|hit| (hit.title, hit.url, hit.snippet)).collect()),
        Err(FetchError::Search { message, retryable }) => Err((message, retryable)),
        Err(other) => panic!("{other}"),
    }
}

fn check_error(name: SearchService, status: u16, body: &str, part: &str, retryable: bool) {
    let (message, again) = hits(name, status, body).unwrap_err();
    assert!(message.contains(part), "{message}");
    assert_eq!(again, retryable, "{message}");
}

fn one(title: &str, url: &str, snippet: &str) -> Vec<Hit> {
    vec![(title.to_owned(), url.to_owned(), snippet.to_owned())]
}

#[test]
fn duckduckgo_gives_results_none_or_an_error() {
    let name = SearchService::DuckDuckGo;
    let page = "<div id=links class=results><div class=\"result results_links result--ad\">\
        <h2 class=result__title>\
        <a class=result__a href=\"//duckduckgo.com/y.js?ad_domain=x\">Ad</a></h2></div>\
        <div class=\"result results_links results_links_deep web-result\"><h2 class=result__title>\
        <a rel=nofollow class=result__a \
        href=\"//duckduckgo.com/l/?uddg=https%3A%2F%2Fdocs.rs%2Fa%3Fb%3D1&amp;rut=x\">\
        The <b>docs</b></a></h2><a class=result__snippet href=\"//x\">\
        All\n the <b>docs</b> &amp; more.</a></div></div>";
    assert_eq!(
        hits(name, 200, page).unwrap(),
        one("The docs", "https://docs.rs/a?b=1", "All the docs & more.")
    );
    let none = "<div class=results><div class=no-results>No results.</div></div>";
    assert_eq!(hits(name, 200, none), Ok(Vec::new()));
    let puzzle =
        "<form id=challenge-form><div class=anomaly-modal__title>Unfortunately, bots use DuckDuckGo too.";
    for status in [200, 202] {
        check_error(name, status, puzzle, "for a robot", true);
    }
    check_error(name, 202, "", "for a robot", true);
    check_error(name, 403, "Forbidden", "refuses", false);
    check_error(name, 200, "<html><div class=new-layout>x</div></html>", "layout may have changed", false);
    check_error(name, 200, "", "layout may have changed", false);
    let renamed = "<div class=no-results hidden></div>\
        <a class=hit href='//duckduckgo.com/l/?uddg=https%3A%2F%2Fa'>A</a>";
    check_error(name, 200, renamed, "layout may have changed", false);
}

#[test]
fn searxng_gives_results_none_or_an_error() {
    let name = SearchService::SearXng;
    let found = r#"{"query":"q","results":[{"url":"https://a.example/","title":"A","content":"s"},
        {"url":"https://b.example/","title":"B","content":null}],
        "unresponsive_engines":[["google","CAPTCHA"]]}"#;
    assert_eq!(hits(name, 200, found).unwrap().len(), 2);
    assert_eq!(hits(name, 200, r#"{"results":[],"unresponsive_engines":[]}"#), Ok(Vec::new()));
    let silent = r#"{"results":[],"unresponsive_engines":[["google","CAPTCHA"],["bing","timeout"]]}"#;
    check_error(name, 200, silent, "google (CAPTCHA), bing (timeout)", true);
    check_error(name, 403, "Forbidden", "search.formats", false);
    check_error(name, 429, "Too Many Requests", "too often", true);
    check_error(name, 200, "<!doctype html><html>", "no list of results", false);
    let others = r#"{"query":"q","number_of_results":0,"results":[],"answers":["a"],"corrections":[],
        "infoboxes":[],"suggestions":["b"],"unresponsive_engines":[]}"#;
    assert_eq!(hits(name, 200, others), Ok(Vec::new()));
    check_error(name, 200, r#"{"results":[],"items":[{"title":"A"}]}"#, "no list of results", false);
    check_error(
        name,
        200,
        r#"{"results":[{"name":"A","url":"https://a.example/"}]}"#,
        "no list of results",
        false,
    );
}

#[test]
fn brave_gives_results_none_or_an_error() {
    let name = SearchService::Brave;
    let found = r#"{"type":"search","web":{"type":"search","results":[
        {"title":"A","url":"https://a.example/","description":"some <strong>words</strong>"}]}}"#;
    assert_eq!(hits(name, 200, found).unwrap(), one("A", "https://a.example/", "some words"));
    assert_eq!(hits(name, 200, r#"{"type":"search","query":{"original":"q"}}"#), Ok(Vec::new()));
    let error = |code: &str| {
        format!(r#"{{"type":"ErrorResponse","error":{{"code":"{code}","detail":"because","status":429}}}}"#)
    };
    check_error(
        name,
        429,
        &error("RATE_LIMITED"),
        "too often, or its quota is used up (status 429): because",
        true,
    );
    check_error(name, 429, &error("QUOTA_LIMITED"), "no quota left", false);
    check_error(name, 401, "", "refuses the key", false);
    check_error(name, 502, "<html>", "out of order", true);
    check_error(name, 200, r#"{"web":{"results":[]}}"#, "no list of results", false);
    let none = r#"{"type":"search","query":{"original":"q"},"mixed":{"type":"mixed","main":[]},
        "web":{"type":"search","results":[]},"news":{"results":[{"title":"A"}]}}"#;
    assert_eq!(hits(name, 200, none), Ok(Vec::new()));
    for changed in [
        r#"{"type":"search"}"#,
        r#"{"type":"search","query":{"text":"q"}}"#,
        r#"{"type":"search","query":{"original":"q"},"results":[{"title":"A","url":"https://a.example/"}]}"#,
        r#"{"type":"search","query":{"original":"q"},"pages":{"results":[{"title":"A"}]}}"#,
        r#"{"type":"search","query":{"original":"q"},"web":{"items":[{"title":"A"}]}}"#,
        r#"{"type":"search","query":{"original":"q"},"web":{"results":[],"items":[{"title":"A"}]}}"#,
        r#"{"type":"search","query":{"original":"q"},
            "web":{"results":[{"name":"A","link":"https://a.example/"}]}}"#,
        r#"{"type":"search","query":{"original":"q"},"web":[{"title":"A","url":"https://a.example/"}]}"#,
        r#"{"type":"search","query":{"original":"q","more_results_available":true}}"#,
        r#"{"type":"search","query":{"original":"q"},"mixed":{"main":[{"type":"web","index":0}]}}"#,
    ] {
        check_error(name, 200, changed, "no list of results", false);
    }
}

#[test]
fn tavily_gives_results_none_or_an_error() {
    let name = SearchService::Tavily;
    let found =
        r#"{"query":"q","results":[{"title":"A","url":"https://a.example/","content":"s","score":0.9}]}"#;
    assert_eq!(hits(name, 200, found).unwrap(), one("A", "https://a.example/", "s"));
    assert_eq!(hits(name, 200, r#"{"results":[]}"#), Ok(Vec::new()));
    let wrong_key = r#"{"detail":{"error":"Unauthorized: missing or invalid API key."}}"#;
    check_error(name, 401, wrong_key, "invalid API key", false);
    check_error(name, 432, "{}", "no quota left", false);
    check_error(name, 429, "{}", "too often", true);
    check_error(name, 200, "{}", "no list of results", false);
    let others =
        r#"{"query":"q","answer":"none","images":[],"results":[],"response_time":1,"request_id":"x"}"#;
    assert_eq!(hits(name, 200, others), Ok(Vec::new()));
    check_error(name, 200, r#"{"results":[],"pages":[{"title":"A"}]}"#, "no list of results", false);
    check_error(name, 200, r#"{"results":[{"name":"A","link":"x"}]}"#, "no list of results", false);
    let long = format!(r#"{{"detail":{{"error":"{}"}}}}"#, "word ".repeat(100_000));
    assert!(hits(name, 400, &long).unwrap_err().0.len() < 500);
}

/// An answer of each service with results at these addresses.
fn answers(urls: &[&str]) -> [(SearchService, String); 4] {
    let list = |words: &str| {
        let items = urls.iter().map(|url| serde_json::json!({"title": "T", "url": url, words: "w"}));
        serde_json::Value::from(items.collect::<Vec<_>>())
    };
    let links = urls.iter().map(|url| {
        let coded: String = url.bytes().map(|byte| format!("%{byte:02X}")).collect();
        format!("<div class=result><a class=result__a href='//duckduckgo.com/l/?uddg={coded}'>T</a></div>")
    });
    let json = |value: serde_json::Value| value.to_string();
    [
        (SearchService::DuckDuckGo, links.collect()),
        (SearchService::SearXng, json(serde_json::json!({"results": list("content")}))),
        (
            SearchService::Brave,
            json(serde_json::json!({"type": "search", "web": {"results": list("description")}})),
        ),
        (SearchService::Tavily, json(serde_json::json!({"results": list("content")}))),
    ]
}

#[test]
fn results_that_are_not_of_the_web_are_left_out() {
    let long = format!("https://long.example/{}", "x".repeat(3000));
    let foreign = [
        "javascript:alert(1)",
        "JavaScript:x",
        "file:///etc/passwd",
        "data:text/html,x",
        "ftp://x.example/",
        "https://",
        "/relative",
        long.as_str(),
    ];
    for (name, body) in answers(&[&["https://u:p@a.example/x y"], &foreign[..]].concat()) {
        let (hits, left_out) = super::of_the_web(name, 200, &body).unwrap();
        let urls: Vec<String> = hits.into_iter().map(|hit| hit.url).collect();
        assert_eq!((urls, left_out), (vec!["https://a.example/x%20y".to_owned()], foreign.len()), "{name:?}");
    }
    for (name, body) in answers(&["/one", "two"]) {
        let error = super::of_the_web(name, 200, &body).unwrap_err();
        assert!(error.to_string().contains("no list of results"), "{name:?}: {error}");
    }
}

#[test]
fn requests_carry_what_was_asked_and_the_key_apart() {
    let search = Search {
        query: "a&b c".to_owned(),
        max_results: 7,
        site: Some("docs.rs".to_owned()),
        recency: Some(Recency::Week),
        timeout_ms: 1,
    };
    let base = Url::parse("https://s.example/base/").unwrap();
    for (name, address) in [
        (SearchService::DuckDuckGo, "https://s.example/base/html/?q=a%26b+c+site%3Adocs.rs&df=w"),
        (
            SearchService::SearXng,
            "https://s.example/base/search?q=a%26b+c+site%3Adocs.rs&format=json&time_range=week",
        ),
        (
            SearchService::Brave,
            "https://s.example/base/res/v1/web/search?q=a%26b+c+site%3Adocs.rs&count=7&freshness=pw",
        ),
        (SearchService::Tavily, "https://s.example/base/search"),
    ] {
        let request = provider(name).request(&base, &search, Some("key")).unwrap();
        assert_eq!(request.url.as_str(), address);
        assert!(!request.headers.iter().any(|(_, value)| value.contains("key")));
        let needs_key = matches!(name, SearchService::Brave | SearchService::Tavily);
        assert_eq!(request.key_header.is_some(), needs_key);
        assert_eq!(provider(name).request(&base, &search, None).is_err(), needs_key);
    }
    let body = provider(SearchService::Tavily).request(&base, &search, Some("key")).unwrap().body.unwrap();
    let body = String::from_utf8(body).unwrap();
    assert!(body.contains(r#""include_domains":["docs.rs"]"#) && body.contains(r#""time_range":"week""#));
    assert_eq!(endpoint(&base, "x", &[]).as_str(), "https://s.example/base/x");
}
