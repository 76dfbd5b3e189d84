//! The language in which the bot speaks in a chat: the one that was chosen there, else the one of the
//! person's client, else the setting, which is noted here because other processes queue messages, too.

use channel::Chat;
use settings::choices::Words as _;
use settings::language::Language;

use super::sql::{Connection, params};
use super::{StoreError, kv};

/// The key of the setting.
const SETTING: &str = "language";

/// The language of a chat.
pub fn of(connection: &Connection, chat: &Chat) -> Result<Language, StoreError> {
    let sql = "select coalesce((select coalesce(language, client_language) from chat_settings
                                where channel = ?1 and chat_id = ?2),
                               (select value from kv where key = ?3))";
    let chat = chat.whole();
    let values = params![chat.channel.as_str(), chat.id, SETTING];
    let code: Option<String> = connection.query_row(sql, values, |row| row.get(0))?;
    Ok(code.and_then(|code| Language::of_code(&code)).unwrap_or_default())
}

/// Chooses the language of a chat; none takes the choice back.
pub fn choose(connection: &Connection, chat: &Chat, language: Option<Language>) -> Result<(), StoreError> {
    let sql = "insert into chat_settings (channel, chat_id, language) values (?1, ?2, ?3)
               on conflict (channel, chat_id) do update set language = excluded.language";
    let (chat, code) = (chat.whole(), language.map(Language::word));
    connection.execute(sql, params![chat.channel.as_str(), chat.id, code])?;
    Ok(())
}

/// Notes the language tag that the client of the person in a chat names, such as `de` or `pt-br`.
pub fn note_client(connection: &Connection, chat: &Chat, tag: &str) -> Result<(), StoreError> {
    let sql = "insert into chat_settings (channel, chat_id, client_language) values (?1, ?2, ?3)
               on conflict (channel, chat_id) do update set client_language = excluded.client_language
               where chat_settings.client_language is distinct from excluded.client_language";
    let (chat, code) = (chat.whole(), Language::of_code(tag).map(Language::word));
    connection.execute(sql, params![chat.channel.as_str(), chat.id, code])?;
    Ok(())
}

/// Notes the setting.
pub fn set_default(connection: &Connection, language: Language) -> Result<(), StoreError> {
    kv::set(connection, SETTING, language.word())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{TestDatabase, test_chat};

    #[test]
    fn a_choice_comes_before_the_client_and_the_client_before_the_setting() {
        let database = TestDatabase::new();
        let topic = Chat::new(test_chat(1).channel, "1:12");
        let is = |language| {
            assert_eq!(of(&database, &test_chat(1)).unwrap(), language);
            assert_eq!(of(&database, &topic).unwrap(), language);
        };
        is(Language::English);
        set_default(&database, Language::Russian).unwrap();
        is(Language::Russian);
        note_client(&database, &test_chat(1), "de-AT").unwrap();
        is(Language::German);
        choose(&database, &topic, Some(Language::Spanish)).unwrap();
        note_client(&database, &topic, "zh-hans").unwrap();
        is(Language::Spanish);
        choose(&database, &test_chat(1), None).unwrap();
        is(Language::Chinese);
        note_client(&database, &test_chat(1), "pt-br").unwrap();
        is(Language::Russian);
    }
}
