//! The scanner: one automaton finds the keywords of all rules, and a rule's pattern runs only at its
//! keywords.
//!
//! A pattern is compiled when its keyword is first found, because most never are. A rule does not scan its
//! own last match again, so that a long run of keywords costs no more than other text.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::Match;
use regex::bytes::{Regex, RegexBuilder};

use super::found::Found;
use super::keywords::Keywords;
use super::rule::{Rule, Start};
use super::{Context, assignments, formats, names, spans};

/// How much text a rule sees before and after a match.
const BEFORE_BYTES: usize = 160;
const AFTER_BYTES: usize = 80;

/// A match that is no secret can still contain one, but a longer match is not scanned again:
/// `token=token=token=…` would take quadratic time.
const MAX_RESCANNED_BYTES: usize = 256;

/// How much base64 stands before a match that is a part of it, and twice what stands after it.
const MIN_BASE64_BYTES: usize = 64;

pub(super) fn standard() -> &'static Scanner {
    static STANDARD: LazyLock<Scanner> = LazyLock::new(|| Scanner::new(all_rules()));
    &STANDARD
}

fn all_rules() -> impl Iterator<Item = &'static Rule> {
    formats::ALL.iter().copied().flatten().chain(assignments::RULES)
}

pub(super) struct Scanner {
    keywords: Keywords,
    rules: Vec<Compiled>,
    /// For each of the keywords the rules that it belongs to.
    rules_of: Vec<Vec<usize>>,
}

struct Compiled {
    rule: &'static Rule,
    regex: OnceLock<Regex>,
}

impl Scanner {
    pub(super) fn new(rules: impl Iterator<Item = &'static Rule>) -> Self {
        let rules: Vec<_> = rules.map(|rule| Compiled { rule, regex: OnceLock::new() }).collect();
        let mut keywords: Vec<&str> = Vec::new();
        let mut rules_of: Vec<Vec<usize>> = Vec::new();
        for (index, compiled) in rules.iter().enumerate() {
            for keyword in compiled.rule.keywords {
                match keywords.iter().position(|known| known == keyword) {
                    Some(known) => rules_of[known].push(index),
                    None => {
                        keywords.push(keyword);
                        rules_of.push(vec![index]);
                    }
                }
            }
        }
        Self { keywords: Keywords::new(&keywords), rules, rules_of }
    }

    /// Whether a text has a keyword of any rule. Without one it has no secret.
    pub(super) fn has_keyword(&self, text: &str) -> bool {
        self.keywords.are_in(text)
    }

    /// Where the text has secrets, in no particular order.
    pub(super) fn find(&self, text: &str, context: Context) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        // Most texts are short and have no keyword at all.
        let mut done = Vec::new();
        for hit in self.keywords.find(text) {
            done.resize(self.rules.len(), 0);
            for rule in &self.rules_of[hit.pattern().as_usize()] {
                if hit.start() < done[*rule] {
                    continue;
                }
                let Some((span, is_secret)) = self.rules[*rule].match_at(text, &hit, context) else {
                    continue;
                };
                if is_secret || span.len() > MAX_RESCANNED_BYTES {
                    done[*rule] = span.end;
                }
                found.extend(is_secret.then_some(span));
            }
        }
        found
    }
}

impl Compiled {
    /// The pattern's match at its keyword, and whether that is a secret.
    fn match_at(&self, text: &str, hit: &Match, context: Context) -> Option<(Range<usize>, bool)> {
        let start = start(text.as_bytes(), self.rule.start, hit)?;
        let span = spans::snapped(text, self.replaced(&text.as_bytes()[start..], start)?)?;
        let name = match self.rule.start {
            Start::Name => names::before(text, hit.end()),
            Start::Anywhere | Start::Word | Start::Run | Start::Back(..) => start..start,
        };
        let line = text.floor_char_boundary(name.start.saturating_sub(BEFORE_BYTES));
        let rest = text.ceil_char_boundary(span.end.saturating_add(AFTER_BYTES).min(text.len()));
        let found = Found {
            before: &text[line..name.start],
            between: text.get(name.end..span.start).unwrap_or_default(),
            name: &text[name],
            value: &text[span.clone()],
            after: &text[span.end..rest],
        };
        let is_named = matches!(self.rule.start, Start::Name);
        let has_prefix = matches!(self.rule.start, Start::Word | Start::Run | Start::Back(..));
        let is_secret = (self.rule.is_secret)(&found)
            && !(has_prefix && is_inside_base64(&found))
            && (context == Context::Text || !is_named || assignments::is_secret_in_command(&found));
        Some((span, is_secret))
    }

    /// The part of a match that is replaced.
    fn replaced(&self, bytes: &[u8], start: usize) -> Option<Range<usize>> {
        let regex = self.regex.get_or_init(|| compiled(self.rule.pattern));
        let span = if regex.captures_len() == 1 {
            regex.find(bytes)?.range()
        } else {
            regex.captures(bytes)?.iter().skip(1).flatten().next()?.range()
        };
        Some(start + span.start..start + span.end)
    }
}

