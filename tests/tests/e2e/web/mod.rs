//! The web: the real tool server with its fetcher, in a network of its own, where a name server and web sites
//! of the test's own have public addresses.

mod asking;
mod breaker;
mod chat;
mod name_server;
mod network;
mod outside;
mod proxy;
mod search;
mod secrets;
pub(crate) mod site;

use std::time::{Duration, Instant};

use harness::ToolServer;
use protocol::{Envelope, ErrorCode, Status};
use serde_json::{Value, json};

use network::{PRIVATE, PUBLIC, in_a_network_of_its_own};
use site::{Reply, Site};

fn server() -> ToolServer {
    with(&[])
}

/// A server that may ask all public hosts, and send them what it likes.
fn with(variables: &[(&str, &str)]) -> ToolServer {
    ToolServer::builder()
        .policy("[[rule]]\ncircumstances = [\"sends_data\"]\ndecision = \"allow\"\n")
        .variable("AUTONOUS_TOOL_DISABLE_EXEC", "true")
        .variable("AUTONOUS_FETCH_ALLOWED_HOSTS", "*")
        .variables(variables)
        .start()
}

fn fetch(server: &ToolServer, url: &str) -> Envelope {
    server.call("url_fetch", &json!({"url": url}))
}

/// Fetches from `page.test` with more arguments.
fn fetch_with(server: &ToolServer, path: &str, more: &Value) -> Envelope {
    let mut asked = json!({"url": format!("http://page.test{path}")});
    asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    server.call("url_fetch", &asked)
}

/// The same with the profile `api`.
fn fetch_as(server: &ToolServer, path: &str, mut more: Value) -> Envelope {
    more["auth_profile"] = json!("api");
    fetch_with(server, path, &more)
}

fn assert_code(answer: &Envelope, code: ErrorCode, part: &str) {
    let error = answer.meta.error.as_ref().unwrap_or_else(|| panic!("no error: {answer:?}"));
    assert_eq!(error.code, code, "{answer:?}");
    assert!(error.message.contains(part), "{part:?} is not in {:?}", error.message);
}

/// Addresses that are not public, and names of such, in all ways to write them.
const NOT_PUBLIC: &[&str] = &[
    "http://127.0.0.1/",
    "http://localhost/",
    "http://LOCALHOST./",
    "http://0177.0.0.1/",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://127。0。0。1/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[fd00:ec2::254]/",
    "http://0.0.0.0/",
    "http://169.254.169.254/latest/meta-data/",
    "http://168.63.129.16/",
    "http://100.64.0.1/",
    "http://10.9.9.9/",
    "http://192.168.1.1/",
    "http://192.0.2.1/",
    "http://198.18.0.1/",
    "http://240.0.0.1/",
    "http://private.test/",
    "http://loop.test/",
    "http://mixed.test/",
    "http://mapped.test/",
    "http://metadata.test/",
];

/// Other schemes, ports and forms than those of public sites.
const NOT_OF_THE_WEB: &[&str] = &[
    "file:///etc/passwd", "dict://127.0.0.1:11211/stat", "gopher://127.0.0.1/",
    "http://user:pass@page.test/", "http://[fe80::1%25lo]/", "http://page.test:6379/",
    "http://page.test:22/", "jar:http://127.0.0.1!/", "http://pa ge.test/",
];

#[test]
fn no_private_address_is_asked_however_it_is_written_or_resolved() {
    in_a_network_of_its_own(|| {
        let page = Site::start(PUBLIC, 80, |_| Reply::html("<p>public</p>"));
        let local = Site::start("127.0.0.1", 80, |_| Reply::html("<p>private</p>"));
        let near = Site::start(PRIVATE, 80, |_| Reply::html("<p>private</p>"));
        // The attack works where nothing guards.
        let open = with(&[("AUTONOUS_FETCH_ALLOW_PRIVATE", "true")]);
        for url in ["http://127.0.0.1/", "http://private.test/", "http://[::ffff:127.0.0.1]/"] {
            let answer = fetch(&open, url);
            assert_eq!(answer.stdout, "private\n", "{url}: {answer:?}");
        }
        drop(open);
        let before = (local.count(), near.count());
        let server = server();
        assert_eq!(fetch(&server, "http://page.test/").stdout, "public\n");
        for url in NOT_PUBLIC.iter().chain(NOT_OF_THE_WEB) {
            assert_code(&fetch(&server, url), ErrorCode::UrlBlocked, "is blocked");
        }
        assert_eq!((local.count(), near.count()), before, "a private host was asked");
        assert_eq!(page.count(), 1);
    });
}

