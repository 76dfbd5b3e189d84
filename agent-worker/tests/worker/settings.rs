//! The models' settings, seen by the servers: the content of the requests, the server that is asked, and its
//! key.

use std::fs;
use std::io::Read as _;
use std::net::TcpListener;

use harness::fake_model::{KEY, NAME};
use harness::worker::{command, task};
use harness::{FakeProxy, FakeToolServer, ModelReply, TestDir, Worker};
use protocol::event::TurnCompleted;
use serde_json::json;

use crate::{config_dir, listed, model, output_of, refuses, run_alone, run_with, says, with};

#[test]
fn effort_temperature_and_length_are_in_the_request_and_the_extra_fields_come_last() {
    let settings = [
        ("AUTONOUS_MODEL_REASONING_EFFORT", "high"),
        ("AUTONOUS_MODEL_TEMPERATURE", "0.5"),
        ("AUTONOUS_MODEL_MAX_OUTPUT_TOKENS", "777"),
        (
            "AUTONOUS_MODEL_EXTRA_BODY",
            r#"{"temperature":0.25,"stream_options":{"x":1},"service_tier":"flex"}"#,
        ),
        ("AUTONOUS_MODEL_EXTRA_HEADERS", r#"{"X-Title":"Autonous"}"#),
    ];
    let (ended, model) = run_alone(vec![says("hello")], &settings);
    assert_eq!(ended.reply(), "hello");
    let request = &model.requests()[0];
    assert_eq!((&request["reasoning_effort"], &request["max_tokens"]), (&json!("high"), &json!(777)));
    assert_eq!((&request["temperature"], &request["service_tier"]), (&json!(0.25), &json!("flex")));
    let options = json!({"include_usage": true, "x": 1});
    assert_eq!(request["stream_options"], options, "merged, not replaced");
    assert_eq!(model.headers()[0]["x-title"], "Autonous");
}

#[test]
fn azure_is_asked_for_its_deployment_with_the_version_and_its_key() {
    let (server, tools) = (model([says("from Azure")]), FakeToolServer::start([]));
    let azure = server.azure_url();
    let settings = [
        ("AUTONOUS_MODEL_PROVIDER", "openai"),
        ("AUTONOUS_MODEL_BASE_URL", &azure),
        ("AUTONOUS_MODEL_NAME", NAME),
        ("AUTONOUS_MODEL_API_KEY", KEY),
        ("AUTONOUS_MODEL_MAX_OUTPUT_TOKENS", "500"),
    ];
    assert_eq!(Worker::start(with(&tools, &settings)).run(&task("hi")).reply(), "from Azure");
    let headers = &server.headers()[0];
    assert_eq!((&headers["api-key"], headers.get("authorization")), (&KEY.parse().unwrap(), None));
    assert_eq!(server.requests()[0]["max_completion_tokens"], 500);
    let (code, said, _) = output_of(command(settings).arg("check"));
    assert!(code == Some(0) && said.starts_with(&format!("ok: openai, {NAME} at http://")), "{said}");
}

#[test]
fn a_model_is_picked_by_its_name_and_its_key_comes_from_its_file() {
    let (big, small, dir) = (model([says("big")]), model([says("small")]), TestDir::new());
    let key_file = dir.path().join("model.key");
    fs::write(&key_file, format!("{KEY}\n")).unwrap();
    let key = format!("api_key_file = {:?}\nmodel = \"{NAME}\"", key_file.display().to_string());
    let models = listed("big", "openai", &big, &key) + &listed("small", "anthropic", &small, &key);
    for (name, expected) in [(None, "big"), (Some("small"), "small"), (Some("big"), "big")] {
        let picked = name.map(|name| ("AUTONOUS_MODEL_NAME", name));
        let ended = run_with(&models, picked.as_slice());
        assert_eq!(ended.reply(), expected);
        assert_eq!(ended.events_of::<TurnCompleted>()[0].1.model_name, NAME);
    }
    assert_eq!((big.requests().len(), small.requests().len()), (2, 1));
}

#[test]
fn a_fallback_list_goes_over_providers_until_one_answers_and_its_price_counts() {
    let (first, second, third) =
        (model([refuses(503, "busy")]), model([refuses(429, "later")]), model([says("third")]));
    let key = "api_key_env = \"SOME_KEY\"";
    let prices = format!("{key}\nprices = {{ input = 3, cached_input = 0.5, output = 15 }}");
    let models = listed("a", "openai", &first, key)
        + &listed("b", "openai", &second, key)
        + &listed("c", "anthropic", &third, &prices);
    let settings = [
        ("AUTONOUS_MODEL_NAME", "a"),
        ("AUTONOUS_MODEL_FALLBACK", "b,c"),
        ("AUTONOUS_CONTROL_MAX_RETRIES", "0"),
        ("SOME_KEY", KEY),
    ];
    let ended = run_with(&models, &settings);
    assert_eq!(ended.reply(), "third");
    let turn = ended.events_of::<TurnCompleted>()[0].1;
    // 40 tokens for 3, 60 from the cache for 0.5 and 20 for 15 per million.
    assert_eq!((turn.model_name.as_str(), turn.cost_micros), ("c", Some(450)));
    let asked = [&first, &second, &third].map(|server| server.requests().len());
    assert_eq!(asked, [1, 1, 1]);
    assert_eq!(third.headers()[0]["x-api-key"], KEY);
}

#[test]
fn a_server_that_is_silent_too_long_is_given_up() {
    for (reply, variable) in [
        (ModelReply::Silent, "AUTONOUS_MODEL_FIRST_TOKEN_SECONDS"),
        (ModelReply::Stalled("a long answer that stops".into()), "AUTONOUS_MODEL_IDLE_SECONDS"),
    ] {
        let (ended, _) = run_alone(vec![reply], &[(variable, "1"), ("AUTONOUS_CONTROL_MAX_RETRIES", "0")]);
        let (error, _) = ended.failure();
        assert!(error.contains("no data for 1 seconds"), "{variable}: {error}");
    }
}

/// A server that only tls can speak with, behind or without the proxy.
fn https_settings<'a>(base_url: &'a str, proxy: &'a str, except: &'a str) -> [(&'a str, &'a str); 6] {
    [
        ("AUTONOUS_MODEL_PROVIDER", "openai"),
        ("AUTONOUS_MODEL_BASE_URL", base_url),
        ("AUTONOUS_MODEL_API_KEY", KEY),
        ("AUTONOUS_CONTROL_MAX_RETRIES", "0"),
        ("HTTPS_PROXY", proxy),
        ("NO_PROXY", except),
    ]
}

