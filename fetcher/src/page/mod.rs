//! From the bytes of a body to text that can be read: by its content type, and by what it is.

mod charset;
mod html;
mod json;
mod pdf;

use url::Url;

use crate::messages::{Extract, Page, PageKind};
use charset::Charset;

pub(crate) use html::{Element, LINK_TEXT, elements};
pub use html::{Rendered, render};

/// A longer name of a type is cut where it is shown.
const TYPE_CHARS: usize = 100;

/// What was received.
pub(crate) struct Body<'a> {
    pub(crate) bytes: &'a [u8],
    /// Whether there was more.
    pub(crate) is_cut: bool,
    pub(crate) content_type: Option<&'a str>,
    /// Where its links begin.
    pub(crate) base: &'a Url,
}

/// How much of a body is read whose caller wants no more than `max_bytes` of text.
pub(crate) fn most_bytes(content_type: Option<&str>, max_bytes: u64) -> u64 {
    if split_type(content_type).0 == "application/pdf" { pdf::MOST_BYTES.max(max_bytes) } else { max_bytes }
}

/// The body as text. A cut body may have more.
pub(crate) fn page(body: &Body<'_>, extract: Extract, max_bytes: u64) -> Page {
    let mut page = whole(body, extract);
    page.is_cut |= body.is_cut;
    let most = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    if page.kind == PageKind::Pdf && page.text.len() > most {
        page.text.truncate(page.text.floor_char_boundary(most));
        page.is_cut = true;
    }
    page
}

fn whole(body: &Body<'_>, extract: Extract) -> Page {
    let (essence, named) = split_type(body.content_type);
    let is_marked_up = is_html(&essence) || essence.ends_with("xml") || essence.is_empty();
    let charset = Charset::of(body.bytes, named.as_deref(), is_marked_up);
    let kind = kind(&essence, body.bytes, charset);
    if kind == PageKind::Pdf && extract != Extract::Raw {
        let text = if body.is_cut { Err("it is too long to be read here") } else { pdf::text(body.bytes) };
        return text.map(|text| Page { text, kind, ..Page::default() }).unwrap_or_else(|why| {
            let text = format!("[PDF: {why}. Use `download_path` to store it.]\n");
            Page { text, kind: PageKind::Binary, ..Page::default() }
        });
    }
    if matches!(kind, PageKind::Binary | PageKind::Pdf) {
        return Page { text: described(&essence, body), kind: PageKind::Binary, ..Page::default() };
    }
    let charset = charset.unwrap_or_else(|| Charset::guessed(body.bytes));
    let text = charset.decode(body.bytes, body.is_cut);
    match (kind, extract) {
        (PageKind::Html, Extract::Auto | Extract::Text) => {
            let Rendered { text, title, links, is_cut } = render(&text, body.base, extract == Extract::Auto);
            Page { text, title, links, kind, is_cut, ..Page::default() }
        }
        (PageKind::Json, Extract::Auto) => {
            let text = json::indented(&text).unwrap_or(text);
            Page { text, kind, ..Page::default() }
        }
        (PageKind::Html, Extract::Raw) => {
            let Rendered { title, links, .. } = render(&text, body.base, true);
            Page { text, title, links, kind, ..Page::default() }
        }
        (_, _) => Page { text, kind, ..Page::default() },
    }
}

/// The type without its parameters, in lower case, and the charset.
fn split_type(content_type: Option<&str>) -> (String, Option<String>) {
    let mut parts = content_type.unwrap_or_default().split([';', ',']);
    let essence = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']).trim();
        name.trim().eq_ignore_ascii_case("charset").then(|| value.to_owned())
    });
    (essence, charset)
}

fn is_html(essence: &str) -> bool {
    matches!(essence, "text/html" | "application/xhtml+xml")
}

fn kind(essence: &str, bytes: &[u8], charset: Option<Charset>) -> PageKind {
    let is_wide = charset.is_some_and(Charset::is_wide);
    let is_binary = bytes.iter().take(4096).any(|byte| *byte == 0) && !is_wide;
    match essence {
        html if is_html(html) => PageKind::Html,
        _ if pdf::is_pdf(essence, bytes) => PageKind::Pdf,
        _ if is_binary => PageKind::Binary,
        "application/json" | "text/json" => PageKind::Json,
        json if json.ends_with("+json") => PageKind::Json,
        text if text.starts_with("text/") || is_text_application(text) => PageKind::Text,
        "" | "application/octet-stream" => sniffed(bytes, charset.filter(|charset| charset.is_wide())),
        _ => PageKind::Binary,
    }
}

fn is_text_application(essence: &str) -> bool {
    const TEXTS: [&str; 11] = [
        "xml", "javascript", "x-javascript", "ecmascript", "yaml", "x-yaml", "toml", "sql", "x-sh",
        "graphql", "rtf",
    ];
    let Some(name) = essence.strip_prefix("application/") else { return essence == "image/svg+xml" };
    TEXTS.contains(&name) || name.ends_with("+xml") || name.ends_with("+yaml") || name.contains("ndjson")
}

