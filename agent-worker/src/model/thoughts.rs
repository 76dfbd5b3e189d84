//! Removes a model's thoughts from its text: they are notes to itself and never reach a person.
//!
//! Models that reason write their thoughts into the text, between `<think>` and `</think>`, where no server
//! took them out. Chat templates differ: the opening tag may be in the prompt, so that a text only has the
//! closing one, and a reply that was cut may have no closing tag. A tag in code or in quotes is talked about.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Reply;

const TAGS: [&str; 2] = ["think", "thinking"];

/// Where a model's thoughts stand.
#[derive(Debug, Default)]
pub(super) struct Thoughts {
    /// Whether this model's replies begin inside a thought, because its template opens one.
    begins_inside: AtomicBool,
}

impl Thoughts {
    /// The reply without thoughts in its text.
    pub(super) fn removed_from(&self, reply: Reply) -> Reply {
        let text = remove(&reply.text);
        if text.begins_inside {
            self.begins_inside.store(true, Ordering::Relaxed);
        }
        // Without any tag, such a model's cut reply never came to the end of its thought.
        let is_unfinished = reply.cut && !text.had_tags && self.begins_inside.load(Ordering::Relaxed);
        let text = if is_unfinished { String::new() } else { text.rest.into_owned() };
        Reply { text, ..reply }
    }

    /// What has come of a text, without thoughts. One that has begun may be no thought after all, which is
    /// shown when the text is whole.
    pub(super) fn so_far<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Removed { rest, had_tags, .. } = remove(text);
        if !had_tags && self.begins_inside.load(Ordering::Relaxed) {
            return Cow::Borrowed("");
        }
        match next_tag(&rest, 0).map(|tag| tag.start) {
            Some(start) if !is_in_fence(&rest[..start]) => Cow::Owned(rest[..start].to_owned()),
            _ => rest,
        }
    }
}

/// A text without its thoughts.
struct Removed<'a> {
    rest: Cow<'a, str>,
    had_tags: bool,
    begins_inside: bool,
}

fn remove(text: &str) -> Removed<'_> {
    let mut removed = Removed { rest: Cow::Borrowed(text), had_tags: false, begins_inside: false };
    while let Some(thought) = first_thought(&removed.rest) {
        removed.had_tags = true;
        removed.begins_inside |= thought.is_opened_before;
        let mut rest = removed.rest.into_owned();
        rest.replace_range(thought.range, "");
        removed.rest = Cow::Owned(rest.trim().to_owned());
    }
    removed
}

struct Thought {
    range: std::ops::Range<usize>,
    is_opened_before: bool,
}

fn first_thought(text: &str) -> Option<Thought> {
    let mut from = 0;
    while let Some(tag) = next_tag(text, from) {
        from = tag.end;
        if tag.is_closing {
            return Some(Thought { range: 0..tag.end, is_opened_before: true });
        }
        let before = &text[..tag.start];
        let close = closing_tag(text, tag.end);
        if is_in_fence(before) {
            // What the fence shows is talked about with its end.
            from = close.unwrap_or(tag.end);
            continue;
        }
        let begins_line = before.rsplit('\n').next().is_none_or(|line| line.trim().is_empty());
        match close {
            Some(end) => return Some(Thought { range: tag.start..end, is_opened_before: false }),
            None if begins_line => {
                return Some(Thought { range: tag.start..text.len(), is_opened_before: false });
            }
            None => {}
        }
    }
    None
}

struct Tag {
    start: usize,
    end: usize,
    is_closing: bool,
}

/// The next tag that is not in quotes.
fn next_tag(text: &str, from: usize) -> Option<Tag> {
    tags(text, from).find(|tag| {
        let is_quote = |character: char| matches!(character, '`' | '"' | '\'');
        !text[..tag.start].ends_with(is_quote) && !text[tag.end..].starts_with(is_quote)
    })
}

