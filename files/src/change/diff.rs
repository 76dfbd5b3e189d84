//! The unified diff of two contents, always the same for the same two. The common beginning and end are
//! skipped first, so that time and memory depend on the change and not on the size of the file.

use std::borrow::Cow;

use protocol::visible;
use similar::TextDiff;
use toolkit::output::Full;
use toolkit::{Bounds, Page};

/// Lines of context around a change.
const CONTEXT: usize = 3;

/// More differing lines than this are shown as one block: a minimal difference would take quadratic time.
const MAX_COMPARED_LINES: usize = 4000;

/// How many bytes are compared at once.
const BLOCK: usize = 4096;

/// A difference, within the limits of an answer.
#[derive(Debug, Default)]
pub struct Difference {
    pub(crate) text: String,
    pub(crate) cut: Option<Full>,
    /// What was cut, escaped or could not be compared.
    pub(crate) notices: Vec<String>,
}

/// The difference of a file's contents after a line that says in words what was done; `None` is no file,
/// `Some(None)` a file that was too large to be read.
pub fn unified(
    done: &str,
    path: &str,
    before: Option<Option<&[u8]>>,
    after: Option<&[u8]>,
    bounds: Bounds,
) -> Difference {
    let only_words = || Difference { text: format!("{done}\n"), ..Difference::default() };
    let Some(before_bytes) = before.unwrap_or(Some(b"")) else {
        let notice = "The file is too large to compare; no diff is shown.".to_owned();
        return Difference { notices: vec![notice], ..only_words() };
    };
    let (old, new) = (before_bytes, after.unwrap_or(b""));
    if old == new && before.is_some() == after.is_some() {
        return only_words();
    }
    let header = [
        format!("--- {}", if before.is_some() { path } else { "/dev/null" }),
        format!("+++ {}", if after.is_some() { path } else { "/dev/null" }),
    ];
    let mut page = Page::new(usize::MAX, bounds);
    page.push(done);
    let mut is_escaped = false;
    for mut line in header.into_iter().chain(hunks(old, new, bounds.lines)) {
        // The newline tells the end of a CRLF line from other carriage returns.
        line.push('\n');
        is_escaped |= visible::escape(&mut line);
        if !page.push(line.strip_suffix('\n').unwrap_or(&line)) {
            break;
        }
    }
    let cut = page.full();
    let cut_notice = cut.map(|_| {
        format!("The diff is too long; showing its first {} lines.", page.lines().saturating_sub(1))
    });
    let escaped_notice = is_escaped.then(|| visible::NOTICE.to_owned());
    let notices = cut_notice.into_iter().chain(escaped_notice).collect();
    Difference { text: page.into_text(), cut, notices }
}

/// Lines with their endings, as text; invalid UTF-8 is replaced.
fn lines(content: &[u8]) -> impl Iterator<Item = Cow<'_, str>> {
    content.split_inclusive(|byte| *byte == b'\n').map(String::from_utf8_lossy)
}

/// The number of lines; an unfinished one counts.
fn count(content: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', content).count()
        + usize::from(content.last().is_some_and(|last| *last != b'\n'))
}

fn hunks(old: &[u8], new: &[u8], most_lines: usize) -> Vec<String> {
    let (start, end) = in_common(old, new);
    let (old_middle, new_middle) = (&old[start..old.len() - end], &new[start..new.len() - end]);
    if count(old_middle).max(count(new_middle)) > MAX_COMPARED_LINES {
        return block(old_middle, new_middle, count(&old[..start]), most_lines);
    }
    let (before, after) = (context_before(&old[..start]), context_after(&old[old.len() - end..]));
    let from = count(&old[..start - before]);
    let old_part: Vec<_> = lines(&old[start - before..old.len() - end + after]).collect();
    let new_part: Vec<_> = lines(&new[start - before..new.len() - end + after]).collect();
    let old_part: Vec<&str> = old_part.iter().map(AsRef::as_ref).collect();
    let new_part: Vec<&str> = new_part.iter().map(AsRef::as_ref).collect();
    let diff = TextDiff::from_slices(&old_part, &new_part);
    let mut text = Vec::new();
    for group in diff.grouped_ops(CONTEXT) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let old_range = first.old_range().start..last.old_range().end;
        let new_range = first.new_range().start..last.new_range().end;
        text.push(heading(from + old_range.start, old_range.len(), from + new_range.start, new_range.len()));
        for change in group.iter().flat_map(|operation| diff.iter_changes(operation)) {
            push_line(&mut text, change.tag().to_string().chars().next().unwrap_or(' '), change.value());
        }
    }
    text
}

/// The lengths in bytes of the whole lines that both begin with and that both end with.
fn in_common(old: &[u8], new: &[u8]) -> (usize, usize) {
    let same = same_at_start(old, new);
    let start = memchr::memrchr(b'\n', &old[..same]).map_or(0, |newline| newline + 1);
    let (old, new) = (&old[start..], &new[start..]);
    let same = same_at_end(old, new);
    let begins_line = |rest: &[u8]| rest.last().is_none_or(|last| *last == b'\n');
    if begins_line(&old[..old.len() - same]) && begins_line(&new[..new.len() - same]) {
        return (start, same);
    }
    let cut = memchr::memchr(b'\n', &old[old.len() - same..]).map_or(same, |newline| newline + 1);
    (start, same - cut)
}

/// How many bytes two contents share at the start. Comparing blocks is many times faster than bytes.
pub(super) fn same_at_start(old: &[u8], new: &[u8]) -> usize {
    let blocks = old.chunks(BLOCK).zip(new.chunks(BLOCK)).take_while(|(left, right)| left == right);
    let whole: usize = blocks.map(|(block, _)| block.len()).sum();
    let rest = old[whole..].iter().zip(&new[whole..]);
    whole + rest.take_while(|(left, right)| left == right).count()
}

