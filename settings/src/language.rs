//! The languages in which the bot itself speaks.

use crate::choices::Words;

/// A language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Language {
    #[default]
    English,
    German,
    Spanish,
    Russian,
    Chinese,
}

impl Language {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::English, Self::German, Self::Spanish, Self::Russian, Self::Chinese];

    /// The language of a tag as clients have it, such as `de`, `de-AT` or `zh-hans`; none if it is no
    /// language of ours, such as `pt-br`.
    pub fn of_code(tag: &str) -> Option<Self> {
        let code = tag.split(['-', '_']).next()?.to_ascii_lowercase();
        Self::WORDS.iter().find(|(word, _)| *word == code).map(|(_, language)| *language)
    }

    /// Its own name for itself.
    pub const fn own_name(self) -> &'static str {
        match self {
            Self::English => "English",
            Self::German => "Deutsch",
            Self::Spanish => "Español",
            Self::Russian => "Русский",
            Self::Chinese => "中文",
        }
    }
}

impl Words for Language {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("en", Self::English),
        ("de", Self::German),
        ("es", Self::Spanish),
        ("ru", Self::Russian),
        ("zh", Self::Chinese),
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_its_language_and_no_other_language_is() {
        for (tag, expected) in [
            ("de", Some(Language::German)),
            ("de-AT", Some(Language::German)),
            ("zh-hans", Some(Language::Chinese)),
            ("ZH_TW", Some(Language::Chinese)),
            ("pt-br", None),
            ("", None),
            ("den", None),
        ] {
            assert_eq!(Language::of_code(tag), expected, "{tag}");
        }
        for language in Language::ALL {
            assert_eq!(Language::of_code(language.word()), Some(language));
        }
    }
}
