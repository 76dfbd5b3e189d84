//! Malformed requests: each is refused, with an envelope or by HTTP itself, and the server keeps working.

use harness::envelope_shape::assert_error;
use harness::{Request, ToolServer};
use protocol::ErrorCode::{InvalidArgument, PayloadTooLarge, UnsupportedMediaType};

/// Bodies that are not arguments of `ls`.
fn bodies() -> Vec<(&'static str, Vec<u8>)> {
    let deep =
        |open: &str, close: &str| format!(r#"{{"path":{}1{}}}"#, open.repeat(100_000), close.repeat(100_000));
    let texts: [(&str, &str); 34] = [
        ("nothing", ""),
        ("white space", "  \n"),
        ("half an object", r#"{"path":"."#),
        ("an array", "[]"),
        ("an array of objects", r#"[{"path":"."}]"#),
        ("a text", r#"".""#),
        ("a number", "1"),
        ("null", "null"),
        ("single quotes", "{'path':'.'}"),
        ("a comment", r#"{"path":"." /* here */}"#),
        ("a trailing comma", r#"{"path":".",}"#),
        ("trailing garbage", r#"{"path":"."} x"#),
        ("two objects", r#"{"path":"."}{"path":"."}"#),
        ("deep arrays", &deep("[", "]")),
        ("deep objects", &deep(r#"{"a":"#, "}")),
        ("a duplicate key", r#"{"path":".","path":"/etc"}"#),
        ("an escaped duplicate key", r#"{"path":".","p\u0061th":"/etc"}"#),
        ("an unknown field", r#"{"path":".","depth":1}"#),
        ("an empty field name", r#"{"":"."}"#),
        ("a number for a text", r#"{"path":1}"#),
        ("null for an unknown argument", r#"{"pth":null}"#),
        ("an array for a text", r#"{"path":["."]}"#),
        ("a text for a number", r#"{"limit":"5"}"#),
        ("a flag for a number", r#"{"limit":true}"#),
        ("a number for a flag", r#"{"recursive":1}"#),
        ("a negative number", r#"{"limit":-5}"#),
        ("a fraction", r#"{"limit":1.5}"#),
        ("a huge number", r#"{"limit":1e400}"#),
        ("NaN", r#"{"limit":NaN}"#),
        ("a NUL in a path", r#"{"path":"a\u0000b"}"#),
        ("a lone surrogate", r#"{"path":"\ud800"}"#),
        ("a false cursor", r#"{"cursor":"AAAA%%"}"#),
        ("a number of 70 digits", &format!(r#"{{"limit":{}}}"#, "9".repeat(70))),
        ("a path of 1 MiB", &format!(r#"{{"path":"{}"}}"#, "a".repeat(1 << 20))),
    ];
    let bytes: [(&str, &[u8]); 3] = [
        ("invalid UTF-8", b"{\"path\":\"\xff\xfe\"}"),
        ("a raw NUL", b"{\"path\":\"a\0b\"}"),
        ("a byte order mark", b"\xef\xbb\xbf{\"path\":\".\"}"),
    ];
    let texts = texts.iter().map(|(what, text)| (*what, text.as_bytes().to_vec()));
    texts.chain(bytes.map(|(what, body)| (what, body.to_vec()))).collect()
}

#[test]
fn bodies_that_are_not_arguments_are_invalid_arguments() {
    let server = ToolServer::start();
    for (what, body) in bodies() {
        println!("{what}");
        assert_error(&server.send(Request::post("/tools/ls", body)), InvalidArgument);
    }
    server.assert_alive("bodies that are not arguments");
}

#[test]
fn what_is_not_plain_json_is_an_unsupported_media_type() {
    let server = ToolServer::start();
    let call = |header, value| Request::post("/tools/ls", r#"{"path":"."}"#).header(header, value);
    let kinds = ["text/plain", "application/xml", "multipart/form-data; boundary=x", "application/jsonx"];
    for kind in kinds.into_iter().chain(["*/*", "", "text/json"]) {
        println!("{kind:?}");
        assert_error(&server.send(call("Content-Type", kind)), UnsupportedMediaType);
    }
    for encoding in ["gzip", "deflate", "br", "identity, gzip"] {
        assert_error(&server.send(call("Content-Encoding", encoding)), UnsupportedMediaType);
    }
    assert!(server.send(call("Content-Type", "application/json; charset=utf-8")).envelope().ok);
}

#[test]
fn oversized_bodies_are_refused_with_and_without_a_length() {
    let server = ToolServer::start();
    let body = || Request::post("/tools/ls", vec![b'A'; 32 * 1024 * 1024]);
    assert_error(&server.send(body()), PayloadTooLarge);
    assert_error(&server.send(body().header("Transfer-Encoding", "chunked")), PayloadTooLarge);
    server.assert_alive("oversized bodies");
}

#[test]
fn a_client_that_promises_a_body_and_goes_away_harms_nobody() {
    let server = ToolServer::start();
    for promised in ["2", "1000000", "99999999", "18446744073709551615"] {
        let request = Request::post("/tools/ls", "{").header("Content-Length", promised);
        drop(request.send_without_the_last(0, server.address()));
        server.assert_alive(promised);
    }
}

#[test]
fn requests_that_are_wrong_below_json_are_refused() {
    let server = ToolServer::start();
    let host = server.address().to_string();
    let post = |line: &str, headers: &str| {
        format!(
            "{line}\r\nContent-Type: application/json\r\nConnection: close\r\n{headers}Content-Length: \
             2\r\n\r\n{{}}"
        )
    };
    let line = "POST /tools/ls HTTP/1.1";
    let cases = [
        ("two hosts", post(line, &format!("Host: {host}\r\nHost: evil\r\n"))),
        ("no host", post(line, "")),
        ("an empty host", post(line, "Host: \r\n")),
        ("a foreign host", post(line, "Host: evil.example\r\n")),
        ("our name with a foreign port", post(line, "Host: 127.0.0.1:1\r\n")),
        ("a host that only begins like ours", post(line, &format!("Host: {host}.evil.example\r\n"))),
        ("a host with a user", post(line, &format!("Host: user@{host}\r\n"))),
        ("a foreign target", post("POST http://evil/tools/ls HTTP/1.1", &format!("Host: {host}\r\n"))),
        ("a foreign origin", post(line, &format!("Host: {host}\r\nOrigin: http://evil.example\r\n"))),
        ("the null origin", post(line, &format!("Host: {host}\r\nOrigin: null\r\n"))),
        ("two lengths", post(line, &format!("Host: {host}\r\nContent-Length: 3\r\n"))),
        ("no length that is a number", post(line, &format!("Host: {host}\r\nContent-Length: x\r\n"))),
        ("a length and chunks", post(line, &format!("Host: {host}\r\nTransfer-Encoding: gzip\r\n"))),
        ("a header of 1 MiB", post(line, &format!("Host: {host}\r\nX: {}\r\n", "a".repeat(1 << 20)))),
        ("a thousand headers", post(line, &format!("Host: {host}\r\n{}", "A: b\r\n".repeat(1000)))),
        ("a header without a name", post(line, &format!("Host: {host}\r\n: x\r\n"))),
        ("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned()),
        ("HTTP/9", post("POST /tools/ls HTTP/9.9", &format!("Host: {host}\r\n"))),
        ("no method that exists", post("B@D /tools/ls HTTP/1.1", &format!("Host: {host}\r\n"))),
        ("no HTTP at all", "\u{16}\u{3}\u{1}hello\r\n\r\n".to_owned()),
    ];
    for (what, bytes) in cases {
        let answer = server.raw(bytes.as_bytes());
        println!("{what}: {:?}", answer.as_ref().map(|answer| answer.status));
        let refused = answer.as_ref().is_none_or(|answer| (400..506).contains(&answer.status));
        assert!(refused, "{what}: {answer:?}");
        server.assert_alive(what);
    }
}

#[test]
fn a_token_in_the_query_string_does_not_count() {
    let server = ToolServer::builder().token("FAKE-token-1").start();
    let request = Request::post("/tools/ls?token=FAKE-token-1", "{}").header("Authorization", "");
    assert_error(&server.send(request), protocol::ErrorCode::Unauthorized);
}
