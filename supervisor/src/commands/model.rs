//! `/model`: which model works for a chat, and how to switch.

use channel::Chat;
use rusqlite::Connection;
use store::{StoreError, conversation};

use super::models::Models;

pub(super) const USAGE: &str =
    "/model says which model answers in this chat. /model NAME switches to another one, /model default back.";

/// What takes a choice back.
const DEFAULT: &str = "default";

pub(super) fn carry_out(
    connection: &Connection,
    chat: &Chat,
    models: &Models,
    name: Option<&str>,
) -> Result<String, StoreError> {
    match name {
        None => told(connection, chat, models),
        Some(DEFAULT) => {
            conversation::choose_model(connection, chat, None)?;
            told(connection, chat, models)
        }
        Some(name) if models.has(name) => {
            conversation::choose_model(connection, chat, Some(name))?;
            Ok(format!("From the next message on, {name} answers in this chat."))
        }
        Some(name) => Ok(format!("There is no model “{name}” here. {}", choice(models))),
    }
}

fn told(connection: &Connection, chat: &Chat, models: &Models) -> Result<String, StoreError> {
    if models.is_without_model() {
        return Ok(
            "No model is configured: each message is the call of a tool. See docs/models.md.".to_owned()
        );
    }
    let first = models.first().unwrap_or("the first model");
    let which = match conversation::model(connection, chat)? {
        Some(chosen) if models.has(&chosen) => format!("{chosen} answers in this chat, as you chose."),
        Some(gone) => format!("{first} answers in this chat, because {gone} is not configured any more."),
        None => format!("{first} answers in this chat."),
    };
    Ok(format!("{which} {}", choice(models)))
}

fn choice(models: &Models) -> String {
    match models.listed() {
        [] | [_] => "There is no other model: my operator can list more in models.toml.".to_owned(),
        names => format!("Switch with /model and one of these names: {}.", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use store::fixture::{TestDatabase, test_chat};

    use super::*;

    #[test]
    fn a_chat_chooses_among_the_listed_models_and_goes_back() {
        let database = TestDatabase::new();
        let models = Models::new(["large", "small"].map(str::to_owned));
        let ask = |models: &Models, name| carry_out(&database, &test_chat(1), models, name).unwrap();
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
        let fewer = Models::new(["large".to_owned()]);
        assert!(ask(&fewer, None).starts_with("large answers in this chat, because small is not configured"));
        let none = Models::default();
        none.introduce("direct");
        assert!(ask(&none, None).starts_with("No model is configured"));
    }
}
