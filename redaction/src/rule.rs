//! A rule: what a kind of secret looks like, as data.

use super::found::Found;

/// A kind of secret: how it is found, and examples of what must be redacted and what must stay.
#[derive(Clone, Copy)]
pub(super) struct Rule {
    /// What it finds, for the message of a failed test.
    #[cfg(test)]
    pub(super) name: &'static str,
    /// The pattern is tried wherever one of these is in the text, in any case.
    pub(super) keywords: &'static [&'static str],
    pub(super) start: Start,
    /// A regular expression, anchored at `start`. The first group that participates is replaced, or the whole
    /// match if it has no groups.
    pub(super) pattern: &'static str,
    pub(super) is_secret: fn(&Found<'_>) -> bool,
    /// Texts that must be redacted exactly between « and ».
    #[cfg(test)]
    pub(super) redacts: &'static [&'static str],
    /// Texts that must stay unchanged.
    #[cfg(test)]
    pub(super) leaves: &'static [&'static str],
}

/// Where a rule's pattern starts, relative to its keyword.
#[derive(Clone, Copy)]
pub(super) enum Start {
    /// At the keyword.
    Anywhere,
    /// At a keyword that starts a word: not at `ghp_` in `xghp_`.
    Word,
    /// At a keyword that starts a word and follows no dash or underscore, so that a long run is tried once.
    Run,
    /// Before the keyword, at the first of the bytes of this kind that precede it, up to this many.
    Back(fn(&u8) -> bool, usize),
    /// After a keyword that ends a name such as `DB_PASSWORD`.
    Name,
}

/// A table of rules: `rule name, keywords, pattern, is_secret, start;` and then the rule's examples, each in
/// one or more pieces. The defaults suit a token with a prefix of its own: any match that is not a dummy is a
/// secret, and it starts at a [`Start::Word`].
macro_rules! rules {
    ($(
        rule $name:literal, $keywords:expr, $pattern:expr $(, $is_secret:ident $(, $start:expr)?)?;
        $(redacts $($redacted:literal)+)+
        $(leaves $($($left:literal)+),+)?
    )+) => {
        &[$($crate::rule::Rule {
            #[cfg(test)]
            name: $name,
            keywords: $keywords,
            start: $crate::rule::first!($($($start,)?)? Start::Word),
            pattern: $pattern,
            is_secret: $crate::rule::first!(
                $($is_secret,)? $crate::false_positives::is_not_dummy
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
