//! Calls of tools as data: each file of `tests/data/calls/` has the calls of the tool that it is named after,
//! and what they answer.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use protocol::ErrorCode;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::support::TestServer;

/// One call on a server of its own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// What it shows.
    about: String,
    /// What is in the root: paths with contents. A path that ends in a slash is a directory.
    #[serde(default)]
    files: Vec<(String, String)>,
    arguments: Value,
    /// The error; absent if there is none.
    code: Option<ErrorCode>,
    /// All of `stdout`, if it matters.
    stdout: Option<String>,
    /// What `meta.data` has, among others.
    #[serde(default)]
    data: Map<String, Value>,
}

#[tokio::test]
async fn each_call_is_answered_as_the_data_says() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/calls");
    let mut tools: BTreeMap<String, Vec<Case>> = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let cases = serde_json::from_slice(&fs::read(&path).unwrap());
        let cases = cases.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        tools.insert(path.file_stem().unwrap().to_str().unwrap().to_owned(), cases);
    }
    assert!(!tools.is_empty());
    for (tool, cases) in &tools {
        assert!(!cases.is_empty(), "{tool}");
        for case in cases {
            check(tool, case).await;
        }
    }
}

async fn check(tool: &str, case: &Case) {
    let Case { about, files, arguments, code, stdout, data } = case;
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, content)| (path.as_str(), content.as_str())).collect();
    let envelope = TestServer::holding(&files).await.call(tool, arguments.clone()).await;
    let found = envelope.meta.error.as_ref().map(|error| error.code);
    assert_eq!(found, *code, "{tool}: {about}: {envelope:?}");
    if let Some(stdout) = stdout {
        assert_eq!(envelope.stdout, *stdout, "{tool}: {about}");
    }
    for (name, expected) in data {
        let found = &serde_json::to_value(&envelope.meta.data).unwrap()[name];
        assert!(has(found, expected), "{tool}: {about}: `{name}` is {found}, and not {expected}");
    }
}

/// Whether a value is as expected; of objects, only the expected fields count.
fn has(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            expected.iter().all(|(name, expected)| found.get(name).is_some_and(|found| has(found, expected)))
        }
        (Value::Array(found), Value::Array(expected)) => {
            found.len() == expected.len() && found.iter().zip(expected).all(|(found, one)| has(found, one))
        }
        (found, expected) => found == expected,
    }
}