/// The end of the next closing tag. Inside a thought, quotes mean nothing.
fn closing_tag(text: &str, from: usize) -> Option<usize> {
    tags(text, from).find(|tag| tag.is_closing).map(|tag| tag.end)
}

fn tags(text: &str, from: usize) -> impl Iterator<Item = Tag> {
    text[from..].match_indices('<').filter_map(move |(at, _)| {
        let start = from + at;
        let inner = &text[start + 1..];
        let (inner, is_closing) = inner.strip_prefix('/').map_or((inner, false), |inner| (inner, true));
        let name = TAGS.into_iter().find(|name| {
            let end = inner.as_bytes().get(name.len());
            end == Some(&b'>') && inner.as_bytes()[..name.len()].eq_ignore_ascii_case(name.as_bytes())
        })?;
        Some(Tag { start, end: text.len() - inner.len() + name.len() + 1, is_closing })
    })
}

/// Whether a fence of code is open at the end of a text.
pub(super) fn is_in_fence(text: &str) -> bool {
    text.lines().filter(|line| line.trim_start().starts_with("```")).count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(remove(text).rest, expected, "{text:?}");
    }

    #[test]
    fn thoughts_are_removed_wherever_they_stand() {
        check("<think>hm</think>\n\nThree files.", "Three files.");
        check(" <Think>\nhm\n</think>a<thinking>x</thinking>b", "ab");
        check("Sure. <think>hm `</think>` Three files.", "Sure. ` Three files.");
        check("<think>a <think>b</think> c</think> d", "d");
        check("<think>```\n</think>\nd", "d");
    }

    #[test]
    fn thoughts_with_one_tag_are_removed() {
        check("I look at ```\nthe files.\n</think>\n\nThree files.", "Three files.");
        check("<think>hm", "");
        check("Three files.\n<think>and now", "Three files.");
        check("<think></think>", "");
    }

    #[test]
    fn a_tag_that_is_talked_about_stays() {
        for text in [
            "Three files.",
            "The tag `<think>` opens a thought and `</think>` closes it.",
            "Put it between \"<think>\" and \"</think>\".",
            "A template:\n```\n<think>reason</think>\n```\nThat is all.",
            "Models write <think> first.",
            "a < b, <thinker>, </ think>",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn a_thought_that_is_being_written_is_not_shown() {
        let thoughts = Thoughts::default();
        for (text, shown) in [
            ("Three fi", "Three fi"),
            ("<think>hm", ""),
            ("Sure. <think>hm", "Sure. "),
            ("<think>hm</think>Three <think>", "Three "),
            ("A template:\n```\n<think>reason", "A template:\n```\n<think>reason"),
        ] {
            assert_eq!(thoughts.so_far(text), shown);
        }
        thoughts.removed_from(Reply::answer("hm</think>An answer"));
        assert_eq!(thoughts.so_far("so I think that"), "");
        assert_eq!(thoughts.so_far("hm</think>half an"), "half an");
    }

    #[test]
    fn a_cut_reply_of_a_model_that_begins_inside_a_thought_has_no_text() {
        let thoughts = Thoughts::default();
        let cleaned = |text: &str, cut| thoughts.removed_from(Reply { cut, ..Reply::answer(text) }).text;
        assert_eq!(cleaned("half an answer", true), "half an answer");
        assert_eq!(cleaned("hm</think>An answer", false), "An answer");
        assert_eq!(cleaned("so I think that", true), "");
        assert_eq!(cleaned("hm</think>half an answer", true), "half an answer");
    }

    proptest! {
        #[test]
        fn no_closed_thought_survives(
            before in "[a-z .\n]{0,10}",
            thought in "[a-z`\"\n é]{0,20}",
            after in "[a-z .\n]{0,10}",
        ) {
            let text = format!("{before}<think>{thought}SECRET</think>{after}");
            prop_assert!(!remove(&text).rest.contains("SECRET"));
        }
    }
}
