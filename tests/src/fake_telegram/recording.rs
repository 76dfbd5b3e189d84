//! The record of all calls and updates, as lines of JSON, for programs that know the Bot API's types
//! (`tests/clients/telegram_types.py`). It is kept only if a directory is named.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use axum::body::{Body, to_bytes};
use axum::response::Response;
use serde_json::{Value, json};

use super::form::Form;

/// Names the directory; each test process has a file of its own in it.
const DIRECTORY: &str = "AUTONOUS_TEST_TELEGRAM_RECORD";

#[derive(Debug)]
pub(super) struct Recording(File);

impl Recording {
    pub(super) fn begin() -> Option<Self> {
        let directory = std::env::var_os(DIRECTORY)?;
        let path = Path::new(&directory).join(format!("{}.jsonl", std::process::id()));
        let file = OpenOptions::new().create(true).append(true).open(path);
        Some(Self(file.expect("the record can be written")))
    }

    pub(super) fn update(&mut self, update: &Value) {
        self.write(&json!({"update": update}));
    }

    pub(super) fn call(&mut self, method: &str, form: &Form, answer: &[u8]) {
        let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
        let (parameters, files) = (&form.parameters, form.file_names());
        self.write(&json!({"method": method, "parameters": parameters, "files": files, "answer": answer}));
    }

    /// In one piece, so that several servers of a process can share the file.
    fn write(&mut self, line: &Value) {
        self.0.write_all(format!("{line}\n").as_bytes()).expect("the record can be written");
    }
}

/// The same answer again, and its body.
pub(super) async fn read(answer: Response) -> (Response, Vec<u8>) {
    let (head, body) = answer.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    (Response::from_parts(head, Body::from(body.clone())), body.to_vec())
}
