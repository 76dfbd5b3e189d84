//! The parameters of a method call: a JSON object, or a multipart form if there is a file (RFC 7578).

use std::collections::BTreeMap;

use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use serde_json::{Map, Value};

use crate::http::position;

#[derive(Debug, Default)]
pub(super) struct Form {
    /// All parameters except files; numbers are numbers in both forms.
    pub(super) parameters: Value,
    /// File names and bytes, by the name of their part.
    files: BTreeMap<String, (String, Vec<u8>)>,
}

impl Form {
    /// Parses a body by its content type; a malformed body has no parameters.
    pub(super) fn read(headers: &HeaderMap, body: &[u8]) -> Self {
        let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
        match content_type.split_once("boundary=") {
            Some((_, boundary)) => Self::of_parts(body, boundary.trim_matches('"')),
            None => Self {
                parameters: serde_json::from_slice(body).unwrap_or_else(|_| Value::Object(Map::new())),
                files: BTreeMap::new(),
            },
        }
    }

    /// The file of a parameter: the part of that name, or the part that `attach://` names.
    pub(super) fn file(&self, parameter: &str) -> Option<(String, Vec<u8>)> {
        let named = self.parameters[parameter].as_str().and_then(|value| value.strip_prefix("attach://"));
        self.files.get(named.unwrap_or(parameter)).cloned()
    }

    /// The file of the part that `attach://` names.
    pub(super) fn attached(&self, named: &str) -> Option<(String, Vec<u8>)> {
        self.files.get(named.strip_prefix("attach://")?).cloned()
    }

    /// The parts that are files, and what each is called.
    pub(super) fn file_names(&self) -> BTreeMap<&str, &str> {
        self.files.iter().map(|(part, (name, _))| (part.as_str(), name.as_str())).collect()
    }

    fn of_parts(body: &[u8], boundary: &str) -> Self {
        let mut form = Self { parameters: Value::Object(Map::new()), files: BTreeMap::new() };
        let mark = format!("\r\n--{boundary}");
        let body = [b"\r\n", body].concat();
        for part in split(&body, mark.as_bytes()).into_iter().skip(1) {
            let Some(end) = position(part, b"\r\n\r\n") else { continue };
            let head = String::from_utf8_lossy(&part[..end]).into_owned();
            let content = part[end + 4..].to_vec();
            let Some(name) = quoted_after(&head, "; name=\"") else { continue };
            match quoted_after(&head, "filename=\"") {
                Some(file_name) => {
                    form.files.insert(name, (file_name, content));
                }
                None if name.ends_with("_entities") => {
                    form.parameters[name] =
                        serde_json::from_slice(&content).unwrap_or(Value::from("no JSON"));
                }
                None => form.parameters[name] = plain(&content),
            }
        }
        form
    }
}

fn plain(content: &[u8]) -> Value {
    let text = String::from_utf8_lossy(content);
    text.parse::<i64>().map_or_else(|_| Value::from(text.as_ref()), Value::from)
}

fn quoted_after(head: &str, mark: &str) -> Option<String> {
    Some(head.split_once(mark)?.1.split_once('"')?.0.to_owned())
}

fn split<'a>(bytes: &'a [u8], mark: &[u8]) -> Vec<&'a [u8]> {
    let (mut pieces, mut rest) = (Vec::new(), bytes);
    while let Some(at) = position(rest, mark) {
        pieces.push(&rest[..at]);
        rest = &rest[at + mark.len()..];
    }
    pieces.push(rest);
    pieces
}
