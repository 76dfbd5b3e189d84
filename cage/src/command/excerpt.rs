//! The part of an output that is shown: all of it, or its head and a longer tail, as the end matters more.

use toolkit::Bounds;

use super::sanitize::{Changes, sanitize};

/// The text of a command's output, within the bounds.
#[derive(Debug, Default)]
pub(super) struct DisplayedOutput {
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) cut_lines: bool,
    pub(super) cut_bytes: bool,
    pub(super) changes: Changes,
}

impl DisplayedOutput {
    /// Whether there is more than is shown.
    pub(super) fn is_cut(&self) -> bool {
        self.cut_lines || self.cut_bytes
    }
}

/// The kept parts of an output, and its total size.
#[derive(Debug, Default)]
pub(super) struct HeadAndTail {
    pub(super) head: Vec<u8>,
    pub(super) tail: Vec<u8>,
    pub(super) bytes: u64,
    pub(super) lines: u64,
}

impl HeadAndTail {
    fn is_whole(&self) -> bool {
        u64::try_from(self.head.len() + self.tail.len()).is_ok_and(|kept| kept == self.bytes)
    }
}

/// Both outputs, each within the bounds.
pub(super) fn displayed_output(
    stdout: &HeadAndTail,
    stderr: &HeadAndTail,
    bounds: Bounds,
) -> DisplayedOutput {
    let mut text = DisplayedOutput::default();
    text.stdout = one(stdout, bounds, &mut text);
    text.stderr = one(stderr, bounds, &mut text);
    text
}

fn one(kept: &HeadAndTail, bounds: Bounds, text: &mut DisplayedOutput) -> String {
    let head = sanitize(&kept.head, &mut text.changes);
    let tail = sanitize(&kept.tail, &mut text.changes);
    if kept.is_whole() {
        let saved = head + &tail;
        if saved.len() <= bounds.bytes && saved.lines().count() <= bounds.lines {
            return saved;
        }
        text.cut_lines |= saved.lines().count() > bounds.lines;
        text.cut_bytes |= saved.len() > bounds.bytes;
        return join(&first_part(&saved, bounds), &last_part(&saved, bounds), kept);
    }
    text.cut_lines |= kept.lines > u64::try_from(bounds.lines).unwrap_or(u64::MAX);
    text.cut_bytes |= true;
    join(&first_part(&head, bounds), &last_part(&tail, bounds), kept)
}

/// Whole lines from the beginning, a quarter of the bounds; of a single long line its beginning.
fn first_part(text: &str, bounds: Bounds) -> String {
    let (lines, bytes) = (bounds.lines / 4, bounds.bytes / 4);
    let mut part = String::new();
    for line in text.split_inclusive('\n').take(lines) {
        if part.len() + line.len() > bytes {
            if part.is_empty() {
                part.push_str(toolkit::output::head(line, bytes));
            }
            break;
        }
        part.push_str(line);
    }
    part
}

/// Whole lines up to the end, three quarters of the bounds.
fn last_part(text: &str, bounds: Bounds) -> String {
    let (lines, bytes) = (bounds.lines - bounds.lines / 4, bounds.bytes - bounds.bytes / 4);
    let mut start = text.len();
    for line in text.split_inclusive('\n').rev().take(lines) {
        if text.len() - (start - line.len()) > bytes {
            if start == text.len() {
                start = text.ceil_char_boundary(text.len() - bytes);
            }
            break;
        }
        start -= line.len();
    }
    text[start..].to_owned()
}

fn join(first: &str, last: &str, kept: &HeadAndTail) -> String {
    let shown_lines = u64::try_from(first.lines().count() + last.lines().count()).unwrap_or(0);
    let break_before = if first.is_empty() || first.ends_with('\n') { "" } else { "\n" };
    format!(
        "{first}{break_before}[… cut: {} of {} lines, {} bytes in all; full_output has everything …]\n{last}",
        kept.lines.saturating_sub(shown_lines),
        kept.lines,
        kept.bytes
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str) -> HeadAndTail {
        HeadAndTail {
            head: text.as_bytes().to_vec(),
            tail: Vec::new(),
            bytes: u64::try_from(text.len()).unwrap(),
            lines: u64::try_from(text.lines().count()).unwrap(),
        }
    }

    #[test]
    fn a_short_output_is_shown_whole() {
        let shown = displayed_output(&kept("a\nb\n"), &kept(""), Bounds::default());
        assert_eq!((shown.stdout.as_str(), shown.cut_lines, shown.cut_bytes), ("a\nb\n", false, false));
    }

    #[test]
    fn of_a_long_output_the_head_and_more_of_the_tail_are_shown() {
        let output: String = (1..=100).map(|number| format!("{number}\n")).collect();
        let shown = displayed_output(&kept(&output), &kept(""), Bounds { lines: 8, bytes: 1000 });
        assert!(shown.cut_lines && !shown.cut_bytes);
        assert!(shown.stdout.starts_with("1\n2\n[… cut: 92 of 100 lines"), "{}", shown.stdout);
        assert!(shown.stdout.ends_with("…]\n95\n96\n97\n98\n99\n100\n"), "{}", shown.stdout);
    }

    #[test]
    fn one_long_line_is_cut_at_characters() {
        let shown = displayed_output(&kept(&"é".repeat(1000)), &kept(""), Bounds { lines: 8, bytes: 101 });
        assert!(shown.cut_bytes && !shown.cut_lines);
        assert!(shown.stdout.starts_with("éé") && shown.stdout.ends_with("éé"));
        assert!(shown.stdout.len() < 250);
    }
}
