//! No function has 50 lines or more, from its `fn` to its closing brace.

use std::fs;

use super::source_files;

const MOST_LINES: usize = 49;

#[test]
fn no_function_has_50_lines() {
    let mut long = Vec::new();
    for file in source_files() {
        let text = fs::read_to_string(&file).expect("sources are readable");
        let found = functions(&text).into_iter().filter(|(_, lines)| *lines > MOST_LINES);
        long.extend(found.map(|(name, lines)| format!("{}: {name} has {lines} lines", file.display())));
    }
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn the_lines_of_a_function_are_counted() {
    let text = [
        "impl A {", "    pub(crate) async fn a(", "        b: u8,", "    ) -> u8 {", "        if b > 1 {",
        "        }", "        b", "    }", "    fn c() {}", "    fn declared(&self);",
        "    fn long_declaration(", "        &self,", "    ) -> u8;", "}", "const fn d() -> u8 {", "    1",
        "}",
    ];
    let text = text.join("\n");
    let expected = [("a", 7), ("c", 1), ("d", 3)];
    assert_eq!(functions(&text), expected.map(|(name, lines)| (name.to_owned(), lines)));
}

/// The functions of a file and their lines, as rustfmt writes it: the brace that closes one stands below its
/// first word.
fn functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (begin, line) in lines.iter().enumerate() {
        let Some(name) = name_of(line) else { continue };
        let indent = &line[..line.len() - line.trim_start().len()];
        let closing = format!("{indent}}}");
        let is_last = |line: &&str| **line == closing;
        let is_one_line = line.ends_with('}') || line.ends_with(';');
        let more = if is_one_line { 0 } else { end_of(&lines[begin + 1..], is_last) };
        if !line.ends_with(';') && !is_declaration(&lines[begin..]) {
            found.push((name, more + 1));
        }
    }
    found
}

/// How many lines follow until one is the last.
fn end_of(lines: &[&str], is_last: impl Fn(&&str) -> bool) -> usize {
    lines.iter().position(is_last).map_or(0, |at| at + 1)
}

/// Whether a function of a trait has no body: its head ends in a semicolon before any brace opens.
fn is_declaration(lines: &[&str]) -> bool {
    let head = lines.iter().find(|line| line.ends_with([';', '{', '}']));
    head.is_some_and(|line| line.ends_with(';'))
}

/// The name of the function that a line begins.
fn name_of(line: &str) -> Option<String> {
    let (before, after) = line.trim_start().split_once("fn ").unwrap_or(("-", ""));
    let is_head = before.split_whitespace().all(|word| {
        word.starts_with("pub")
            || word.starts_with('"')
            || ["in", "const", "async", "unsafe", "extern"].contains(&word)
            || word.ends_with(')')
    });
    let name: String =
        after.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect();
    (is_head && !name.is_empty()).then_some(name)
}