#[test]
fn a_name_is_resolved_once_and_a_rebinding_one_reaches_nothing() {
    in_a_network_of_its_own(|| {
        let page = Site::start(PUBLIC, 80, |request| match request.path.as_str() {
            "/to-rebind" => Reply::redirect("http://rebind.test/"),
            _ => Reply::html("<p>public</p>"),
        });
        let local = Site::start("127.0.0.1", 80, |_| Reply::html("<p>private</p>"));
        let server = server();
        // The first answer of the name server is public, every later one is 127.0.0.1.
        assert_eq!(fetch(&server, "http://rebind.test/").stdout, "public\n");
        for url in ["http://rebind.test/", "http://page.test/to-rebind"] {
            assert_code(&fetch(&server, url), ErrorCode::UrlBlocked, "127.0.0.1, which is not public");
        }
        assert_eq!((page.count(), local.count()), (2, 0));
    });
}

#[test]
fn each_redirect_is_judged_and_credentials_stay_at_their_origin() {
    in_a_network_of_its_own(|| {
        let site = Site::start(PUBLIC, 80, |request| match request.path.as_str() {
            "/private" => Reply::redirect("http://127.0.0.1/"),
            "/metadata" => Reply::redirect("http://169.254.169.254/"),
            "/file" => Reply::redirect("file:///etc/passwd"),
            "/other" => Reply::redirect("http://other.test/end"),
            "/relative" => Reply::redirect("end"),
            "/send" => Reply::status(307, &[("Location", "http://other.test/end")], ""),
            "/unlisted" => Reply::redirect("http://unlisted.example/"),
            path => match path.strip_prefix("/loop").map(|left| left.parse::<u32>().unwrap_or(0)) {
                Some(left) if left > 0 => Reply::redirect(&format!("/loop{}", left - 1)),
                _ => Reply::html("<p>end</p>"),
            },
        });
        let server = with(&[("AUTONOUS_FETCH_ALLOWED_HOSTS", "page.test,other.test")]);
        let go = |path: &str| fetch(&server, &format!("http://page.test{path}"));
        for (path, why) in [
            ("/private", "127.0.0.1 is not among the hosts"),
            ("/metadata", "169.254.169.254 is not among the hosts"),
            ("/file", "not file"),
            ("/unlisted", "unlisted.example is not among the hosts"),
        ] {
            assert_code(&go(path), ErrorCode::UrlBlocked, why);
        }
        assert_eq!(go("/relative").meta.data["final_url"], "http://page.test/end");
        assert_eq!(go("/loop5").stdout, "end\n");
        assert_code(&go("/loop6"), ErrorCode::IoError, "redirects more than 5 times");
        let answer = fetch_with(&server, "/other", &json!({"headers": {"X-Mine": "1", "Accept": "text/x"}}));
        assert_eq!(answer.stdout, "end\n");
        let last = site.last();
        assert_eq!(last.host(), "other.test");
        assert_eq!((last.header("x-mine"), last.header("accept")), (None, Some("text/x")));
        assert_eq!(last.header("cookie"), None);
        let sent = json!({"url": "http://page.test/send", "method": "POST", "body": "{\"a\":1}"});
        assert_code(&server.call("url_fetch", &sent), ErrorCode::UrlBlocked, "would send the body");
        for header in ["Authorization", "Cookie", "Host", "X-Forwarded-For", "X-Api-Key"] {
            let asked = json!({"url": "http://page.test/", "headers": {header: "x"}});
            assert_code(&server.call("url_fetch", &asked), ErrorCode::InvalidArgument, header);
        }
    });
}

/// Neither a proxy in the environment nor an address that a server recommends.
#[test]
fn nothing_is_asked_in_place_of_a_host() {
    in_a_network_of_its_own(|| {
        let other = Site::start("127.0.0.1", 8099, |_| Reply::html("<p>private</p>"));
        let hint = "h3=\"127.0.0.1:8099\"; ma=60, h2=\"127.0.0.1:8099\"; ma=60";
        let headers = [("Alt-Svc", hint), ("Content-Type", "text/plain")];
        let _site = Site::start(PUBLIC, 80, move |_| Reply::status(200, &headers, "here"));
        let names = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"];
        let server = with(&names.map(|name| (name, "http://127.0.0.1:8099")));
        for path in ["a", "b"] {
            assert_eq!(fetch(&server, &format!("http://page.test/{path}")).stdout, "here");
        }
        assert_eq!(other.count(), 0);
    });
}