/// What a body without a type is. With several bytes for each character it is text.
fn sniffed(bytes: &[u8], wide: Option<Charset>) -> PageKind {
    let start = bytes.get(..1024).unwrap_or(bytes);
    let start = wide.unwrap_or_else(|| Charset::guessed(start)).decode(start, true).to_ascii_lowercase();
    let start = start.trim_start_matches('\u{feff}').trim_start();
    if start.starts_with("<!doctype html") || start.starts_with("<html") {
        PageKind::Html
    } else if wide.is_some() || charset::is_utf8(bytes) {
        PageKind::Text
    } else {
        PageKind::Binary
    }
}

/// The remark about a body that is no text.
fn described(essence: &str, body: &Body<'_>) -> String {
    let name: String = essence.chars().take(TYPE_CHARS).collect();
    let name = if name.is_empty() { "data without a type" } else { &name };
    let more = if body.is_cut { "more than " } else { "" };
    format!("[{name}, {more}{} bytes: no text. Use `download_path` to store it.]\n", body.bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page_of(bytes: &[u8], content_type: &str, is_cut: bool) -> Page {
        let base = Url::parse("https://example.com/").unwrap();
        let body = Body { bytes, is_cut, content_type: Some(content_type), base: &base };
        page(&body, Extract::Auto, 1 << 20)
    }

    fn check(bytes: &[u8], content_type: &str, expected: &str, kind: PageKind) {
        let page = page_of(bytes, content_type, false);
        assert_eq!((page.text.as_str(), page.kind), (expected, kind), "{content_type}");
    }

    /// The text in UTF-16 and UTF-32, each with the low and with the high byte first.
    fn wide(text: &str) -> [(&'static str, Vec<u8>); 4] {
        let in_16 = |bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes).collect();
        let in_32 = |bytes: fn(u32) -> [u8; 4]| text.chars().map(u32::from).flat_map(bytes).collect();
        [
            ("utf-16le", in_16(u16::to_le_bytes)),
            ("utf-16be", in_16(u16::to_be_bytes)),
            ("utf-32le", in_32(u32::to_le_bytes)),
            ("utf-32be", in_32(u32::to_be_bytes)),
        ]
    }

    #[test]
    fn text_with_several_bytes_for_each_character_is_text() {
        for text in ["Hello, world!\n", "Grüße aus Köln\n", "{\"a\": \"日本語\"}"] {
            for (name, bytes) in wide(text) {
                for charset in
                    [name.to_owned(), name.to_uppercase(), format!("\"{name}\""), format!("'{name}' ")]
                {
                    check(&bytes, &format!("text/plain; charset={charset}"), text, PageKind::Text);
                }
                check(&bytes, &format!("text/plain; x=\"y\" ;Charset={name}; z=1"), text, PageKind::Text);
            }
        }
        for (name, bytes) in wide("Hello, world!\n") {
            let any_order = &name[..6];
            for content_type in ["text/plain", "", &format!("text/csv;charset={any_order}")] {
                check(&bytes, content_type, "Hello, world!\n", PageKind::Text);
                let marked = wide("\u{feff}Hello, world!\n").into_iter().find(|(other, _)| *other == name);
                check(&marked.unwrap().1, content_type, "Hello, world!\n", PageKind::Text);
            }
        }
        for (name, bytes) in wide("<!doctype html><meta charset=\"UTF-16LE\"><p>Hello") {
            for content_type in ["text/html", "", &format!("text/html; charset={name}")] {
                check(&bytes, content_type, "Hello\n", PageKind::Html);
            }
        }
        // A page that can be read has another charset than it says.
        check("<meta charset='UTF-16'><p>ä".as_bytes(), "text/html", "ä\n", PageKind::Html);
        check(
            b"<?xml version='1.0' encoding=\"iso-8859-1\"?><a>\xe4</a>",
            "text/xml",
            "<?xml version='1.0' encoding=\"iso-8859-1\"?><a>ä</a>",
            PageKind::Text,
        );
    }

    #[test]
    fn what_has_zeros_and_no_such_charset_is_binary() {
        for bytes in [&b"\0\x01\x02\0\0\0\x03\x04"[..], b"text\0text", b"\0", b"\0\0\0\0\0\0\0\0"] {
            for content_type in ["text/plain", "text/plain; charset=utf-8", "application/json", ""] {
                assert_eq!(page_of(bytes, content_type, false).kind, PageKind::Binary, "{bytes:?}");
            }
        }
        check(
            b"a\0b\0",
            "image/png",
            "[image/png, 4 bytes: no text. Use `download_path` to store it.]\n",
            PageKind::Binary,
        );
    }

    #[test]
    fn what_is_cut_says_so_and_ends_with_a_whole_character() {
        let cut = page_of(b"\x89PNG\0", "image/png", true);
        assert_eq!(cut.text, "[image/png, more than 5 bytes: no text. Use `download_path` to store it.]\n");
        assert!(cut.is_cut);
        for (bytes, content_type) in [
            (&b"caf\xc3"[..], "text/plain"),
            (b"caf\xc3", ""),
            (b"c\0a\0f\0\xe9", "text/plain; charset=utf-16le"),
        ] {
            let cut = page_of(bytes, content_type, true);
            assert_eq!((cut.text.as_str(), cut.kind, cut.is_cut), ("caf", PageKind::Text, true));
        }
        let base = Url::parse("https://example.com/").unwrap();
        let pdf = Body { bytes: b"%PDF-1.4", is_cut: true, content_type: None, base: &base };
        assert!(page(&pdf, Extract::Auto, 99).is_cut);
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