/// Without Unicode classes a pattern takes kilobytes instead of megabytes.
fn compiled(pattern: &str) -> Regex {
    RegexBuilder::new(&format!(r"\A(?:{pattern})"))
        .unicode(false)
        .build()
        .expect("a test compiles the pattern of every rule")
}

fn start(bytes: &[u8], start: Start, hit: &Match) -> Option<usize> {
    match start {
        Start::Anywhere => Some(hit.start()),
        Start::Word => starts_word(bytes, hit.start()).then_some(hit.start()),
        Start::Run => {
            let previous = bytes[..hit.start()].last();
            let begins = !matches!(previous, Some(b'-' | b'_')) && starts_word(bytes, hit.start());
            begins.then_some(hit.start())
        }
        Start::Back(belongs, at_most) => {
            let lead = &bytes[hit.start().saturating_sub(at_most)..hit.start()];
            Some(hit.start() - lead.iter().rev().take_while(|byte| belongs(byte)).count())
        }
        Start::Name => {
            let next = bytes.get(hit.end())?;
            (!next.is_ascii_alphanumeric() && *next != b'_').then_some(hit.end())
        }
    }
}

/// Whether this is not inside a word. The last letter of an escape (`\n`, `%3D`, a terminal's colour) is not
/// part of a word.
fn starts_word(bytes: &[u8], at: usize) -> bool {
    match &bytes[..at] {
        [.., last] if !last.is_ascii_alphanumeric() => true,
        [] | [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., b'%', high, low] => high.is_ascii_hexdigit() && low.is_ascii_hexdigit(),
        [lead @ .., b'm'] => ends_in_colour(lead),
        _ => false,
    }
}

/// Whether a match is a part of much more base64, such as an image, in which every prefix occurs.
fn is_inside_base64(found: &Found<'_>) -> bool {
    let belongs = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let before = found.before.as_bytes();
    let (lead, rest) = (before.iter().rev().take_while(|byte| belongs(byte)), found.after.as_bytes());
    let lead = &before[before.len() - lead.count()..];
    let has_all = |kind: fn(&u8) -> bool| lead.iter().any(kind);
    matches!(lead.last(), Some(b'+' | b'/'))
        && lead.len() >= MIN_BASE64_BYTES
        && rest.iter().take_while(|byte| belongs(byte)).count() >= MIN_BASE64_BYTES / 2
        && has_all(u8::is_ascii_uppercase)
        && has_all(u8::is_ascii_digit)
}

fn ends_in_colour(lead: &[u8]) -> bool {
    let numbers = lead.iter().rev().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    let lead = &lead[..lead.len() - numbers];
    numbers <= 16
        && (lead.ends_with(b"\x1b[")
            || lead.ends_with(b"1b[")
            || lead.ends_with(b"1b}[")
            || lead.ends_with(b"33["))
}

#[cfg(test)]
mod tests {
    use super::super::PLACEHOLDER;
    use super::*;

    fn redacted(scanner: &Scanner, text: &str) -> String {
        spans::replace(text, scanner.find(text, Context::Text)).unwrap_or_else(|| text.to_owned())
    }

    #[test]
    fn every_rule_redacts_and_leaves_its_examples() {
        for rule in all_rules() {
            let scanner = Scanner::new(std::iter::once(rule));
            let name = rule.name;
            assert!(!rule.redacts.is_empty(), "{name} has no example");
            for example in rule.redacts {
                let (before, rest) = example.split_once('«').expect(name);
                let (secret, after) = rest.split_once('»').expect(name);
                let text = format!("{before}{secret}{after}");
                let expected = format!("{before}{PLACEHOLDER}{after}");
                assert_eq!(redacted(&scanner, &text), expected, "{name}: {text}");
            }
            for text in rule.leaves {
                assert_eq!(redacted(&scanner, text), *text, "{name}");
                assert_eq!(redacted(standard(), text), *text, "another rule redacts what {name} leaves");
            }
        }
    }

    #[test]
    fn every_ending_of_a_secret_s_name_is_a_keyword() {
        for ending in names::NAME_ENDINGS {
            assert!(standard().has_keyword(&format!("\nMY{}\n", ending.to_uppercase())), "{ending}");
        }
        assert!(!standard().has_keyword("name\nsize_bytes\nmtime_ms\nfile-000001.txt\n"));
    }

    #[test]
    fn every_rule_has_a_unique_name() {
        let mut names: Vec<_> = all_rules().map(|rule| rule.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }

    #[test]
    fn a_token_is_found_after_an_escape_and_not_inside_a_word() {
        let token = concat!("ghp_", "FAKEqB5MgSBLlDTieKDsetmpCkeevCuwbMjR");
        for before in ["", " ", "=", "\\n", "\\t", "%3D", "\u{1b}[1;32m", "\\u001b[0m", "\\u{1b}[0m", "é"] {
            let text = format!("{before}{token}");
            assert_eq!(redacted(standard(), &text), format!("{before}{PLACEHOLDER}"), "{before:?}");
        }
        for before in ["x", "0", "%zz", "[32m"] {
            let text = format!("{before}{token}");
            assert_eq!(redacted(standard(), &text), text, "{before:?}");
        }
    }
}
