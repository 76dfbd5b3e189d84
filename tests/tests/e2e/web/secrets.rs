//! A server that repeats the secret of a profile, or of this server, in every field and every form: nothing
//! of it comes back, and nothing of it is sent.

use harness::ToolServer;
use protocol::{Envelope, ErrorCode};
use serde_json::json;

use super::network::{PUBLIC, in_a_network_of_its_own};
use super::site::{Asked, Reply, Site};
use super::{assert_code, fetch_as, profiles_file, with_profiles};

const SECRET: &str = "Kx7/q+hunter&two=9";

/// The forms in which a server may repeat what it was sent.
fn forms(sent: &str) -> Vec<String> {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    let each = |form: &dyn Fn(u8) -> String| sent.bytes().map(form).collect::<String>();
    vec![
        sent.to_owned(),
        sent.to_uppercase(),
        sent.replace('&', "&amp;"),
        sent.replace('/', "\\/").replace('&', "\\u0026"),
        sent.replace('/', "%2F").replace('+', "%2b").replace('&', "%26"),
        each(&|byte| format!("%{byte:02x}")),
        each(&|byte| format!("&#{byte};")),
        each(&|byte| format!("\\u{byte:04x}")),
        each(&|byte| format!("{byte:02x}")),
        STANDARD.encode(sent),
        STANDARD.encode(format!("user:{sent}")),
    ]
}

/// Answers with what came in the header, in the form whose number the path ends with.
fn echo(request: &Asked) -> Reply {
    let sent = request.header("authorization").unwrap_or_default().trim_start_matches("Bearer ").to_owned();
    let (place, number) = request.path.trim_start_matches("/v1/").split_once('/').unwrap_or_default();
    let said = &forms(&sent)[number.parse::<usize>().unwrap_or(0)];
    let html = ("Content-Type", "text/html");
    match place {
        "title" => Reply::html(&format!("<title>a {said} b</title><p>page")),
        "text" => Reply::html(&format!("<p>a {said} b <code>{said}</code>")),
        "link" => Reply::html(&format!("<a href=\"/x/{said}\">a {said} b</a>")),
        "plain" => Reply::status(200, &[("Content-Type", "text/plain")], &format!("a {said}")),
        "json" => {
            Reply::status(200, &[("Content-Type", "application/json")], &format!("{{\"a\":\"{said}\"}}"))
        }
        "type" => Reply::status(200, &[("Content-Type", &format!("text/plain; x=\"{said}\""))], "page"),
        "binary" => Reply::status(200, &[("Content-Type", &format!("image/{said}"))], "\0"),
        "header" => Reply::status(
            200,
            &[html, ("ETag", said), ("Link", said), ("Content-Disposition", said), ("Server", said)],
            "page",
        ),
        "error" => Reply::status(500, &[html], said),
        "away" => Reply::redirect(&format!("http://page.test/end?q={said}")),
        "scheme" => Reply::redirect(&format!("x{said}://x")),
        "encoding" => Reply::status(200, &[("Content-Encoding", said)], "page"),
        _ => Reply::html("<p>end"),
    }
}

const PLACES: [&str; 12] = [
    "title", "text", "link", "plain", "json", "type", "binary", "header", "error", "away", "scheme",
    "encoding",
];

fn server(follow_redirects: bool) -> (ToolServer, tempfile::TempDir) {
    let (file, place) = profiles_file(follow_redirects);
    (with_profiles(&file, SECRET), place)
}

fn assert_hidden(answer: &Envelope, what: &str) {
    let mut shown = answer.clone();
    shown.meta.context = protocol::Context::default();
    let text = serde_json::to_string(&shown).unwrap();
    let plain = format!("{shown:?}{}", protocol::text_form::text_form(&shown));
    for form in forms(SECRET) {
        let form = form.trim_end_matches('=');
        assert!(!text.contains(form) && !plain.contains(form), "{what}: {form} is in {text}");
    }
}

