//! Files of this machine that a request names where a credential goes along: some services read such a name
//! as "send me that file", and models have been talked into it.
//!
//! A path is looked for in every reading of the body: in JSON with its names, in XML with its entities, in
//! forms with their codes. Prose that mentions a path within a sentence names no file.

use std::path::{Component, Path, PathBuf};

use protocol::{ErrorCode, ToolError};
use serde_json::Value;

/// What lies directly below `/` on Linux and names files of the machine. `lib` and `media` are left out: too
/// many addresses of sites begin with them.
const TOP: [&str; 19] = [
    "bin", "boot", "data", "dev", "etc", "home", "lib64", "mnt", "nix", "opt", "proc", "root", "run", "sbin",
    "srv", "sys", "tmp", "usr", "var",
];

/// What stands around a value in all formats that carry one.
const AROUND: &[char] = &['"', '\'', '<', '>', '=', '&', '@', '\n', '\r', '\t', '\0', '|'];

/// What stands around a value in formats other than JSON.
const AROUND_PLAIN: &[char] = &[' ', ',', ';', '(', ')', '[', ']', '{', '}'];

/// What a request says.
pub(super) struct Said<'a> {
    pub(super) url: &'a str,
    pub(super) headers: &'a [(String, String)],
    pub(super) body: &'a str,
}

/// Refuses a request that names a file of this machine, which may lie in one of the roots.
pub(super) fn refuse(said: &Said<'_>, roots: &[PathBuf]) -> Result<(), ToolError> {
    let query = said.url.split_once('?').map_or("", |(_, query)| query);
    let found = named_in_body(said.body, roots).map(|path| ("`body`", path));
    let found =
        found.or_else(|| named_in(query, AROUND_PLAIN, roots).map(|path| ("The query of `url`", path)));
    let in_header = |(name, value): &(String, String)| {
        // Types such as `*/*` have slashes, and none of them is a path.
        let is_free = !matches!(name.to_ascii_lowercase().as_str(), "accept" | "content-type" | "user-agent");
        is_free.then(|| named_in(value, AROUND_PLAIN, roots)).flatten()
    };
    let found =
        found.or_else(|| said.headers.iter().find_map(in_header).map(|path| ("A header in `headers`", path)));
    let Some((place, path)) = found else { return Ok(()) };
    let path: String = path.chars().take(200).collect();
    let message =
        format!("{place} names a file of this machine ({path}), which does not go with `auth_profile`.");
    Err(ToolError::new(ErrorCode::UrlBlocked, message)
        .with_hint("Put the content itself into `body`, or leave the path out."))
}

fn named_in_body(body: &str, roots: &[PathBuf]) -> Option<String> {
    match serde_json::from_str::<Value>(body) {
        Ok(value) => named_in_value(&value, roots),
        Err(_) => named_in(body, AROUND_PLAIN, roots),
    }
}

