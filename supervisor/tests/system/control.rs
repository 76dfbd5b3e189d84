//! The control port, as its callers meet it.

use std::time::Duration;

use reqwest::{Client, RequestBuilder, StatusCode};
use serde_json::{Value, json};

use crate::house::{House, Plan};

/// Asks with the token, and waits for the reply.
pub(crate) async fn reply_to(house: &House, text: &str) -> Value {
    let tokens = house.tokens();
    let client = client();
    let post = client.post(format!("{}/messages", tokens.control_url)).bearer_auth(&tokens.control_token);
    let (status, queued) = answer(post.json(&json!({"text": text}))).await;
    assert_eq!((status, &queued["status"]), (StatusCode::ACCEPTED, &json!("queued")));
    let id = queued["task_id"].as_str().expect("a queued message has a task");
    let address = format!("{}/messages/{id}?wait_seconds=20", tokens.control_url);
    answer(client.get(address).bearer_auth(&tokens.control_token)).await.1
}

fn client() -> Client {
    Client::builder().no_proxy().timeout(Duration::from_secs(30)).build().expect("a client can be made")
}

async fn answer(request: RequestBuilder) -> (StatusCode, Value) {
    let answer = request.send().await.expect("the control port answers");
    (answer.status(), answer.json().await.expect("the answer is JSON"))
}

#[tokio::test]
async fn a_message_gets_its_reply_without_polling() {
    let house = House::start(Plan::default()).await;
    let reply = reply_to(&house, "hello").await;
    assert_eq!((&reply["status"], &reply["reply"]), (&json!("done"), &json!("HELLO")));
    house.stop().await;
}

#[tokio::test]
async fn every_refusal_is_json_with_a_code_a_message_and_a_hint() {
    let house = House::start(Plan::default()).await;
    let tokens = house.tokens();
    let (client, token) = (client(), tokens.control_token.as_str());
    let url = |path: &str| format!("{}{path}", tokens.control_url);
    let post = |body: &'static str| {
        client.post(url("/messages")).bearer_auth(token).header("content-type", "application/json").body(body)
    };
    for (request, status, code) in [
        (client.post(url("/messages")).body("{}"), 401, "UNAUTHORIZED"),
        (client.get(url("/messages/x")).bearer_auth("wrong"), 401, "UNAUTHORIZED"),
        (client.get(url("/livez")).header("host", "evil.example"), 403, "ORIGIN_REFUSED"),
        (client.get(url("/livez")).header("origin", "http://evil.example"), 403, "ORIGIN_REFUSED"),
        (client.get(url("/nothing")), 404, "NOT_FOUND"),
        (client.get(url("/messages/x")).bearer_auth(token), 404, "NOT_FOUND"),
        (client.get(url("/messages/x?wait_seconds=no")).bearer_auth(token), 400, "INVALID_ARGUMENT"),
        (client.get(url("/messages/x?wait_seconds=601")).bearer_auth(token), 400, "INVALID_ARGUMENT"),
        (client.delete(url("/livez")), 405, "METHOD_NOT_ALLOWED"),
        (client.post(url("/messages")).bearer_auth(token).body("{}"), 415, "UNSUPPORTED_MEDIA_TYPE"),
        (post("{"), 400, "INVALID_ARGUMENT"),
        (post("{\"text\":\" \"}"), 400, "INVALID_ARGUMENT"),
        (post("{\"text\":\"a\",\"chat\":\"42\"}"), 400, "INVALID_ARGUMENT"),
        (post("{\"text\":\"a\",\"colour\":\"red\"}"), 400, "INVALID_ARGUMENT"),
    ] {
        let (found, body) = answer(request).await;
        let error = &body["error"];
        assert_eq!((found.as_u16(), error["code"].as_str()), (status, Some(code)), "{body}");
        assert!(
            ["message", "hint"]
                .iter()
                .all(|field| error[*field].as_str().is_some_and(|text| !text.is_empty()))
        );
    }
    let large = post("").body(format!("{{\"text\":\"{}\"}}", "x".repeat(2 * 1024 * 1024)));
    assert_eq!(answer(large).await.0, StatusCode::PAYLOAD_TOO_LARGE);
    house.stop().await;
}

#[tokio::test]
async fn readiness_names_the_child_that_is_not_ready() {
    let house = House::start(Plan::default()).await;
    let url = house.tokens().control_url;
    house
        .until("the worker is ready", async || {
            let (status, body) = answer(client().get(format!("{url}/readyz"))).await;
            assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "the tool server is never ready here");
            body["children"] == json!({"agent-worker": "ready", "tool-server": "starting"})
        })
        .await;
    assert_eq!(answer(client().get(format!("{url}/livez"))).await.0, StatusCode::OK);
    house.stop().await;
}
