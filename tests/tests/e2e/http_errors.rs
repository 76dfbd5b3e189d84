//! Every error that `ls` and the HTTP layer can answer with: its code, its status, its whole envelope.

use std::fs;
use std::os::unix::fs::symlink;

use harness::envelope_shape::{assert_error, assert_whole};
use harness::{Request, ToolServer};
use protocol::ErrorCode;
use serde_json::json;

use crate::assert_says;

fn ls(path: &str) -> Request {
    Request::call("ls", &json!({"path": path}))
}

#[test]
fn the_catalogue_has_a_tag_that_spares_sending_it_again_and_that_every_answer_carries() {
    let server = ToolServer::start();
    let catalogue = server.send(Request::get("/tools"));
    let tag = catalogue.header("etag").expect("the catalogue has a tag").to_owned();
    let same = server.send(Request::get("/tools").header("If-None-Match", &tag));
    assert_eq!((same.status, same.text().as_str(), same.header("etag")), (304, "", Some(tag.as_str())));
    let other = server.send(Request::get("/tools").header("If-None-Match", "\"other\""));
    assert_eq!((other.status, other.text()), (200, catalogue.text()));
    for call in [ls("."), ls("nope"), Request::post("/tools/lss", "{}")] {
        assert_eq!(server.send(call).header("x-catalogue-tag"), Some(tag.as_str()));
    }
    let narrower = ToolServer::builder().variable("AUTONOUS_TOOL_DISABLED", "write").start();
    assert_ne!(narrower.send(Request::get("/tools")).header("etag"), Some(tag.as_str()));
}

#[test]
fn each_wrong_request_gets_its_code() {
    let server = ToolServer::start();
    fs::write(server.root().join("file"), "x").unwrap();
    symlink("loop", server.root().join("loop")).unwrap();
    let ok = || ls(".");
    let cases = [
        ("unknown tool", Request::post("/tools/lss", "{}"), ErrorCode::UnknownTool),
        ("a GET of a tool", Request::get("/tools/ls"), ErrorCode::MethodNotAllowed),
        ("a PUT of a tool", Request::new("PUT", "/tools/ls"), ErrorCode::MethodNotAllowed),
        ("a POST of the catalogue", Request::post("/tools", "{}"), ErrorCode::MethodNotAllowed),
        (
            "a form",
            ok().header("Content-Type", "application/x-www-form-urlencoded"),
            ErrorCode::UnsupportedMediaType,
        ),
        ("no content type", ok().without("Content-Type"), ErrorCode::UnsupportedMediaType),
        ("a foreign origin", ok().header("Origin", "https://evil.example"), ErrorCode::OriginRefused),
        ("a path outside", ls("/etc"), ErrorCode::PathOutsideRoots),
        ("a path above", ls("../.."), ErrorCode::PathOutsideRoots),
        ("nothing there", ls("nope"), ErrorCode::NotFound),
        ("a name that is too long", ls(&"n".repeat(300)), ErrorCode::InvalidArgument),
        ("a loop of links", ls("loop"), ErrorCode::NotFound),
        ("a file", ls("file"), ErrorCode::NotADirectory),
        ("below a file", ls("file/x"), ErrorCode::NotADirectory),
        ("an overlong session", ok().of_session(&"s".repeat(200)), ErrorCode::InvalidArgument),
    ];
    for (what, request, code) in cases {
        let answer = server.send(request);
        println!("{what}: {} {code}", answer.status);
        assert_error(&answer, code);
    }
    server.assert_alive("wrong requests");
}

#[test]
fn a_typo_in_a_field_or_a_tool_is_answered_with_the_nearest_right_name() {
    let server = ToolServer::start();
    for (tool, arguments, code, nearest) in [
        ("ls", json!({"recursiv": true}), ErrorCode::InvalidArgument, "recursive"),
        ("lls", json!({}), ErrorCode::UnknownTool, "ls"),
    ] {
        let error = assert_error(&server.send(Request::call(tool, &arguments)), code).meta.error.unwrap();
        assert_says(&format!("{} {}", error.message, error.hint), &[nearest]);
    }
}

#[test]
fn a_server_with_a_token_refuses_whoever_does_not_bring_it() {
    let server = ToolServer::builder().token("FAKE-token-1").start();
    for authorization in
        ["Bearer FAKE-token-2", "Bearer FAKE-token-", "Bearer ", "Basic FAKE-token-1", "FAKE-token-1"]
    {
        let answer = server.send(ls(".").header("Authorization", authorization));
        assert_error(&answer, ErrorCode::Unauthorized);
    }
    let without = ls(".").send(server.address());
    assert_error(&without, ErrorCode::Unauthorized);
    assert_error(&Request::get("/tools").send(server.address()), ErrorCode::Unauthorized);
    assert_whole(&server.send(ls(".")));
    for open in ["/livez", "/readyz", "/openapi.json", "/docs/", "/llms.txt"] {
        assert_eq!(Request::get(open).send(server.address()).status, 200, "{open}");
    }
}

#[test]
fn a_disabled_tool_is_not_allowed() {
    let server = ToolServer::builder().variable("AUTONOUS_TOOL_DISABLED", "ls").start();
    assert_error(&server.send(ls(".")), ErrorCode::ToolNotAllowed);
}

#[test]
fn a_denied_name_is_refused_and_left_out_of_listings() {
    let server = ToolServer::start();
    fs::create_dir(server.root().join(".ssh")).unwrap();
    fs::write(server.root().join(".env"), "A=1").unwrap();
    fs::write(server.root().join("key.pem"), "k").unwrap();
    fs::write(server.root().join("seen"), "s").unwrap();
    for path in [".ssh", ".env", "key.pem", "missing.pem", ".ssh/missing", ".ssh/../seen/../.ssh"] {
        assert_error(&server.send(ls(path)), ErrorCode::PathDenied);
    }
    let all = server.call("ls", &json!({"path": ".", "include_hidden": true, "recursive": true}));
    assert_eq!(all.stdout, "seen\n");
    symlink(".ssh", server.root().join("innocent")).unwrap();
    assert_error(&server.send(ls("innocent")), ErrorCode::PathDenied);
}

#[test]
fn an_error_reads_well_as_text_too() {
    let server = ToolServer::start();
    let answer = server.send(ls("nope").header("Accept", "text/plain"));
    assert_eq!(answer.status, 200);
    assert!(answer.header("content-type").is_some_and(|kind| kind.starts_with("text/plain")), "{answer:?}");
    assert!(answer.text().starts_with("exit 1 · error NOT_FOUND\n"), "{}", answer.text());
}