/// Names of fields count as well as values.
fn named_in_value(value: &Value, roots: &[PathBuf]) -> Option<String> {
    let in_text = |text: &str| named_in(text, &[], roots);
    match value {
        Value::String(text) => in_text(text),
        Value::Array(values) => values.iter().find_map(|value| named_in_value(value, roots)),
        Value::Object(fields) => {
            fields.iter().find_map(|(name, value)| in_text(name).or_else(|| named_in_value(value, roots)))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// The first part of a text, in any reading of it, that is a path of this machine.
fn named_in(text: &str, around: &[char], roots: &[PathBuf]) -> Option<String> {
    let is_around = |character: char| AROUND.contains(&character) || around.contains(&character);
    fetcher::readings(text).iter().find_map(|reading| {
        let mut parts = reading.split(is_around);
        let words = reading.split_whitespace().filter(|word| has_file_scheme(word));
        let named = parts.find(|part| is_local(part.trim(), roots));
        named
            .or_else(|| words.flat_map(|word| word.split(is_around)).find(|word| is_local(word, roots)))
            .map(str::to_owned)
    })
}

fn has_file_scheme(word: &str) -> bool {
    word.to_ascii_lowercase().contains("file:")
}

/// Whether a text is the path of a file, with or without schemes before it.
fn is_local(text: &str, roots: &[PathBuf]) -> bool {
    let (mut rest, mut is_file) = (text, false);
    while let Some((scheme, after)) = rest.split_once(':').filter(|(scheme, _)| is_scheme(scheme)) {
        if matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https" | "ws" | "wss" | "mailto") {
            return false;
        }
        is_file = scheme.to_ascii_lowercase().ends_with("file");
        rest = after.trim_start();
    }
    let rest = rest.replace('\\', "/");
    if is_file && rest.starts_with('/') {
        return true;
    }
    let climbs = rest.starts_with("../") || rest.starts_with("./..");
    if !(rest.starts_with('/') || climbs || is_file) {
        return false;
    }
    let path = absolute(&rest);
    let names: Vec<_> = path.components().skip(1).collect();
    let first = names.first().and_then(|name| name.as_os_str().to_str()).unwrap_or_default();
    let is_below_top = names.len() > 1 && TOP.contains(&first);
    is_below_top || roots.iter().any(|root| path.starts_with(root))
}

/// The name of a scheme or of what a value is for, such as `file`, `jar` or `path`.
fn is_scheme(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 30
        && text.chars().all(|character| character.is_ascii_alphanumeric() || "+-._".contains(character))
}

/// The path from `/` on that a text leads to at the most, without repeated slashes, `.` and `..`.
fn absolute(text: &str) -> PathBuf {
    let mut path = PathBuf::from("/");
    for component in Path::new(text).components() {
        match component {
            Component::Normal(name) => path.push(name),
            Component::ParentDir => {
                path.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_refused(body: &str) -> bool {
        let said = Said { url: "https://api.example/v1", headers: &[], body };
        refuse(&said, &[PathBuf::from("/workspace")]).is_err()
    }

    /// Files of this machine, as a request may write them.
    const WRITTEN: &[&str] = &[
        "/etc/passwd",
        "//etc/passwd",
        "///etc//passwd",
        "/./etc/passwd",
        "/usr/../etc/passwd",
        "/x/../etc/passwd",
        "../../../../etc/passwd",
        "./../../etc/passwd",
        "\\\\etc\\passwd",
        "file:///etc/passwd",
        "FILE:///etc/passwd",
        "File:/etc/passwd",
        "file://localhost/etc/passwd",
        "file:etc/passwd",
        "FILE:\\\\\\etc\\passwd",
        "file:///anywhere/x",
        "jar:file:///x.jar!/",
        "url:FILE:/etc/passwd",
        "local_file:///etc/passwd",
        "netdoc:/etc/passwd",
        "@/etc/passwd",
        " /workspace/notes.md",
        "/workspace",
        "//workspace/../workspace/a",
        "%2Fetc%2Fpasswd",
        "%252fetc%252Fpasswd",
        "file%3A%2F%2F%2Fetc%2Fpasswd",
        "&#47;etc&#x2f;passwd",
        "&sol;etc/passwd",
        "\\u002fetc\\/passwd",
        "see file:///etc/passwd please",
        "<!DOCTYPE x [<!ENTITY a SYSTEM \"file:///etc/passwd\">]><x>&a;</x>",
        "<!DOCTYPE x [<!ENTITY % a SYSTEM '/etc/passwd'>]>",
        "<file>/etc/passwd</file>",
        "<file>&#x2F;etc/passwd</file>",
        "{\"file\":\"/etc/passwd\"}",
    ];

    /// Bodies of all formats that carry this text.
    fn bodies_with(path: &str) -> [String; 7] {
        let json = |value: Value| value.to_string();
        [
            path.to_owned(),
            json(serde_json::json!(path)),
            json(serde_json::json!({"a": [{"b": path}]})),
            json(serde_json::json!({path: 1})),
            format!("a=b&file={path}&c=d"),
            format!("file: {path}\nother: x"),
            format!("<a href='{path}'/>"),
        ]
    }

    #[test]
    fn a_file_of_this_machine_is_found_however_it_is_written() {
        for body in WRITTEN.iter().flat_map(|path| bodies_with(path)) {
            assert!(is_refused(&body), "{body}");
        }
    }

    #[test]
    fn what_is_no_path_of_this_machine_is_sent() {
        for body in [
            "",
            "{\"text\":\"edit /etc/hosts and `/etc/fstab` by hand\"}",
            "{\"url\":\"https://example.com/etc/passwd?x=1\"}",
            "{\"url\":\"https:\\/\\/example.com\\/home\\/me\"}",
            "{\"path\":\"/v1/etc\",\"ratio\":\"1/2\",\"date\":\"/\",\"tag\":\"</p>\"}",
            "{\"file\":\"the report\",\"note\":\"file: see below\",\"time\":\"12:30\"}",
            "{\"html\":\"<a href=\\\"/users/1\\\">me</a><br/>\"}",
            "{\"html\":\"<img src=\\\"//cdn.example.com/etc/x.png\\\">\"}",
            "{\"name\":\"/workspaces/x\",\"root\":\"/etc\"}",
            "plain text with and/or, 50% & more",
            "a=b&c=%2Fusers%2F1",
        ] {
            assert!(!is_refused(body), "{body}");
        }
    }

    #[test]
    fn the_query_and_the_headers_are_read_as_well() {
        let check = |url: &str, header: (&str, &str), expected: bool| {
            let headers = [(header.0.to_owned(), header.1.to_owned())];
            let said = Said { url, headers: &headers, body: "" };
            assert_eq!(refuse(&said, &[]).is_err(), expected, "{url} {header:?}");
        };
        let accept = ("Accept", "text/html, */*");
        check("https://api.example/v1/home/me?page=2", accept, false);
        check("https://api.example/v1?file=/etc/passwd", accept, true);
        check("https://api.example/v1?a=b&file=file%3A%2F%2F%2Fx", accept, true);
        check("https://api.example/v1", ("X-Note", "@/etc/passwd"), true);
    }
}