#[test]
fn an_https_server_is_asked_through_the_proxy_which_sees_neither_key_nor_conversation() {
    let (proxy, tools) = (FakeProxy::start(None), FakeToolServer::start([]));
    let address = format!("http://user:password@{}", proxy.address());
    let settings = https_settings("https://model.example/v1", &address, "localhost");
    let mut worker = Worker::start(with(&tools, &settings));
    let ended = worker.run(&task("hi"));
    assert!(ended.failure().0.contains("HTTPS_PROXY is set)"), "{:?}", ended.failure());
    let request = &proxy.requests()[0];
    assert_eq!(request.head[0], "CONNECT model.example:443 HTTP/1.1");
    let password = request.head.iter().find(|line| line.to_lowercase().starts_with("proxy-authorization: "));
    assert!(password.is_some_and(|line| line.ends_with("Basic dXNlcjpwYXNzd29yZA==")), "{request:?}");
    assert!(!format!("{:?}", request.head).contains(KEY));
    // A handshake of TLS, for the server's name.
    assert_eq!(request.first_bytes[0], 0x16);
    assert!(request.first_bytes.windows(13).any(|part| part == b"model.example"));
    assert!(!harness::environment(worker.pid()).is_some_and(|environment| environment.contains("password")));
}

#[test]
fn a_proxy_that_refuses_is_told_from_a_server_that_does() {
    let (proxy, tools) =
        (FakeProxy::start(Some("HTTP/1.1 407 Proxy Authentication Required")), FakeToolServer::start([]));
    let address = proxy.address().to_string();
    let settings = https_settings("https://model.example/v1", &address, "");
    let ended = Worker::start(with(&tools, &settings)).run(&task("hi"));
    let (error, _) = ended.failure();
    assert!(error.contains("proxy auth") && error.contains("HTTPS_PROXY is set)"), "{error}");
    let (_, said, _) = output_of(command(settings).arg("check"));
    assert!(said.starts_with("fail: ") && said.contains("HTTPS_PROXY"), "{said}");
    assert!(proxy.requests().len() >= 2);
}

#[test]
fn what_no_proxy_names_is_asked_directly() {
    let (proxy, tools) = (FakeProxy::start(None), FakeToolServer::start([]));
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("https://{}/v1", server.local_addr().unwrap());
    let address = format!("http://{}", proxy.address());
    let first_bytes = std::thread::spawn(move || {
        let mut first = [0; 1];
        server.accept().unwrap().0.read_exact(&mut first).unwrap();
        first
    });
    let settings = https_settings(&base_url, &address, "example.org, 127.0.0.0/8");
    let ended = Worker::start(with(&tools, &settings)).run(&task("hi"));
    assert!(ended.failure().1 || !ended.failure().0.is_empty());
    assert_eq!((first_bytes.join().unwrap(), proxy.requests()), ([0x16], Vec::new()));
}

#[test]
fn check_names_every_model_that_may_be_asked() {
    let server = model([]);
    let models = listed("big", "openai", &server, "api_key_env = \"K\"")
        + &listed("other", "anthropic", &server, "api_key_env = \"K\"");
    let (_dir, config) = config_dir(&models);
    let settings =
        [("AUTONOUS_CONFIG_DIR", config.as_str()), ("AUTONOUS_MODEL_FALLBACK", "other"), ("K", KEY)];
    let (_, said, _) = output_of(command(settings).arg("check"));
    assert!(
        said.starts_with("warn: openai, big at ") && said.contains("; then anthropic, other at"),
        "{said}"
    );
}