fn same_at_end(old: &[u8], new: &[u8]) -> usize {
    let blocks = old.rchunks(BLOCK).zip(new.rchunks(BLOCK)).take_while(|(left, right)| left == right);
    let whole: usize = blocks.map(|(block, _)| block.len()).sum();
    let rest = old[..old.len() - whole].iter().rev().zip(new[..new.len() - whole].iter().rev());
    whole + rest.take_while(|(left, right)| left == right).count()
}

/// The length in bytes of the context lines at the end of a content.
fn context_before(content: &[u8]) -> usize {
    content.split_inclusive(|byte| *byte == b'\n').rev().take(CONTEXT).map(<[u8]>::len).sum()
}

fn context_after(content: &[u8]) -> usize {
    content.split_inclusive(|byte| *byte == b'\n').take(CONTEXT).map(<[u8]>::len).sum()
}

/// Everything between the common beginning and end, removed and added; no more than an answer can show.
fn block(old: &[u8], new: &[u8], start: usize, most_lines: usize) -> Vec<String> {
    let mut text = vec![heading(start, count(old), start, count(new))];
    lines(old).take(most_lines).for_each(|line| push_line(&mut text, '-', &line));
    lines(new).take(most_lines).for_each(|line| push_line(&mut text, '+', &line));
    text
}

fn heading(old_start: usize, old_length: usize, new_start: usize, new_length: usize) -> String {
    format!("@@ -{} +{} @@", range(old_start, old_length), range(new_start, new_length))
}

/// A range in diff format: an empty one names the line before it.
fn range(start: usize, length: usize) -> String {
    match length {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        _ => format!("{},{length}", start + 1),
    }
}

fn push_line(text: &mut Vec<String>, sign: char, line: &str) {
    match line.strip_suffix('\n') {
        Some(line) => text.push(format!("{sign}{line}")),
        None => {
            text.push(format!("{sign}{line}"));
            text.push("\\ No newline at end of file".to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: Option<&str>, after: Option<&str>, expected: &str) {
        let difference = unified(
            "Done.",
            "f",
            before.map(|text| Some(text.as_bytes())),
            after.map(str::as_bytes),
            Bounds::default(),
        );
        assert_eq!(difference.text, format!("Done.\n{expected}"));
    }

    #[test]
    fn differences_are_unified_diffs() {
        check(Some("a\nb\nc\n"), Some("a\nB\nc\n"), "--- f\n+++ f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
        check(None, Some("a\n"), "--- /dev/null\n+++ f\n@@ -0,0 +1 @@\n+a\n");
        check(Some("a\n"), None, "--- f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n");
        check(Some("a"), Some("a\n"), "--- f\n+++ f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
        check(Some("a\n"), Some("a\n"), "");
        check(None, Some(""), "--- /dev/null\n+++ f\n");
        check(Some("b\n"), Some("a\nb\n"), "--- f\n+++ f\n@@ -1 +1,2 @@\n+a\n b\n");
        check(Some("ab\nc\n"), Some("b\nc\n"), "--- f\n+++ f\n@@ -1,2 +1,2 @@\n-ab\n+b\n c\n");
        check(Some("a\na\n"), Some("a\n"), "--- f\n+++ f\n@@ -1,2 +1 @@\n a\n-a\n");
    }

    #[test]
    fn a_change_between_long_common_parts_is_found_at_its_place() {
        let shared: String = (1..=2 * BLOCK).map(|number| format!("{number}\n")).collect();
        for (old, new, expected) in [
            ("", "x\n", "@@ -8190,6 +8190,7 @@\n 8190\n 8191\n 8192\n+x\n 1\n 2\n 3\n"),
            ("x\n", "", "@@ -8190,7 +8190,6 @@\n 8190\n 8191\n 8192\n-x\n 1\n 2\n 3\n"),
            ("a1\n", "b1\n", "@@ -8190,7 +8190,7 @@\n 8190\n 8191\n 8192\n-a1\n+b1\n 1\n 2\n 3\n"),
        ] {
            let whole = [old, new].map(|middle| format!("{shared}{middle}{shared}"));
            check(Some(&whole[0]), Some(&whole[1]), &format!("--- f\n+++ f\n{expected}"));
        }
        let beginning = "--- f\n+++ f\n@@ -1,3 +1,4 @@\n+x\n 1\n 2\n 3\n";
        check(Some(&shared), Some(&format!("x\n{shared}")), beginning);
        let end = "--- f\n+++ f\n@@ -8190,3 +8190,4 @@\n 8190\n 8191\n 8192\n+x\n";
        check(Some(&shared), Some(&format!("{shared}x\n")), end);
    }

    #[test]
    fn a_change_deep_in_a_file_has_its_own_line_numbers() {
        let before: String = (1..=100).map(|number| format!("{number}\n")).collect();
        let hunk = "@@ -47,7 +47,7 @@\n 47\n 48\n 49\n-50\n+fifty\n 51\n 52\n 53\n";
        check(Some(&before), Some(&before.replace("50\n", "fifty\n")), &format!("--- f\n+++ f\n{hunk}"));
    }

    #[test]
    fn a_difference_of_everything_is_one_block_and_is_cut_at_the_bounds() {
        let text = |word: &str| (0..9000).map(|number| format!("{word}{number}\n")).collect::<String>();
        let (before, after) = (text("a"), text("b"));
        let difference =
            unified("Done.", "f", Some(Some(before.as_bytes())), Some(after.as_bytes()), Bounds::default());
        assert!(difference.text.contains("@@ -1,9000 +1,9000 @@"));
        assert_eq!(difference.cut, Some(Full::Lines));
        assert_eq!(difference.notices.len(), 1);
    }
}
