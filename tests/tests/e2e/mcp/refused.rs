//! Refusals before a message is read: strangers, other pages, and bodies that are no message.

use harness::envelope_shape::assert_error;
use harness::tool_server::APPROVER;
use harness::{Request, ToolServer};
use protocol::ErrorCode;
use serde_json::json;

use super::{call, list, message, posted};

#[test]
fn host_origin_and_token_are_checked_as_for_every_route() {
    let server = ToolServer::builder().token("FAKE-token").approver().start();
    let bearing = |token: &str| list().header("Authorization", &format!("Bearer {token}"));
    for (what, request, code) in [
        ("no token", list().header("Authorization", ""), ErrorCode::Unauthorized),
        ("a wrong token", bearing("nope"), ErrorCode::Unauthorized),
        ("the approver's token", bearing(APPROVER), ErrorCode::Unauthorized),
        ("a foreign host", list().header("Host", "evil.example"), ErrorCode::OriginRefused),
        ("a foreign page", list().header("Origin", "http://evil.example"), ErrorCode::OriginRefused),
        ("a page without a name", list().header("Origin", "null"), ErrorCode::OriginRefused),
    ] {
        println!("{what}");
        assert_error(&server.send(request), code);
    }
    for method in ["GET", "DELETE"] {
        let request = Request::new(method, "/mcp").header("Authorization", "Bearer nope");
        assert_error(&server.send(request), ErrorCode::Unauthorized);
    }
    let own = format!("http://{}", server.address());
    assert_eq!(server.send(list().header("Origin", &own)).status, 200);
}

#[test]
fn a_body_that_is_no_message_is_answered_with_the_protocols_error() {
    let server = ToolServer::start();
    let garbage = |body: &str| {
        let accept = "application/json, text/event-stream";
        let answer = server.send(Request::post("/mcp", body).header("Accept", accept));
        (answer.status, answer.json()["error"]["code"].as_i64().unwrap())
    };
    for body in ["", "{", "nonsense", "{\"jsonrpc\": \"2.0\", \"id\": 1", "\u{0}"] {
        assert_eq!(garbage(body), (400, -32700), "{body}");
    }
    let batch = json!([message(1, "tools/list", json!({}), &json!({}))]).to_string();
    for body in ["{}", "7", "null", "[]", &batch, r#"{"jsonrpc": "1.0", "id": 1, "method": "ping"}"#] {
        assert_eq!(garbage(body), (400, -32600), "{body}");
    }
}

#[test]
fn a_body_that_is_too_large_or_declared_as_something_else_is_refused_as_for_every_route() {
    let server = ToolServer::start();
    let large = json!({"path": "a.txt", "content": "x".repeat(9 << 20)});
    assert_error(&server.send(posted(&call("write", &large))), ErrorCode::PayloadTooLarge);
    let form = list().header("Content-Type", "application/x-www-form-urlencoded");
    assert_error(&server.send(form), ErrorCode::UnsupportedMediaType);
    assert_error(&server.send(Request::new("PUT", "/mcp")), ErrorCode::MethodNotAllowed);
    assert_eq!(server.send(list().header("Accept", "text/html")).status, 406);
}

#[test]
fn a_message_whose_headers_say_something_else_is_refused() {
    let server = ToolServer::start();
    let read = call("read", &json!({"path": "a.txt"}));
    for (what, request) in [
        ("another tool", posted(&read).header("Mcp-Name", "ls")),
        ("another method", posted(&read).header("Mcp-Method", "tools/list")),
        ("no tool", posted(&read).without("Mcp-Name")),
        ("another revision", posted(&read).header("MCP-Protocol-Version", "2025-11-25")),
        ("an unknown revision", posted(&read).header("MCP-Protocol-Version", "1999-01-01")),
    ] {
        let answer = server.send(request);
        assert_eq!(answer.status, 400, "{what}: {}", answer.text());
        assert!(answer.json()["error"]["message"].is_string(), "{what}");
    }
    let listen = Request::get("/mcp").header("Accept", "text/event-stream");
    assert_eq!(server.send(listen.header("MCP-Protocol-Version", "2026-07-28")).status, 405);
}
