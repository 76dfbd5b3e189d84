//! `/model`: which model works for a chat, and how to switch.

use channel::Chat;
use store::sql::Connection;
use store::{StoreError, conversation};
use texts::{Language, Text};

use super::Context;
use super::models::Models;

/// What takes a choice back.
const DEFAULT: &str = "default";

pub(super) fn carry_out(
    connection: &Connection,
    context: &Context<'_>,
    name: Option<&str>,
) -> Result<String, StoreError> {
    answer(connection, context.chat, (context.models, context.language), name)
}

fn answer(
    connection: &Connection,
    chat: &Chat,
    (models, language): (&Models, Language),
    name: Option<&str>,
) -> Result<String, StoreError> {
    if let Some(fixed) = models.fixed(chat) {
        return Ok(Text::ModelFixed { name: fixed }.to(language));
    }
    match name {
        None => told(connection, chat, models, language),
        Some(DEFAULT) => {
            conversation::choose_model(connection, chat, None)?;
            told(connection, chat, models, language)
        }
        Some(name) if models.has(name) => {
            conversation::choose_model(connection, chat, Some(name))?;
            Ok(Text::ModelChosen { name }.to(language))
        }
        Some(name) => Ok(with_choice(Text::ModelUnknown { name }, models, language)),
    }
}

fn told(
    connection: &Connection,
    chat: &Chat,
    models: &Models,
    language: Language,
) -> Result<String, StoreError> {
    if models.is_without_model() {
        return Ok(Text::ModelNone.to(language));
    }
    let unknown = Text::ModelFirst.to(language);
    let first = models.first().unwrap_or(&unknown);
    let chosen = conversation::model(connection, chat)?;
    let which = match chosen.as_deref() {
        Some(name) if models.has(name) => Text::ModelAsChosen { name },
        Some(gone) => Text::ModelGone { first, gone },
        None => Text::ModelAnswers { name: first },
    };
    Ok(with_choice(which, models, language))
}

fn with_choice(which: Text<'_>, models: &Models, language: Language) -> String {
    let names = models.listed().join(", ");
    let choice = match models.listed() {
        [] | [_] => Text::ModelNoOther,
        _ => Text::ModelSwitch { names: &names },
    };
    Text::Sentences { first: &which.to(language), second: &choice.to(language) }.to(language)
}

#[cfg(test)]
mod tests {
    use ::models::Selectable;
    use store::fixture::{TestDatabase, test_chat};

    use super::*;

    #[test]
    fn a_chat_chooses_among_the_listed_models_and_goes_back() {
        let database = TestDatabase::new();
        let named = |names: &[&str]| {
            Models::new(Selectable {
                names: names.iter().copied().map(str::to_owned).collect(),
                fixed: [("test:7".to_owned(), "small".to_owned())].into(),
            })
        };
        let models = named(&["large", "small"]);
        let ask = |models: &Models, name| {
            answer(&database, &test_chat(1), (models, Language::English), name).unwrap()
        };
        for (name, expected) in [
            (None, "large answers in this chat. Switch with /model"),
            (Some("tiny"), "There is no model “tiny” here. Switch with"),
            (Some("small"), "From the next message on, small answers"),
            (None, "small answers in this chat, as you chose."),
            (Some("default"), "large answers in this chat."),
        ] {
            let answer = ask(&models, name);
            assert!(answer.starts_with(expected), "{name:?}: {answer}");
        }
        ask(&models, Some("small"));
        let fewer = named(&["large"]);
        assert!(ask(&fewer, None).starts_with("large answers in this chat, because small is not configured"));
        for topic in ["7", "7:3"] {
            for name in [None, Some("large")] {
                let answer =
                    answer(&database, &test_chat(topic), (&models, Language::English), name).unwrap();
                assert_eq!(answer, "small always answers in this chat: my operator has chosen it.");
            }
        }
        let none = Models::default();
        none.introduce("direct");
        assert!(ask(&none, None).starts_with("No model is configured"));
    }
}
