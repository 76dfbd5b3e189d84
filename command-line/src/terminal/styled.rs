//! A reply that was written in Markdown, as a terminal shows it: without the marks, and with what styles a
//! terminal has. What steers a terminal is escaped, also where Markdown wrote it as a character reference.

use std::collections::BTreeSet;

use anstyle::{AnsiColor, Effects, Style as Ansi};
use channel::formatting::{Span, Style, StyledText, render};
use protocol::visible;

use super::Paint;

pub(crate) fn shown(markdown: &str, paint: Paint) -> String {
    let StyledText { text, spans } = render(markdown);
    let edges = spans.iter().flat_map(|span| [span.range.start, span.range.end]);
    let edges: BTreeSet<usize> = edges.chain([0, text.len()]).collect();
    let mut shown = String::with_capacity(text.len());
    for (from, to) in edges.iter().zip(edges.iter().skip(1)) {
        let (from, to) = (*from, *to);
        let around: Vec<&Span> =
            spans.iter().filter(|span| span.range.start <= from && to <= span.range.end).collect();
        let style = around.iter().fold(Ansi::new(), |style, span| with(style, &span.style));
        let style = if paint.0 { style } else { Ansi::new() };
        shown.push_str(&format!("{style}{}{style:#}", visible::escaped(&text[from..to])));
        for span in around.iter().filter(|span| span.range.end == to) {
            if let Style::TextLink { url } = &span.style
                && *url != text[span.range.clone()]
            {
                shown.push_str(&format!(" ({})", visible::escaped(url)));
            }
        }
    }
    shown
}

fn with(style: Ansi, more: &Style) -> Ansi {
    match more {
        Style::Bold => style.bold(),
        Style::Italic => style.italic(),
        Style::Underline | Style::TextLink { .. } => style.underline(),
        Style::Strikethrough => style.strikethrough(),
        // No reader of this output must not see it.
        Style::Spoiler => style,
        Style::Code | Style::Pre { .. } => style.fg_color(Some(AnsiColor::Cyan.into())),
        Style::Blockquote | Style::ExpandableBlockquote => style | Effects::DIMMED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_gone_and_addresses_stay() {
        let text = "# Head\n\n**bold** _it_ `code` [here](https://e.example/x)\n\n- one\n- two\n\n\
                    <https://e.example>";
        let plain = shown(text, Paint(false));
        assert!(!plain.contains(['*', '_', '`', '#', '\u{1b}']), "{plain}");
        for part in ["Head", "bold it code here (https://e.example/x)", "one", "https://e.example"] {
            assert!(plain.contains(part), "{part}: {plain}");
        }
        let painted = shown("**bold** and `code`", Paint(true));
        assert_eq!(painted, "\u{1b}[1mbold\u{1b}[0m and \u{1b}[36mcode\u{1b}[0m");
    }

    #[test]
    fn nothing_steers_the_terminal_however_it_is_written() {
        for evil in [
            "\u{1b}[2J",
            "&#27;[2J",
            "**\u{1b}[2J**",
            "`\u{202e}x`",
            "[a](https://e.example/\u{202e})",
            "&#x202e;",
        ] {
            let plain = shown(evil, Paint(false));
            assert!(!plain.contains(['\u{1b}', '\u{202e}']), "{evil:?}: {plain:?}");
        }
    }
}
