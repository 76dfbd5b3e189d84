//! The words of each text. A language is read when it is first spoken.
//!
//! Without Fluent's isolation marks (U+2068, U+2069): all five languages run from left to right, and people
//! copy commands and IDs out of messages.

use std::sync::OnceLock;

use fluent_bundle::FluentResource;
use fluent_bundle::concurrent::FluentBundle;
use settings::choices::Words as _;

use crate::{Language, Text};

type Bundle = FluentBundle<FluentResource>;

/// In the order of the languages.
static BUNDLES: [OnceLock<Bundle>; Language::ALL.len()] = [const { OnceLock::new() }; Language::ALL.len()];

impl Text<'_> {
    /// The words in a language.
    pub fn to(&self, language: Language) -> String {
        let (key, variables) = self.parts();
        let bundle = read(language);
        let Some(pattern) = bundle.get_message(key).and_then(|message| message.value()) else {
            // A test compares the catalogues with the list.
            return key.to_owned();
        };
        bundle.format_pattern(pattern, Some(&variables), &mut Vec::new()).into_owned()
    }
}

fn read(language: Language) -> &'static Bundle {
    BUNDLES[language as usize].get_or_init(|| bundle(language))
}

fn bundle(language: Language) -> Bundle {
    let mut bundle = Bundle::new_concurrent(language.word().parse().into_iter().collect());
    bundle.set_use_isolating(false);
    // What can be read of a file with a mistake is kept; a test finds the mistake.
    let resource = FluentResource::try_new(source(language).to_owned()).unwrap_or_else(|(read, _)| read);
    bundle.add_resource_overriding(resource);
    bundle
}

fn source(language: Language) -> &'static str {
    match language {
        Language::English => include_str!("../locales/en.ftl"),
        Language::German => include_str!("../locales/de.ftl"),
        Language::Spanish => include_str!("../locales/es.ftl"),
        Language::Russian => include_str!("../locales/ru.ftl"),
        Language::Chinese => include_str!("../locales/zh.ftl"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use fluent_bundle::FluentValue;

    use super::*;
    use crate::list::ALL;

    /// The messages of a catalogue, each with the variables that it names.
    fn messages(language: Language) -> BTreeMap<&'static str, BTreeSet<&'static str>> {
        let mut messages = BTreeMap::<_, BTreeSet<_>>::new();
        let mut current = None;
        for line in source(language).lines() {
            let begins = line.split_once(" =").filter(|(key, _)| key.chars().all(char::is_alphanumeric));
            if let Some((key, _)) = begins {
                assert!(
                    messages.insert(key, BTreeSet::new()).is_none(),
                    "{key} is there twice: {language:?}"
                );
                current = Some(key);
            }
            let names = line.split('$').skip(1).filter_map(|rest| rest.split([' ', '}']).next());
            let Some(variables) = current.and_then(|key| messages.get_mut(key)) else { continue };
            variables.extend(names);
        }
        messages
    }

    /// A text with this number for each of its variables.
    fn said(language: Language, key: &str, variables: &[&'static str], number: i64) -> String {
        let filled = variables.iter().map(|name| (*name, FluentValue::from(number))).collect();
        let pattern = read(language).get_message(key).and_then(|message| message.value()).unwrap();
        let mut errors = Vec::new();
        let said = read(language).format_pattern(pattern, Some(&filled), &mut errors).into_owned();
        assert!(errors.is_empty(), "{key} in {language:?}: {errors:?}");
        said
    }

    #[test]
    fn every_language_has_each_text_with_its_variables_and_no_other() {
        for language in Language::ALL {
            let found = messages(language);
            let listed: BTreeMap<_, BTreeSet<_>> =
                ALL.iter().map(|(key, variables)| (*key, variables.iter().copied().collect())).collect();
            for (key, variables) in &listed {
                assert_eq!(found.get(key), Some(variables), "{key} in {language:?}");
            }
            let unknown: Vec<_> = found.keys().filter(|key| !listed.contains_key(**key)).collect();
            assert!(unknown.is_empty(), "{language:?} has texts that are not in the list: {unknown:?}");
        }
    }

    #[test]
    fn every_text_can_be_said_about_every_number() {
        for language in Language::ALL {
            FluentResource::try_new(source(language).to_owned())
                .unwrap_or_else(|(_, errors)| panic!("{language:?}: {errors:?}"));
            for (key, variables) in ALL {
                for number in [0_i64, 1, 2, 5, 11, 21, 22, 1_000_000] {
                    let said = said(language, key, variables, number);
                    assert!(!said.trim().is_empty(), "{key} in {language:?}");
                    assert!(!said.contains(['\u{2068}', '\u{2069}', '{', '}']), "{key}: {said}");
                }
            }
        }
    }

    #[test]
    fn numbers_are_declined_and_not_grouped() {
        let wait = |count| Text::MessagesWait { count }.to(Language::Russian);
        for (count, expected) in [
            (1, "Ждёт 1 сообщение."),
            (3, "Ждут 3 сообщения."),
            (11, "Ждут 11 сообщений."),
            (21, "Ждёт 21 сообщение."),
            (1_000_000, "Ждут 1000000 сообщений."),
        ] {
            assert_eq!(wait(count), expected);
        }
        assert_eq!(Text::MessagesWait { count: 1 }.to(Language::English), "1 message waits.");
        assert_eq!(Text::Sentences { first: "一。", second: "二。" }.to(Language::Chinese), "一。二。");
    }

    /// A text that is the same as in English was probably forgotten, unless it is a name or a number.
    #[test]
    fn texts_are_translated() {
        const ALIKE: [&str; 9] = [
            "LimitOfTokens", "Quoted", "Sentences", "ChatPaired", "ScheduleOnce", "ProgressTokens",
            "Seconds", "MinutesAndSeconds", "PairingInTerminal",
        ];
        for language in Language::ALL.into_iter().filter(|language| *language != Language::English) {
            for (key, variables) in ALL.iter().filter(|(key, _)| !ALIKE.contains(key)) {
                let english = said(Language::English, key, variables, 2);
                assert_ne!(said(language, key, variables, 2), english, "{key} in {language:?}");
            }
        }
    }
}