#[test]
fn what_repeats_a_secret_shows_it_in_no_field_and_no_form() {
    in_a_network_of_its_own(|| {
        let site = Site::start(PUBLIC, 80, echo);
        let mut shown = 0;
        for place in PLACES {
            // What fails pauses its host, so each place has a server of its own.
            let (server, _profiles) = server(true);
            for number in 0..forms(SECRET).len() {
                let path = format!("/v1/{place}/{number}");
                let answer = fetch_as(&server, &path, json!({}));
                assert_hidden(&answer, &path);
                let paused =
                    answer.meta.error.as_ref().is_some_and(|error| error.code == ErrorCode::CircuitOpen);
                shown += usize::from(!paused && format!("{answer:?}").contains("***REDACTED***"));
            }
        }
        assert!(shown >= 90, "{shown} answers repeated it");
        assert!(site.count() > 100);
        let (server, _profiles) = server(false);
        for number in 0..forms(SECRET).len() {
            let path = format!("/v1/plain/{number}");
            let stored = fetch_as(&server, &path, json!({"download_path": format!("echo-{number}")}));
            assert!(stored.meta.error.is_some(), "{path}: {stored:?}");
            assert!(!server.root().join(format!("echo-{number}")).exists());
        }
    });
}

#[test]
fn no_cut_shows_the_beginning_of_a_secret() {
    in_a_network_of_its_own(|| {
        let _site = Site::start(PUBLIC, 80, echo);
        let (server, _profiles) = server(false);
        for most in 6..SECRET.len() + 2 {
            let cut = fetch_as(&server, "/v1/plain/0", json!({"max_bytes": most}));
            assert!(cut.ok && !cut.stdout.contains(&SECRET[..4]), "{most}: {}", cut.stdout);
        }
    });
}

#[test]
fn a_credential_does_not_come_back_to_where_another_host_leads() {
    in_a_network_of_its_own(|| {
        let site = Site::start(PUBLIC, 80, |request| match (request.host(), request.path.as_str()) {
            ("page.test", "/v1/out") => Reply::redirect("http://other.test/back"),
            ("page.test", "/v1/near") => Reply::redirect("/v1/end"),
            ("other.test", _) => Reply::redirect("http://page.test/v1/delete-everything"),
            _ => Reply::html("<p>end"),
        });
        let (server, _profiles) = server(true);
        assert!(fetch_as(&server, "/v1/near", json!({})).ok);
        assert!(site.last().header("authorization").is_some());
        assert!(fetch_as(&server, "/v1/out", json!({})).ok);
        assert_eq!(
            (site.last().path.as_str(), site.last().header("authorization")),
            ("/v1/delete-everything", None)
        );
    });
}

#[test]
fn no_local_path_is_sent_with_a_credential_in_any_form() {
    in_a_network_of_its_own(|| {
        let site = Site::start(PUBLIC, 80, |_| Reply::html("<p>thanks"));
        let (guarded, _profiles) = server(false);
        for body in [
            json!("FILE:///etc/passwd"),
            json!("//etc/passwd"),
            json!({"/etc/passwd": 1}),
            json!({"a": ["\\u002fetc\\/passwd"]}),
            json!("<!DOCTYPE x [<!ENTITY a SYSTEM \"file:///etc/passwd\">]><x>&a;</x>"),
            json!("<x>&#47;etc/passwd</x>"),
            json!("file=%2Fetc%2fpasswd"),
            json!({"file": guarded.root().join("a.txt")}),
        ] {
            let sent = json!({"method": "POST", "body": body});
            assert_code(
                &fetch_as(&guarded, "/v1/x", sent),
                ErrorCode::UrlBlocked,
                "names a file of this machine",
            );
        }
        assert_eq!(site.count(), 0);
        assert!(
            fetch_as(&guarded, "/v1/x", json!({"method": "POST", "body": {"text": "see /etc/hosts"}})).ok
        );
    });
}

#[test]
fn no_secret_of_the_server_is_sent_in_any_form() {
    const TOKEN: &str = "FAKE-token/of+our=own&server";
    in_a_network_of_its_own(|| {
        let site = Site::start(PUBLIC, 80, |_| Reply::html("<p>thanks"));
        let open = ToolServer::builder()
            .token(TOKEN)
            .policy("[[rule]]\ncircumstances = [\"sends_data\"]\ndecision = \"allow\"\n")
            .variable("AUTONOUS_FETCH_ALLOWED_HOSTS", "*")
            .start();
        for form in forms(TOKEN) {
            let quoted = form.replace('&', "%26").replace('+', "%2B");
            for sent in [
                json!({"url": format!("http://page.test/?q={quoted}")}),
                json!({"url": "http://page.test/", "headers": {"X-Note": form}}),
                json!({"url": "http://page.test/", "method": "POST", "body": format!("it is {form}!")}),
            ] {
                assert_code(&open.call("url_fetch", &sent), ErrorCode::UrlBlocked, "a secret of this server");
            }
        }
        assert_eq!(site.count(), 0);
    });
}
