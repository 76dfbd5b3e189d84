//! The document's examples and schemas against what a server does: every example succeeds, and every answer
//! has the type that the document gives its status.

use harness::http::Answer;
use harness::{Request, ToolServer};
use serde_json::{Value, json};

use crate::commands;

/// These reach for the web, which no test does.
const OF_THE_WEB: [&str; 2] = ["url_fetch", "web_search"];

/// The answers that a server's document promises.
struct Document(Value);

impl Document {
    fn of(server: &ToolServer) -> Self {
        Self(server.send(Request::get("/openapi.json")).json())
    }

    /// The tools with their examples, from the one that makes a file to the one that deletes it.
    fn examples(&self) -> Vec<(String, Value)> {
        let paths = self.0["paths"].as_object().expect("paths");
        let mut examples: Vec<(String, Value)> = paths
            .iter()
            .filter_map(|(path, item)| {
                let example = &item["post"]["requestBody"]["content"]["application/json"]["example"];
                Some((path.strip_prefix("/tools/")?.to_owned(), example.clone()))
            })
            .collect();
        let order = ["write", "read", "edit", "multi_edit"];
        let place = |tool: &str| order.iter().position(|name| *name == tool).unwrap_or(order.len());
        examples.sort_by_key(|(tool, _)| (["delete", "process_kill"].contains(&tool.as_str()), place(tool)));
        examples
    }

    /// Holds an answer against the schema of its status.
    fn check(&self, tool: &str, arguments: &Value, answer: &Answer) {
        let declared = &self.0["paths"][format!("/tools/{tool}")]["post"]["responses"];
        let status = answer.status.to_string();
        assert!(declared.get(&status).is_some(), "{tool} {arguments}: {status} is not in the document");
        let mut schema = self.0.clone();
        schema["$ref"] = json!(format!(
            "#/paths/~1tools~1{tool}/post/responses/{status}/content/application~1json/schema"
        ));
        let validator = jsonschema::draft202012::new(&schema).expect("a valid schema");
        let body = answer.json();
        let errors: Vec<String> = validator.iter_errors(&body).map(|error| error.to_string()).collect();
        assert_eq!(errors, Vec::<String>::new(), "{tool} {arguments}: {body}");
    }
}

/// Sends a call, and returns the envelope after holding it against the document.
fn call(server: &ToolServer, document: &Document, tool: &str, arguments: &Value) -> Value {
    let answer = server.send(Request::call(tool, arguments));
    document.check(tool, arguments, &answer);
    answer.json()
}

#[test]
fn every_example_succeeds_on_a_fresh_server_and_every_answer_is_of_its_type() {
    let server = commands::server();
    let document = Document::of(&server);
    let examples = document.examples();
    assert!(examples.len() > 10, "{examples:?}");
    // No example can know the ID of a process.
    let process = json!({"cmd": "sleep 300", "background": true});
    let process = call(&server, &document, "bash", &process)["meta"]["data"]["process_id"].take();
    for (tool, example) in &examples {
        let mut example = example.clone();
        if example.get("process_id").is_some() {
            example["process_id"] = process.clone();
        }
        let envelope = call(&server, &document, tool, &example);
        assert!(envelope["ok"] == true || OF_THE_WEB.contains(&tool.as_str()), "{tool}: {envelope}");
    }
}

#[test]
fn what_goes_wrong_is_answered_as_the_document_says() {
    let server = commands::server();
    let document = Document::of(&server);
    for (tool, example) in document.examples() {
        for (name, wrong) in [("zzz", json!(1)), ("path", json!(7)), ("cursor", json!("nonsense"))] {
            let mut arguments = example.clone();
            arguments[name] = wrong;
            call(&server, &document, &tool, &arguments);
        }
        call(&server, &document, &tool, &json!({}));
    }
    let script = |args: &[&str]| json!({"skill": "example", "relative_path": "fail.sh", "args": args});
    let long = "x".repeat(200_000);
    for (tool, arguments) in [
        ("bash", json!({"cmd": "exit 3"})),
        ("bash", json!({"cmd": "sleep 60", "timeout_seconds": 1})),
        ("bash", json!({"cmd": "kill -9 $$"})),
        ("bash", json!({"cmd": "true", "workdir": "nope"})),
        ("bash", json!({"cmd": "sudo ls"})),
        ("bash", json!({"cmd": format!("echo {long} | head -c 1"), "timeout_seconds": 5})),
        ("bash", json!({"cmd": "seq 100000"})),
        (
            "bash",
            json!({"cmd": "mkdir -p r/.git/hooks; cd r; git init -q .; echo x > .git/hooks/pre-commit"}),
        ),
        ("run_script", script(&[])),
        ("run_script", json!({"skill": "example", "relative_path": "../../x"})),
        ("read", json!({"path": "nope"})),
        ("read", json!({"path": "/etc/passwd"})),
        ("read", json!({"path": "."})),
        ("write", json!({"path": ".git/config", "content": "x"})),
        ("edit", json!({"path": "new", "find": "a", "replace": "b"})),
        ("grep", json!({"pattern": "("})),
        ("skill", json!({"name": "none"})),
        ("delete", json!({"path": "nope"})),
    ] {
        call(&server, &document, tool, &arguments);
    }
}

#[test]
fn a_path_that_the_schema_takes_is_read_and_another_says_what_is_wrong_with_it() {
    let server = commands::server();
    let document = Document::of(&server);
    let schema = &document.0["paths"]["/tools/read"]["post"]["requestBody"]["content"]["application/json"];
    let validator = jsonschema::draft202012::new(&schema["schema"]).expect("a valid schema");
    for (path, complaint) in [
        ("nope", None),
        ("a\\\\b", None),
        ("a\\x41\\u{e9}\\n", None),
        ("\u{202e}e", None),
        ("line\nbreak", None),
        ("", Some("`path` must not be empty.")),
        ("a\0b", Some("`path` has a NUL byte")),
        ("a\\qb", Some("`path` has a backslash that does not begin an escape")),
        ("a\\", Some("`path` has a backslash that does not begin an escape")),
    ] {
        let arguments = json!({"path": path});
        assert_eq!(validator.is_valid(&arguments), complaint.is_none(), "{path:?}");
        let error = call(&server, &document, "read", &arguments)["meta"]["error"].take();
        let expected = if complaint.is_some() { "INVALID_ARGUMENT" } else { "NOT_FOUND" };
        assert_eq!(error["code"], expected, "{path:?}: {error}");
        assert!(error["message"].as_str().unwrap().starts_with(complaint.unwrap_or_default()), "{error}");
    }
}
