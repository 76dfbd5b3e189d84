//! What the bot itself says in a chat comes from the catalogue of `texts/`, and all of the catalogue is said.

use std::fs;
use std::path::Path;

use harness::project_copy;

use super::{source_files, without_tests};

/// Where chats are answered: no literal there is a sentence.
const SPEAKING: [&str; 13] = [
    "store/src/cancel.rs",
    "store/src/held.rs",
    "store/src/quotas.rs",
    "supervisor/src/approvals/",
    "supervisor/src/channels/progress_text.rs",
    "supervisor/src/commands/",
    "supervisor/src/downloads.rs",
    "supervisor/src/file_requests.rs",
    "supervisor/src/reception/",
    "supervisor/src/schedules/",
    "supervisor/src/strangers.rs",
    "supervisor/src/undo.rs",
    "telegram/src/translate.rs",
];

/// What is made of words for people, here without spaces. Wherever that is, the words are no literal.
const MADE_OF_WORDS: [&str; 7] = [
    "Content::Text(",
    "Button::new(",
    "FormattedText::plain(",
    "Text::Quoted{text:",
    "reply:",
    "told:Some(",
    "Content::Edit{message_id,text:",
];

/// What is for other programs and for the operator, who reads English.
const NOT_IN_A_CHAT: [&str; 6] =
    ["command-line/src/", "supervisor/src/control/", "supervisor/src/effects/", "texts/", "tests/", "bench/"];

#[test]
fn no_words_for_a_chat_are_outside_the_catalogue() {
    let mut found = Vec::new();
    for (path, code) in sources() {
        if SPEAKING.iter().any(|place| path.starts_with(place)) {
            found.extend(sentences(&code).map(|sentence| format!("{path}: {sentence:?}")));
        }
        let code: String = code.split_whitespace().collect();
        let literals = ["\"", "format!(\""]
            .iter()
            .flat_map(|form| MADE_OF_WORDS.iter().map(move |made| format!("{made}{form}")));
        found.extend(literals.filter(|it| has_word_behind(&code, it)).map(|it| format!("{path}: {it}…")));
    }
    assert!(found.is_empty(), "these belong into texts/locales: {found:#?}");
}

#[test]
fn every_text_of_the_catalogue_is_said() {
    let root = project_copy::workspace();
    let english = fs::read_to_string(root.join("texts/locales/en.ftl")).unwrap();
    let keys = english.lines().filter_map(|line| line.split_once(" =")).map(|(key, _)| key);
    let keys = keys.filter(|key| key.chars().all(char::is_alphanumeric)).collect::<Vec<_>>();
    assert!(keys.len() > 100, "{keys:?}");
    let code: String = sources().map(|(_, code)| code).collect();
    let names = |key: &str| {
        let name = format!("Text::{key}");
        code.match_indices(&name).any(|(at, _)| {
            !code[at + name.len()..].starts_with(|next: char| next.is_alphanumeric() || next == '_')
        })
    };
    let unsaid: Vec<&str> = keys.into_iter().filter(|key| !names(key)).collect();
    assert!(unsaid.is_empty(), "nothing says these texts of texts/locales: {unsaid:?}");
}

fn has_word_behind(code: &str, beginning: &str) -> bool {
    code.match_indices(beginning).any(|(at, _)| code[at + beginning.len()..].starts_with(char::is_alphabetic))
}

/// The files of the programs, without their tests, by their paths in the project.
fn sources() -> impl Iterator<Item = (String, String)> {
    let root = project_copy::workspace();
    let read = move |file: &Path| {
        let path = file.strip_prefix(&root).unwrap_or(file).display().to_string();
        let (code, _) = without_tests(&fs::read_to_string(file).unwrap());
        (path, code)
    };
    let files = source_files().into_iter().map(move |file| read(&file));
    let is_test = |path: &str| {
        let named = ["tests.rs", "_updates.rs", "fixture.rs"];
        path.contains("/tests/") || named.iter().any(|name| path.ends_with(name))
    };
    files
        .filter(move |(path, _)| !is_test(path) && !NOT_IN_A_CHAT.iter().any(|place| path.starts_with(place)))
}

/// The literals that begin as a sentence does and have several words, but for those of the log.
fn sentences(code: &str) -> impl Iterator<Item = &str> {
    let lines = code.lines().map(str::trim).filter(|line| {
        !["//", "tracing::", "#["].iter().any(|begin| line.starts_with(begin)) && !line.contains("expect(")
    });
    lines.flat_map(|line| line.split('"').skip(1).step_by(2)).filter(|literal| {
        literal.starts_with(|first: char| first.is_uppercase() || first == '“')
            && literal.contains(' ')
            && literal.chars().filter(|character| character.is_lowercase()).count() > 4
    })
}

#[test]
fn a_sentence_is_found_and_the_words_of_a_log_are_not() {
    let code = r#"
        let a = "This is one.";
        let b = format!("Also {one} here");
        tracing::warn!("Not this one");
        let c = "KEY NAME";
    "#;
    assert_eq!(sentences(code).collect::<Vec<_>>(), ["This is one.", "Also {one} here"]);
}
