//! `/language`: in which language the bot speaks in a chat.

use channel::content::Button;
use channel::formatting::FormattedText;
use channel::{Chat, Content, Delivery};
use settings::choices::Words as _;
use store::sql::Connection;
use store::{StoreError, languages, outbox};
use texts::{Language, Text};

use super::Context;

/// What takes a choice back.
const DEFAULT: &str = "default";
/// What a button carries before the language's code.
const PREFIX: &str = "language:";
/// The buttons of a row.
const IN_A_ROW: usize = 3;

/// The answer; none where a question with buttons is one.
pub(super) fn carry_out(
    connection: &Connection,
    context: &Context<'_>,
    code: Option<&str>,
) -> Result<Option<String>, StoreError> {
    let (chat, language) = (context.chat, context.language);
    let answer = match code {
        None if context.delivery == Delivery::Push => return ask(connection, context).map(|()| None),
        None => list(language),
        Some(DEFAULT) => {
            languages::choose(connection, chat, None)?;
            Text::LanguageByDefault.to(languages::of(connection, chat)?)
        }
        Some(code) => match Language::of_code(code) {
            Some(chosen) => choose(connection, chat, chosen)?,
            None => {
                let (first, second) = (Text::LanguageUnknown { code }.to(language), list(language));
                Text::Sentences { first: &first, second: &second }.to(language)
            }
        },
    };
    Ok(Some(answer))
}

/// Chooses the language of a chat, and says so in that language.
pub(crate) fn choose(connection: &Connection, chat: &Chat, language: Language) -> Result<String, StoreError> {
    languages::choose(connection, chat, Some(language))?;
    Ok(Text::LanguageChosen.to(language))
}

/// The language of a button's data, if it is one of these.
pub(crate) fn pressed(data: &str) -> Option<Language> {
    data.strip_prefix(PREFIX).and_then(Language::of_code)
}

fn ask(connection: &Connection, context: &Context<'_>) -> Result<(), StoreError> {
    let button =
        |language: &Language| Button::new(language.own_name(), format!("{PREFIX}{}", language.word()));
    let buttons = Language::ALL.chunks(IN_A_ROW).map(|row| row.iter().map(button).collect()).collect();
    let text = FormattedText::plain(Text::LanguageAsk.to(context.language));
    let question = vec![Content::Question { text, buttons }];
    let Context { task, chat, delivery, run, .. } = *context;
    outbox::queue(connection, Some(task), chat, question, delivery, Some(run)).map(drop)
}

fn list(language: Language) -> String {
    let codes = Language::ALL.map(Language::word).join(", ");
    Text::LanguageList { codes: &codes }.to(language)
}
