//! A rule: what a kind of secret looks like, as data.

/// A kind of secret, how it is found, and examples of what it must redact and what it must leave.
#[derive(Clone, Copy)]
pub(super) struct Rule {
    /// What it finds, for whoever reads a failed test.
    #[cfg(test)]
    pub(super) name: &'static str,
    /// At least one of these must be in the text, in whichever case, before the pattern is tried.
    pub(super) keywords: &'static [&'static str],
    /// Where the pattern starts.
    pub(super) start: Start,
    /// A regular expression, matched where it starts and nowhere else. The first group that takes part is
    /// replaced, or the whole match when there is no group.
    pub(super) pattern: &'static str,
    /// The last word on what the pattern found.
    pub(super) is_secret: fn(&Found<'_>) -> bool,
    /// Texts that must be redacted exactly between « and ».
    #[cfg(test)]
    pub(super) redacts: &'static [&'static str],
    /// Texts that must stay as they are.
    #[cfg(test)]
    pub(super) leaves: &'static [&'static str],
}

/// Where a rule's pattern starts, seen from its keyword.
#[derive(Clone, Copy)]
pub(super) enum Start {
    /// At the keyword, wherever it is.
    Anywhere,
    /// At the keyword, which continues no word: `ghp_` does not start in `xghp_`.
    Word,
    /// At the keyword, which continues no word, dash or underscore: a long run is looked at only once.
    Run,
    /// Before the keyword, at the start of the bytes of this kind that lead to it, at most so many.
    Back(fn(u8) -> bool, usize),
    /// After the keyword, which ends a name such as `DB_PASSWORD`.
    Name,
}

/// What a pattern found, with what stands around it.
pub(super) struct Found<'a> {
    /// The text up to the name or the pattern's start, at most some 160 bytes of it.
    pub(super) before: &'a str,
    /// The name that the value is assigned to; empty without one.
    pub(super) name: &'a str,
    /// What stands between the name, or the pattern's start, and the value.
    pub(super) between: &'a str,
    /// What would be replaced.
    pub(super) value: &'a str,
    /// What follows the value, at most some 80 bytes of it.
    pub(super) after: &'a str,
}

/// A table of rules: `rule name, keywords, pattern, is_secret, start;` and then its examples, each in one or
/// more pieces. Without a `start` a rule starts at a [`Start::Word`]; without an `is_secret` it is that of a
/// token that nothing else looks like.
macro_rules! rules {
    ($(
        rule $name:literal, $keywords:expr, $pattern:expr $(, $is_secret:ident $(, $start:expr)?)?;
        $(redacts $($redacted:literal)+)+
        $(leaves $($($left:literal)+),+)?
    )+) => {
        &[$($crate::redaction::rule::Rule {
            #[cfg(test)]
            name: $name,
            keywords: $keywords,
            start: $crate::redaction::rule::first!($($($start,)?)? Start::Word),
            pattern: $pattern,
            is_secret: $crate::redaction::rule::first!(
                $($is_secret,)? $crate::redaction::false_positives::is_not_dummy
            ),
            #[cfg(test)]
            redacts: &[$(concat!($($redacted),+)),+],
            #[cfg(test)]
            leaves: &[$($(concat!($($left),+)),+)?],
        }),+]
    };
}

/// The first of one or two expressions.
macro_rules! first {
    ($first:expr $(, $default:expr)?) => {
        $first
    };
}

pub(super) use {first, rules};