/// A site with bodies of all kinds, one on each path.
fn site_of_bodies() -> Site {
    Site::start(PUBLIC, 80, |request| match request.path.as_str() {
        "/long" => Reply::html(&(0..5000).map(|line| format!("<p>line {line}</p>")).collect::<String>()),
        "/missing" => Reply::status(404, &[("Content-Type", "text/plain")], "gone"),
        "/json" => Reply::status(200, &[("Content-Type", "application/json")], "{\"a\":[1.50]}"),
        "/cookie" => Reply::status(200, &[("Set-Cookie", "a=b")], "x"),
        "/liar" => Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"),
        "/nonsense" => Reply::raw("this is no HTTP\r\n\r\n"),
        "/twice" => Reply::status(200, &[("Content-Encoding", "gzip, gzip")], "x"),
        "/heads" => Reply::raw(&format!("HTTP/1.1 200 OK\r\n{}\r\n", "X-A: b\r\n".repeat(20_000))),
        "/endless" => Reply::Endless,
        "/script" => Reply::html("<script>document.write('no')</script>"),
        _ => Reply::html("<p>end</p>"),
    })
}

#[test]
fn bodies_are_sent_as_what_they_are() {
    in_a_network_of_its_own(|| {
        let (site, server) = (site_of_bodies(), server());
        for (body, sent, content_type) in [
            (json!("a=b"), "a=b", "text/plain; charset=utf-8"),
            (json!({"a": [1, null]}), "{\"a\":[1,null]}", "application/json"),
            (json!([true]), "[true]", "application/json"),
            (json!(7), "7", "application/json"),
            (json!(false), "false", "application/json"),
        ] {
            let asked = json!({"url": "http://page.test/", "method": "POST", "body": body});
            assert!(server.call("url_fetch", &asked).ok, "{body}");
            let last = site.last();
            assert_eq!((last.body.as_str(), last.header("content-type")), (sent, Some(content_type)));
        }
    });
}

#[test]
fn bodies_are_bounded_and_decoded() {
    in_a_network_of_its_own(|| {
        let site = site_of_bodies();
        let server = server();
        let get = |path: &str| fetch(&server, &format!("http://page.test{path}"));
        let missing = get("/missing");
        assert_eq!((missing.ok, missing.exit_code, missing.meta.status), (false, 1, Status::Partial));
        assert!(
            missing.meta.error.is_none() && missing.stdout == "gone" && missing.meta.data["status"] == 404
        );
        assert_eq!(get("/json").stdout, "{\n  \"a\": [\n    1.50\n  ]\n}\n");
        assert_code(&get("/liar"), ErrorCode::IoError, "broke off");
        assert_code(&get("/nonsense"), ErrorCode::IoError, "not HTTP");
        assert_code(&get("/twice"), ErrorCode::IoError, "compressed");
        // What fails pauses its host, so the rest has a server of its own.
        let server = self::server();
        let get = |path: &str| fetch(&server, &format!("http://page.test{path}"));
        assert_code(&get("/heads"), ErrorCode::IoError, "headers are too long");
        let began = Instant::now();
        let endless = get("/endless");
        assert_eq!(endless.meta.data["bytes"], 512 << 10);
        assert!(endless.meta.status == Status::Partial && began.elapsed() < Duration::from_secs(20));
        assert!(get("/script").meta.notices.iter().any(|notice| notice.contains("needs scripts")));
        get("/cookie");
        get("/");
        assert_eq!(site.last().header("cookie"), None);
    });
}

#[test]
fn further_pages_of_a_body_are_read_from_the_kept_copy() {
    in_a_network_of_its_own(|| {
        let (site, server) = (site_of_bodies(), server());
        let (before, mut cursor, mut text) = (site.count() + 1, Value::Null, String::new());
        loop {
            let page = server.call("url_fetch", &json!({"url": "http://page.test/long", "cursor": cursor}));
            assert_eq!(page.meta.data["from_cache"], !cursor.is_null());
            text.push_str(&page.stdout);
            let Some(next) = page.next_page_cursor else { break };
            cursor = json!(next);
        }
        assert_eq!(text.lines().filter(|line| line.starts_with("line ")).count(), 5000);
        assert_eq!(site.count(), before, "further pages are read from the kept copy");
    });
}

#[test]
fn bodies_are_stored_where_a_tool_may_write_and_whole_or_not_at_all() {
    in_a_network_of_its_own(|| {
        let (_site, server) = (site_of_bodies(), server());
        let store = |path: &str, to: &str| fetch_with(&server, path, &json!({"download_path": to}));
        let stored = store("/json", "new/a.json");
        assert!(stored.ok, "{stored:?}");
        assert_eq!(std::fs::read(server.root().join("new/a.json")).unwrap(), b"{\"a\":[1.50]}");
        assert_eq!(stored.meta.data["download"]["sha256"], stored.meta.data["sha256"]);
        std::fs::write(server.root().join("theirs"), "x").unwrap();
        assert_code(&store("/json", "theirs"), ErrorCode::NotRead, "");
        assert_code(&store("/json", ".git/hooks/x"), ErrorCode::ProtectedPath, "");
        assert_code(&store("/json", "../out"), ErrorCode::PathOutsideRoots, "");
        let large = json!({"download_path": "big", "max_bytes": 1_000_000});
        assert_code(&fetch_with(&server, "/endless", &large), ErrorCode::FileTooLarge, "1000000");
        assert_eq!(store("/missing", "none").meta.status, Status::Partial);
        assert!(["big", "none"].iter().all(|name| !server.root().join(name).exists()));
    });
}

