//! A unified diff with colours, and signs for those who see none.

use maud::{Markup, html};

use crate::words::words;

/// More lines are not coloured one by one.
const MOST_LINES: usize = 2000;

/// A text that may be a diff: with colours if it is one, else as it is.
pub(crate) fn diff_or_text(text: &str) -> Markup {
    if !is_diff(text) || text.lines().count() > MOST_LINES {
        return html! { pre tabindex="0" { (words(text)) } };
    }
    html! {
        pre.diff tabindex="0" {
            @for line in text.lines() {
                @match kind(line) {
                    Some(kind) => { span class=(kind) { (words(line)) } "\n" }
                    None => { (words(line)) "\n" }
                }
            }
        }
    }
}

/// Whether a text has a hunk of a unified diff.
pub(crate) fn is_diff(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("@@ "))
}

fn kind(line: &str) -> Option<&'static str> {
    let file = line.starts_with("+++ ") || line.starts_with("--- ");
    match line.bytes().next()? {
        _ if file => Some("file"),
        b'+' => Some("added"),
        b'-' => Some("removed"),
        b'@' => Some("hunk"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_and_removed_lines_have_their_colours_and_keep_their_signs() {
        let diff = "Updated a.txt\n--- a\n+++ b\n@@ -1 +1 @@\n-<b>\n+new\n same";
        let html = diff_or_text(diff).into_string();
        for part in [
            "<span class=\"removed\">-&lt;b&gt;</span>",
            "<span class=\"added\">+new</span>",
            "<span class=\"file\">--- a</span>",
            "<span class=\"hunk\">@@ -1 +1 @@</span>",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!diff_or_text("- a list\n- of things").into_string().contains("span"));
    }
}
