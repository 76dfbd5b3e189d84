//! Applies a unified diff, as `patch` does, so that a diff is held against the files and not against itself.

/// What a text becomes by the diff after the words of an answer; without one nothing changes.
pub(crate) fn applied(old: &str, diff: &str) -> String {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let (mut new, mut next) = (String::new(), 0);
    let mut lines = diff.lines().skip(3).peekable();
    while let Some(line) = lines.next() {
        if let Some(heading) = line.strip_prefix("@@ -") {
            let start = first_line(heading);
            new.extend(old[next..start].iter().copied());
            next = start;
            continue;
        }
        let (sign, text) = line.split_at(1);
        let has_end = lines.next_if(|line| line.starts_with('\\')).is_none();
        let text = format!("{text}{}", if has_end { "\n" } else { "" });
        if sign != "+" {
            assert_eq!(old[next], text, "the diff does not fit the file");
            next += 1;
        }
        if sign != "-" {
            new.push_str(&text);
        }
    }
    new.extend(old[next..].iter().copied());
    new
}

/// The index of a hunk's first line: `12,3 +…` begins at index 11, and `12,0 +…` after line 12.
fn first_line(heading: &str) -> usize {
    let (range, _) = heading.split_once(' ').expect("a hunk has two ranges");
    let (start, length) = range.split_once(',').unwrap_or((range, "1"));
    let start: usize = start.parse().expect("a hunk has numbers");
    if length == "0" { start } else { start - 1 }
}
