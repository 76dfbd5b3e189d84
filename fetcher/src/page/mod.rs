//! From the bytes of a body to text that can be read: by its content type, and by what it is.

mod charset;
mod html;
mod json;
mod pdf;

use url::Url;

use crate::messages::{Extract, Page, PageKind};

pub(crate) use html::{Element, elements};
pub use html::{Rendered, render};

/// How much of a body is read whose caller wants no more than `max_bytes` of text.
pub(crate) fn most_bytes(content_type: Option<&str>, max_bytes: u64) -> u64 {
    if split_type(content_type).0 == "application/pdf" { pdf::MOST_BYTES.max(max_bytes) } else { max_bytes }
}

/// The body as text. What is cut may have more.
pub(crate) fn page(
    bytes: &[u8],
    is_cut: bool,
    content_type: Option<&str>,
    extract: Extract,
    max_bytes: u64,
    base: &Url,
) -> Page {
    let mut page = whole(bytes, is_cut, content_type, extract, base);
    let most = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    if page.kind == PageKind::Pdf && page.text.len() > most {
        page.text.truncate(page.text.floor_char_boundary(most));
        page.is_cut = true;
    }
    page
}

fn whole(bytes: &[u8], is_cut: bool, content_type: Option<&str>, extract: Extract, base: &Url) -> Page {
    let (essence, charset) = split_type(content_type);
    let kind = kind(&essence, bytes);
    if kind == PageKind::Pdf && extract != Extract::Raw {
        let text = if is_cut { Err("it is too long to be read here") } else { pdf::text(bytes) };
        return text.map(|text| Page { text, kind, ..Page::default() }).unwrap_or_else(|why| {
            let text = format!("[PDF: {why}. Use `download_path` to store it.]\n");
            Page { text, kind: PageKind::Binary, ..Page::default() }
        });
    }
    if matches!(kind, PageKind::Binary | PageKind::Pdf) {
        return Page { text: described(&essence, bytes), kind: PageKind::Binary, ..Page::default() };
    }
    let text = charset::decode(bytes, charset.as_deref(), kind == PageKind::Html);
    match (kind, extract) {
        (PageKind::Html, Extract::Auto | Extract::Text) => {
            let Rendered { text, title, links } = render(&text, base, extract == Extract::Auto);
            Page { text, title, links, kind, is_cut }
        }
        (PageKind::Json, Extract::Auto) => {
            let text = json::indented(&text).unwrap_or(text);
            Page { text, kind, is_cut, ..Page::default() }
        }
        (PageKind::Html, Extract::Raw) => {
            let Rendered { title, links, .. } = render(&text, base, true);
            Page { text, title, links, kind, is_cut }
        }
        (_, _) => Page { text, kind, is_cut, ..Page::default() },
    }
}

/// The type without its parameters, in lower case, and the charset.
fn split_type(content_type: Option<&str>) -> (String, Option<String>) {
    let mut parts = content_type.unwrap_or_default().split(';');
    let essence = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"').to_owned())
    });
    (essence, charset)
}

fn kind(essence: &str, bytes: &[u8]) -> PageKind {
    let is_binary = bytes.iter().take(4096).any(|byte| *byte == 0) && !charset::has_wide_mark(bytes);
    match essence {
        "text/html" | "application/xhtml+xml" => PageKind::Html,
        _ if pdf::is_pdf(essence, bytes) => PageKind::Pdf,
        _ if is_binary => PageKind::Binary,
        "application/json" | "text/json" => PageKind::Json,
        json if json.ends_with("+json") => PageKind::Json,
        text if text.starts_with("text/") || is_text_application(text) => PageKind::Text,
        "" | "application/octet-stream" => sniffed(bytes),
        _ => PageKind::Binary,
    }
}

fn is_text_application(essence: &str) -> bool {
    const TEXTS: [&str; 11] = [
        "xml",
        "javascript",
        "x-javascript",
        "ecmascript",
        "yaml",
        "x-yaml",
        "toml",
        "sql",
        "x-sh",
        "graphql",
        "rtf",
    ];
    let Some(name) = essence.strip_prefix("application/") else { return essence == "image/svg+xml" };
    TEXTS.contains(&name) || name.ends_with("+xml") || name.ends_with("+yaml") || name.contains("ndjson")
}

/// What a body without a type is.
fn sniffed(bytes: &[u8]) -> PageKind {
    let start: Vec<u8> = bytes.iter().take(512).map(u8::to_ascii_lowercase).collect();
    let start = String::from_utf8_lossy(&start);
    let start = start.trim_start_matches('\u{feff}').trim_start();
    if start.starts_with("<!doctype html") || start.starts_with("<html") {
        PageKind::Html
    } else if std::str::from_utf8(bytes).is_ok() {
        PageKind::Text
    } else {
        PageKind::Binary
    }
}

/// What is said of a body that is no text.
fn described(essence: &str, bytes: &[u8]) -> String {
    let name = if essence.is_empty() { "data without a type" } else { essence };
    format!("[{name}, {} bytes: no text. Use `download_path` to store it.]\n", bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], content_type: &str, expected: &str, kind: PageKind) {
        let base = Url::parse("https://example.com/").unwrap();
        let page = page(bytes, false, Some(content_type), Extract::Auto, 1 << 20, &base);
        assert_eq!((page.text.as_str(), page.kind), (expected, kind), "{content_type}");
    }

    #[test]
    fn a_body_becomes_text_by_its_type() {
        check(
            b"{\"a\":[1,2.50,{}],\"b\":\"x\"}",
            "application/json",
            "{\n  \"a\": [\n    1,\n    2.50,\n    {}\n  ],\n  \"b\": \"x\"\n}\n",
            PageKind::Json,
        );
        check(b"{not json", "application/json", "{not json", PageKind::Json);
        check(b"a,b\n1,2\n", "text/csv", "a,b\n1,2\n", PageKind::Text);
        check(b"caf\xe9", "text/plain; charset=iso-8859-1", "café", PageKind::Text);
        check("café".as_bytes(), "text/plain", "café", PageKind::Text);
        check(b"<html><p>hi</p></html>", "", "hi\n", PageKind::Html);
        check(
            b"\x89PNG\r\n\0\0",
            "image/png",
            "[image/png, 8 bytes: no text. Use `download_path` to store it.]\n",
            PageKind::Binary,
        );
        check(b"\xff\xfeh\0i\0", "text/plain", "hi", PageKind::Text);
    }
}
