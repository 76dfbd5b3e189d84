//! Links, pictures and fields of a page.

use super::super::tokens::Attributes;
use super::{LINK_TEXT, MOST_URL_BYTES, Markdown};
use crate::messages::Link;

/// The most links that are listed.
const MOST_LINKS: usize = 50;

/// The most addresses that are looked at where only a list of links is wanted.
const MOST_LOOKED_AT: usize = 2000;

/// A link whose end has not come.
pub(super) struct OpenLink {
    /// As the page has it, until its first words are written.
    pub(super) url: String,
    /// How many cells were open.
    pub(super) level: usize,
    pub(super) is_written: bool,
    pub(super) text: String,
}

impl Markdown {
    pub(super) fn start_link(&mut self, attributes: Attributes<'_>) {
        self.end_code();
        self.end_link();
        let Some(href) = attributes.get("href").map(str::trim) else { return };
        if href.is_empty() || href.starts_with('#') || href.len() > MOST_URL_BYTES {
            return;
        }
        let level = self.writers.len();
        self.link = Some(OpenLink { url: href.to_owned(), level, is_written: false, text: String::new() });
    }

    /// Where a link leads, if that can be followed; none for an invisible link.
    fn shown_address(&mut self, href: &str) -> Option<String> {
        self.looked_at += 1;
        if !self.marks && (self.links.len() >= MOST_LINKS || self.looked_at > MOST_LOOKED_AT) {
            return None;
        }
        let url = self.base.join(href).ok()?;
        let can_be_followed = matches!(url.scheme(), "http" | "https" | "mailto");
        (can_be_followed && url.as_str().len() <= MOST_URL_BYTES).then(|| url.into())
    }

    /// Writes the beginning of a link before its first words.
    pub(super) fn begin_link(&mut self, text: &str) {
        let new = self.link.as_ref().filter(|link| !link.is_written && !text.trim().is_empty());
        let Some(href) = new.map(|link| link.url.clone()) else { return };
        let Some(address) = self.shown_address(&href) else {
            self.link = None;
            return;
        };
        if text.starts_with(char::is_whitespace) {
            self.writer().space();
        }
        if self.marks {
            self.writer().verbatim("[");
        }
        if let Some(link) = &mut self.link {
            (link.url, link.is_written) = (address, true);
        }
    }

    pub(super) fn end_link(&mut self) {
        self.end_code();
        let Some(link) = self.link.take().filter(|link| link.is_written) else { return };
        if self.marks && link.level == self.writers.len() {
            let writer = self.writer();
            writer.out.push_str("](");
            writer.out.push_str(&link.url);
            writer.out.push(')');
        }
        let text: String =
            link.text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(LINK_TEXT).collect();
        if self.links.len() < MOST_LINKS && self.known.insert(link.url.clone()) {
            self.links.push(Link { text, url: link.url });
        }
    }

    pub(super) fn picture(&mut self, attributes: Attributes<'_>) {
        let alt = attributes.get("alt").unwrap_or_default().trim();
        if alt.is_empty() {
            return;
        }
        let src = attributes.get("src").filter(|src| self.marks && src.len() <= MOST_URL_BYTES);
        let url = src.and_then(|src| self.base.join(src).ok());
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = url.filter(|url| url.as_str().len() <= MOST_URL_BYTES);
        match url {
            Some(url) if self.marks && self.link.is_none() => {
                let words = alt.split_whitespace().collect::<Vec<_>>().join(" ");
                self.writer().space();
                self.writer().verbatim(&format!("![{words}]({url})"));
            }
            Some(_) | None => self.text(alt),
        }
    }

    /// The label of a button, and the purpose of a field.
    pub(super) fn input(&mut self, attributes: Attributes<'_>) {
        let shown = match attributes.get("type").unwrap_or("text") {
            "hidden" => None,
            "submit" | "button" | "reset" => attributes.get("value"),
            _ => attributes.get("placeholder"),
        };
        if let Some(shown) = shown.filter(|shown| !shown.trim().is_empty()) {
            self.writer().space();
            self.text(&format!("({})", shown.trim()));
            self.writer().space();
        }
    }
}