#[test]
fn the_text_of_a_pdf_is_shown_and_one_that_is_none_is_described() {
    in_a_network_of_its_own(|| {
        let pdf = include_bytes!("../../../data/one-page.pdf");
        let _site = Site::start(PUBLIC, 80, |request| {
            Reply::of("application/pdf", if request.path == "/broken" { &pdf[..300] } else { pdf })
        });
        let server = server();
        let hours = "Opening hours: nine to five\n";
        assert_eq!(fetch(&server, "http://page.test/hours.pdf").stdout, hours);
        let asked = json!({"url": "http://page.test/hours.pdf", "max_bytes": 7});
        let cut = server.call("url_fetch", &asked);
        assert_eq!((cut.stdout.as_str(), cut.meta.status), ("Opening", Status::Partial));
        let broken = fetch(&server, "http://page.test/broken");
        assert!(broken.ok && broken.stdout.contains("its text cannot be read"), "{broken:?}");
    });
}

/// A file with one profile, for a part of one site, whose secret is in `MY_API_KEY`.
fn profiles_file(follow_redirects: bool) -> (String, tempfile::TempDir) {
    use std::os::unix::fs::PermissionsExt as _;
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("profiles.toml");
    let profile = format!(
        "[profiles.api]\ndescription = \"the test's own\"\nurl_prefixes = [\"http://page.test/v1\"]\n\
         methods = [\"GET\", \"POST\"]\nsecret_env = \"MY_API_KEY\"\nfollow_redirects = {follow_redirects}\n"
    );
    std::fs::write(&file, profile).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    (file.display().to_string(), place)
}

fn with_profiles(file: &str, secret: &str) -> ToolServer {
    with(&[("AUTONOUS_FETCH_PROFILES_FILE", file), ("MY_API_KEY", secret)])
}

#[test]
fn a_profile_goes_to_its_own_addresses_and_never_comes_back() {
    in_a_network_of_its_own(|| {
        let site = Site::start(PUBLIC, 80, |request| {
            let sent = request.header("authorization").unwrap_or("nothing").to_owned();
            match request.path.as_str() {
                "/v1/away" => Reply::redirect("http://other.test/"),
                _ => Reply::html(&format!("<p>you sent {sent}</p>")),
            }
        });
        let (file, _place) = profiles_file(true);
        let server = with_profiles(&file, "hunter2-hunter2");
        let ask = |path: &str, more: Value| fetch_as(&server, path, more);
        let answer = ask("/v1/users", json!({}));
        assert_eq!(site.last().header("authorization"), Some("Bearer hunter2-hunter2"));
        assert_eq!(answer.stdout, "you sent Bearer ***REDACTED***\n");
        let stored = ask("/v1/users", json!({"download_path": "echo"}));
        assert_code(&stored, ErrorCode::IoError, "repeats the secret");
        ask("/v1/away", json!({}));
        assert_eq!((site.last().host(), site.last().header("authorization")), ("other.test", None));
        let asked = site.count();
        for path in ["/v2/users", "/v12", "/v1/%2e%2e/admin"] {
            assert_code(&ask(path, json!({})), ErrorCode::UrlBlocked, "is only for");
        }
        let deleting = ask("/v1/x", json!({"method": "DELETE"}));
        assert_code(&deleting, ErrorCode::InvalidArgument, "only with GET, POST");
        let stolen = json!({"method": "POST", "body": "{\"file\":\"/etc/passwd\"}"});
        assert_code(&ask("/v1/x", stolen), ErrorCode::UrlBlocked, "names a file of this machine");
        assert_eq!(site.count(), asked);
    });
}

#[test]
fn the_secret_of_a_profile_is_required_and_in_the_fetcher_alone() {
    in_a_network_of_its_own(|| {
        let (file, _place) = profiles_file(true);
        let mut server = with_profiles(&file, "hunter2-hunter2");
        let catalogue = server.send(harness::Request::get("/tools")).text();
        assert!(catalogue.contains("api: the test's own") && !catalogue.contains("hunter2"));
        let pid = server.program().pid();
        assert!(!harness::environment(pid).is_some_and(|environment| environment.contains("hunter2")));
        let refused = ToolServer::builder()
            .variable("AUTONOUS_FETCH_ALLOWED_HOSTS", "*")
            .variable("AUTONOUS_FETCH_PROFILES_FILE", &file)
            .start_refused();
        assert!(refused.stderr.contains("MY_API_KEY to be set"), "{}", refused.stderr);
    });
}
