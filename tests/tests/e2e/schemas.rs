//! What the catalogue promises of a tool: what it takes, in each provider's form, and what it answers.

use harness::envelope_shape::assert_error;
use harness::{Request, ToolServer};
use protocol::ErrorCode;
use serde_json::{Value, json};

const FORMATS: [&str; 5] = ["openai", "openai-strict", "openai-responses", "anthropic", "gemini"];

fn tools(server: &ToolServer, query: &str) -> Vec<Value> {
    let answer = server.send(Request::get(&format!("/tools{query}")));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["tools"].as_array().expect("a list of tools").clone()
}

/// Calls a tool and returns the envelope, after holding its data against the tool's own schema.
fn call(server: &ToolServer, catalogue: &[Value], tool: &str, arguments: &Value) -> Value {
    let spec = catalogue.iter().find(|spec| spec["name"] == tool).expect("the tool is in the catalogue");
    let envelope = server.send(Request::call(tool, arguments)).json();
    let validator = jsonschema::draft202012::new(&spec["output_schema"]).expect("a valid schema");
    let data = &envelope["meta"]["data"];
    let errors: Vec<String> = validator.iter_errors(data).map(|error| error.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new(), "{tool}: {envelope}");
    envelope
}

#[test]
fn a_command_answers_what_its_schema_promises_whether_it_succeeds_or_fails() {
    let server = ToolServer::start();
    let catalogue = tools(&server, "");
    for (cmd, ok) in [("echo yes; true", true), ("echo no; false", false), ("kill -9 $$; true", false)] {
        let envelope = call(&server, &catalogue, "bash", &json!({"cmd": cmd}));
        assert_eq!(envelope["ok"], ok, "{envelope}");
        assert_eq!(envelope["meta"]["data"]["created_control_files"], json!([]), "{envelope}");
    }
}

#[test]
fn null_is_taken_as_absent_and_a_required_argument_stays_required() {
    let server = ToolServer::start();
    let made = json!({
        "path": "a.txt", "content": "one\n", "mode": null, "dry_run": null, "expected_sha256": null,
    });
    assert!(server.call("write", &made).ok);
    let edits = json!([{"find": "one", "replace": "two", "all": null}]);
    let edited = server.call("multi_edit", &json!({"path": "a.txt", "edits": edits, "dry_run": null}));
    assert!(edited.ok, "{edited:?}");
    let listed = server.call("ls", &json!({"path": null, "limit": null, "cursor": null}));
    assert_eq!(listed.stdout, "a.txt\n", "{listed:?}");
    let error = server.call("read", &json!({"path": null})).meta.error.expect("a path is required");
    assert_eq!((error.code, error.message.as_str()), (ErrorCode::InvalidArgument, "`path` is required."));
    assert!(
        server.call("ls", &json!({"pth": null})).meta.error.is_some(),
        "an unknown argument stays unknown"
    );
}

#[test]
fn a_hash_that_is_none_is_refused_before_anything_is_changed() {
    let server = ToolServer::start();
    for hash in ["abc".to_owned(), "g".repeat(64), "a".repeat(65)] {
        let arguments = json!({"path": "a.txt", "content": "x", "expected_sha256": hash});
        let envelope =
            assert_error(&server.send(Request::call("write", &arguments)), ErrorCode::InvalidArgument);
        let message = envelope.meta.error.expect("an error").message;
        assert!(message.starts_with("`expected_sha256` "), "{message}");
        assert!(!server.root().join("a.txt").exists());
    }
}

#[test]
fn the_catalogue_is_served_as_the_functions_of_each_provider() {
    let server = ToolServer::builder().variable("AUTONOUS_TOOL_DISABLED", "delete,bash").start();
    let names: Vec<Value> = tools(&server, "").iter().map(|tool| tool["name"].clone()).collect();
    assert!(!names.contains(&json!("bash")) && names.len() > 5, "{names:?}");
    for format in FORMATS {
        let listed = tools(&server, &format!("?format={format}"));
        let functions = match format {
            "gemini" => listed[0]["functionDeclarations"].as_array().expect("declarations").clone(),
            "openai" | "openai-strict" => listed.iter().map(|tool| tool["function"].clone()).collect(),
            _ => listed,
        };
        let offered: Vec<Value> = functions.iter().map(|function| function["name"].clone()).collect();
        assert_eq!(offered, names, "{format}");
        let schemas = functions.iter().filter(|_| format == "gemini").map(|function| &function["parameters"]);
        schemas.filter(|schema| !schema.is_null()).for_each(assert_gemini_takes);
    }
}

/// Its server knows these fields alone, and no object without properties.
fn assert_gemini_takes(schema: &Value) {
    const FIELDS: &str = "type description enum format items maxItems maxLength maximum minItems minLength \
         minimum pattern properties required";
    let properties = schema["properties"].as_object();
    for name in schema.as_object().unwrap().keys() {
        assert!(FIELDS.split(' ').any(|field| field == name), "{name}: {schema}");
    }
    assert_eq!(schema["type"] == "OBJECT", properties.is_some_and(|all| !all.is_empty()), "{schema}");
    assert_eq!(schema["type"] == "ARRAY", schema["items"].is_object(), "{schema}");
    properties
        .into_iter()
        .flatten()
        .map(|(_, inner)| inner)
        .chain(schema.get("items"))
        .for_each(assert_gemini_takes);
}

#[test]
fn a_format_has_its_own_tag_and_an_unknown_one_is_refused_with_the_known_ones() {
    let server = ToolServer::start();
    let whole = server.send(Request::get("/tools"));
    let gemini = server.send(Request::get("/tools?format=gemini"));
    let tag = gemini.header("etag").expect("a tag");
    assert_ne!(whole.header("etag"), Some(tag));
    let again = server.send(Request::get("/tools?format=gemini").header("If-None-Match", tag));
    assert_eq!((again.status, again.text().as_str()), (304, ""));
    for query in ["format=mcp", "format=", "fromat=openai", "format=openai&format=gemini"] {
        let answer = server.send(Request::get(&format!("/tools?{query}")));
        let envelope = assert_error(&answer, ErrorCode::InvalidArgument);
        let hint = envelope.meta.error.expect("an error").hint;
        assert!(hint.contains("`format`"), "{query}: {hint}");
    }
}
