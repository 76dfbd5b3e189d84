//! Formatted text as HTML: the formatter that messengers get, with elements for its styles.

use channel::formatting::{self, Entity, FormattedText, Span, Style};
use maud::{Markup, PreEscaped, Render, html};

use crate::words::words;

/// Markdown as HTML.
pub(crate) fn markdown(text: &str) -> Markup {
    let styled = formatting::render(text);
    html! { div.written { (PreEscaped(nested(&styled.text, 0, styled.text.len(), &styled.spans))) } }
}

/// A message of the outbox as HTML.
pub(crate) fn message(text: &str, entities: &[Entity]) -> Markup {
    let formatted = FormattedText { text: text.to_owned(), entities: entities.to_vec() };
    let spans = spans_of(&formatted);
    html! { div.written { (PreEscaped(nested(text, 0, text.len(), &spans))) } }
}

/// The spans of entities that lie in the text.
fn spans_of(formatted: &FormattedText) -> Vec<Span> {
    let range = |entity: &Entity| {
        let [start, end] = [entity.offset, entity.offset + entity.length].map(|at| formatted.byte_at(at));
        (start < end).then(|| Span { range: start..end, style: entity.style.clone() })
    };
    let mut spans: Vec<Span> = formatted.entities.iter().filter_map(range).collect();
    spans.sort_by_key(|span| (span.range.start, std::cmp::Reverse(span.range.end)));
    spans
}

/// The HTML of a part of a text. Spans come in the order of their beginnings, longer ones first; one that
/// does not nest ends with the span around it.
fn nested(text: &str, start: usize, end: usize, spans: &[Span]) -> String {
    let (mut html, mut at, mut rest) = (String::new(), start, spans);
    while let Some((span, after)) = rest.split_first() {
        rest = after;
        let (from, to) = (span.range.start.max(at), span.range.end.min(end));
        if from >= to || !text.is_char_boundary(from) || !text.is_char_boundary(to) {
            continue;
        }
        let before = &text[at..from];
        // An element that is a block of its own needs no empty lines around it.
        html.push_str(&plain(if is_block(&span.style) { before.trim_end_matches('\n') } else { before }));
        let within = rest.partition_point(|inner| inner.range.start < to);
        let (inner, after) = rest.split_at(within);
        html.push_str(&element(&span.style, &nested(text, from, to, inner)));
        let lines = text[to..end].len() - text[to..end].trim_start_matches('\n').len();
        (at, rest) = (if is_block(&span.style) { to + lines } else { to }, after);
    }
    html.push_str(&plain(&text[at..end]));
    html
}

fn is_block(style: &Style) -> bool {
    matches!(style, Style::Pre { .. } | Style::Blockquote | Style::ExpandableBlockquote)
}

fn plain(text: &str) -> String {
    words(text).as_ref().render().into_string()
}

fn element(style: &Style, inner: &str) -> String {
    let inner = PreEscaped(inner);
    let html = match style {
        Style::Bold => html! { strong { (inner) } },
        Style::Italic => html! { em { (inner) } },
        Style::Underline => html! { u { (inner) } },
        Style::Strikethrough => html! { s { (inner) } },
        Style::Spoiler => html! { span.spoiler tabindex="0" { (inner) } },
        Style::Code => html! { code { (inner) } },
        Style::Pre { .. } => html! { pre tabindex="0" { code { (inner) } } },
        Style::TextLink { url } if is_web(url) => {
            html! { a href=(url) rel="noreferrer noopener" target="_blank" { (inner) } }
        }
        Style::TextLink { .. } => html! { (inner) },
        Style::Blockquote => html! { blockquote { (inner) } },
        Style::ExpandableBlockquote => html! { blockquote { (inner) } },
    };
    html.into_string()
}

/// Whether an address leads to the web and runs nothing.
fn is_web(url: &str) -> bool {
    let url = url.trim_start().to_ascii_lowercase();
    url.starts_with("https://") || url.starts_with("http://")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let html = markdown(text).into_string();
        html.trim_start_matches("<div class=\"written\">").trim_end_matches("</div>").to_owned()
    }

    #[test]
    fn styles_become_elements_that_nest() {
        assert_eq!(shown("a **b *c* d**"), "a <strong>b <em>c</em> d</strong>");
        assert_eq!(shown("`x < y`"), "<code>x &lt; y</code>");
        assert_eq!(shown("a\n\n> b\n\nc"), "a<blockquote>b</blockquote>c");
        let link = shown("[words](https://a.example/?q=1&r=2)");
        assert!(link.starts_with("<a href=\"https://a.example/?q=1&amp;r=2\""), "{link}");
    }

    #[test]
    fn nothing_that_a_model_writes_is_markup_or_runs() {
        for attack in [
            "<script>alert(1)</script>",
            "[click](javascript:alert(1))",
            "[click](  JaVaScRiPt:alert(1))",
            "[click](data:text/html,<script>alert(1)</script>)",
            "![x](javascript:alert(1))",
            "<img src=x onerror=alert(1)>",
            "<a href=\"javascript:alert(1)\">x</a>",
            "`</code><script>`",
            "```\n</pre><script>\n```",
        ] {
            let html = shown(attack).to_ascii_lowercase();
            for bad in ["<script", "href=\"javascript", "href=\"data", "<img", "onerror=\""] {
                assert!(!html.contains(bad), "{attack}: {html}");
            }
        }
        assert!(!shown("a\u{202e}b").contains('\u{202e}'));
        assert!(message("a\u{202e}b", &[]).into_string().contains("a\\u{202e}b"));
    }

    #[test]
    fn entities_that_do_not_fit_the_text_harm_nothing() {
        let entity = |offset, length, style| Entity { offset, length, style };
        let link = Style::TextLink { url: "javascript:alert(1)".to_owned() };
        let entities = [
            entity(0, 3, Style::Bold),
            entity(2, 9, Style::Italic),
            entity(50, 2, Style::Code),
            entity(4, 1, link),
        ];
        let html = message("ab😀cd", &entities).into_string();
        assert_eq!(html, "<div class=\"written\"><strong>ab<em>😀</em></strong>cd</div>");
    }
}
