//! The fake servers follow the protocols that they imitate; otherwise tests that use them prove nothing.

use std::net::SocketAddr;

use harness::fake_telegram::TOKEN;
use harness::fake_telegram::update::Chat;
use harness::{FakeModel, FakeTelegram, Fault, ModelReply, Request, http};
use serde_json::{Value, json};

fn method(server: &FakeTelegram, method: &str, parameters: &Value) -> (u16, Value) {
    let answer = Request::post_json(&format!("/bot{TOKEN}/{method}"), parameters).send(server.address());
    (answer.status, answer.json())
}

fn update_ids(server: &FakeTelegram, parameters: &Value) -> Vec<i64> {
    let (_, answer) = method(server, "GetUpdates", parameters);
    let updates = answer["result"].as_array().expect("updates are a list");
    updates.iter().filter_map(|update| update["update_id"].as_i64()).collect()
}

#[test]
fn an_update_is_served_until_an_offset_confirms_it() {
    let server = FakeTelegram::start();
    let first = server.push(Chat { id: 1 }.text("a"));
    let second = server.push(Chat { id: 1 }.text("b"));
    assert_eq!(update_ids(&server, &json!({"limit": 1})), [first]);
    assert_eq!(update_ids(&server, &json!({})), [first, second]);
    assert_eq!(update_ids(&server, &json!({"offset": second})), [second]);
    assert_eq!(update_ids(&server, &json!({"offset": second + 1})), Vec::<i64>::new());
    server.redeliver(first, Chat { id: 1 }.text("a"));
    assert_eq!(update_ids(&server, &json!({"offset": second + 1})), [first]);
}

#[test]
fn a_long_poll_answers_as_soon_as_there_is_an_update() {
    let server = FakeTelegram::start();
    std::thread::scope(|scope| {
        let poll = scope.spawn(|| update_ids(&server, &json!({"timeout": 50})));
        harness::wait::until_true("the poll has started", || !server.calls("getupdates").is_empty());
        let id = server.push(Chat { id: 1 }.text("a"));
        assert_eq!(poll.join().unwrap(), [id]);
    });
}

fn message(text: &str) -> Value {
    json!({"chat_id": 1, "text": text, "link_preview_options": {"is_disabled": true}})
}

#[test]
fn method_names_ignore_case_and_a_message_has_at_most_4096_utf16_units() {
    let server = FakeTelegram::start();
    for name in ["sendMessage", "SendMessage", "sendmessage"] {
        assert_eq!(method(&server, name, &message(&"😀".repeat(2048))).0, 200, "{name}");
    }
    assert_eq!(method(&server, "sendMessage", &message(&"😀".repeat(2049))).0, 400);
    assert_eq!(method(&server, "sendMessage", &message("")).0, 400);
    assert_eq!(method(&server, "sendMessage", &json!({"chat_id": 1, "text": "with previews"})).0, 400);
    assert_eq!(server.sent().len(), 3);
}

#[test]
fn entities_outside_of_the_text_or_wrongly_nested_are_refused() {
    let server = FakeTelegram::start();
    let entity =
        |kind: &str, offset: usize, length: usize| json!({"type": kind, "offset": offset, "length": length});
    let link = |url: &str| json!({"type": "text_link", "offset": 0, "length": 4, "url": url});
    let text = "ab 😀 cd\n ef";
    let many = |count| Value::Array(vec![entity("bold", 0, 2); count]);
    for (entities, status) in [
        (json!([entity("bold", 0, 5), entity("italic", 3, 2), entity("code", 6, 2)]), 200),
        (json!([entity("blockquote", 0, 12), entity("pre", 0, 2), link("https://e.org/")]), 400),
        (json!([entity("blockquote", 0, 12), entity("pre", 6, 6), entity("bold", 0, 2)]), 200),
        (json!([link("https://e.org/a"), entity("bold", 0, 2)]), 400),
        (json!([{"type": "text_link", "offset": 0, "length": 2, "url": "https://e.org/a"}]), 200),
        (json!([entity("text_link", 0, 2)]), 400),
        (json!([{"type": "text_link", "offset": 0, "length": 2, "url": "tg://user?id=1"}]), 400),
        (json!([entity("bold", 0, 4)]), 400),
        (json!([entity("bold", 4, 1)]), 400),
        (json!([entity("bold", 0, 0)]), 400),
        (json!([entity("bold", 10, 3)]), 400),
        (json!([entity("bold", 0, 3)]), 400),
        (json!([entity("bold", 2, 3)]), 400),
        (json!([entity("pre", 8, 4)]), 200),
        (json!([entity("bold", 0, 8), entity("italic", 6, 6)]), 400),
        (json!([entity("bold", 0, 8), entity("bold", 0, 2)]), 400),
        (json!([entity("bold", 0, 8), entity("code", 0, 2)]), 400),
        (json!([entity("blockquote", 0, 8), entity("expandable_blockquote", 0, 2)]), 400),
        (json!([entity("blink", 0, 2)]), 400),
        (json!([{"type": "bold", "offset": 0, "length": 2, "color": "red"}]), 400),
        (many(101), 400),
    ] {
        let mut message = message(text);
        message["entities"] = entities;
        let (answered, answer) = method(&server, "sendMessage", &message);
        assert_eq!(answered, status, "{} {answer}", message["entities"]);
    }
}

#[test]
fn a_fault_occurs_once_and_a_wrong_token_always_fails() {
    let server = FakeTelegram::start();
    server.fail("getMe", Fault::RetryAfter(3));
    let (status, refusal) = method(&server, "getMe", &json!({}));
    assert_eq!((status, &refusal["parameters"]["retry_after"]), (429, &json!(3)));
    assert_eq!(method(&server, "getMe", &json!({})).0, 200);
    let wrong = Request::post_json("/bot1:wrong/getMe", &json!({})).send(server.address());
    assert_eq!(wrong.status, 401);
}

#[test]
fn a_dropped_connection_has_no_response_although_the_message_was_sent() {
    let server = FakeTelegram::start();
    server.fail("sendMessage", Fault::Dropped);
    let message = Request::post_json(&format!("/bot{TOKEN}/sendMessage"), &message("x"));
    let answer = message.try_send(server.address());
    assert!(answer.is_err(), "{answer:?}");
    assert_eq!(server.sent().len(), 1);
}

#[test]
fn the_model_answers_as_scripted_and_only_with_its_key() {
    let model = FakeModel::answering(vec![
        ModelReply::RateLimited(2),
        ModelReply::call("ls", &json!({"path": "."})),
        ModelReply::Text("done".to_owned()),
    ]);
    let [_, _, (_, url), (_, key)] = model.variables();
    let address: SocketAddr = http::address_of(url.strip_suffix("/v1").unwrap());
    let request = Request::post_json("/v1/chat/completions", &json!({"model": "m", "messages": []}));
    assert_eq!(request.send(address).status, 401);
    let request = request.header("Authorization", &format!("Bearer {key}"));
    let limited = request.send(address);
    assert_eq!((limited.status, limited.header("retry-after")), (429, Some("2")));
    let call = request.send(address).json();
    assert_eq!(call["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"], r#"{"path":"."}"#);
    for _ in 0..2 {
        assert_eq!(request.send(address).json()["choices"][0]["message"]["content"], "done");
    }
}
