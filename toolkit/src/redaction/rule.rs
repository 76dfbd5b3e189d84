//! A rule: what a kind of secret looks like, as data.

/// A kind of secret, how it is found, and examples of what it must redact and what it must leave.
#[derive(Clone, Copy)]
pub(super) struct Rule {
    /// What it finds, for whoever reads a failed test.
    #[cfg_attr(not(test), expect(dead_code, reason = "the test over all rules names the offender"))]
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
    pub(super) redacts: &'static [&'static str],
    /// Texts that must stay as they are.
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

impl Rule {
    /// A token that starts with one of its keywords and that nothing else looks like.
    pub(super) const fn token(
        name: &'static str,
        keywords: &'static [&'static str],
        pattern: &'static str,
    ) -> Self {
        Self::new(name, keywords, Start::Word, pattern, super::honest::is_no_stand_in)
    }

    /// A rule without examples yet.
    pub(super) const fn new(
        name: &'static str,
        keywords: &'static [&'static str],
        start: Start,
        pattern: &'static str,
        is_secret: fn(&Found<'_>) -> bool,
    ) -> Self {
        Self { name, keywords, start, pattern, is_secret, redacts: &[], leaves: &[] }
    }

    /// The same rule with texts that it must redact between « and ».
    pub(super) const fn redacts(mut self, examples: &'static [&'static str]) -> Self {
        self.redacts = examples;
        self
    }

    /// The same rule with texts that it must leave.
    pub(super) const fn leaves(mut self, examples: &'static [&'static str]) -> Self {
        self.leaves = examples;
        self
    }
}
