//! A page of HTML as Markdown: headings, paragraphs, lists, quotes, code, tables, links and the words of
//! pictures. Scripts, styles and hidden parts are left out; so are mere menus, if there is more.
//!
//! The page is read once, from its beginning to its end, without a tree: the time grows with its length
//! alone. `htmd` would bring 17 crates more, builds a tree, and takes 55 times as long for a tag with eight
//! times as many attributes.

mod markdown;
mod regions;
mod table;
#[cfg(test)]
mod tests;
mod tokens;
mod writer;

use url::Url;

pub(crate) use markdown::LINK_TEXT;
pub(crate) use tokens::{Element, elements};

use crate::messages::Link;
use markdown::Markdown;

/// A page as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rendered {
    /// The text, as Markdown or without marks.
    pub text: String,
    /// Its title.
    pub title: Option<String>,
    /// Its links, absolute, each address once.
    pub links: Vec<Link>,
    /// Whether the text ends before the page does, because it became much longer than the page.
    pub is_cut: bool,
}

/// Reads a page. Links begin at `base`, unless the page says otherwise.
pub fn render(page: &str, base: &Url, marks: bool) -> Rendered {
    let mut markdown = Markdown::new(base.clone(), marks, page.len());
    elements(page, |element| markdown.take(element));
    markdown.finish()
}
