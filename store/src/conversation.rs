//! What a chat has chosen for itself: where its conversation begins, and which model works for it.

use channel::Chat;
use rusqlite::{Connection, OptionalExtension, params};

use super::StoreError;

/// Begins a new conversation after the newest message. What was said before stays in the events.
pub fn begin(connection: &Connection, chat: &Chat) -> Result<(), StoreError> {
    let sql = "insert into chat_settings (channel, chat_id, begins_after_seq)
               values (?1, ?2, (select coalesce(max(seq), 0) from inbox))
               on conflict (channel, chat_id) do update set begins_after_seq = excluded.begins_after_seq";
    connection.prepare_cached(sql)?.execute(params![chat.channel.as_str(), chat.id])?;
    Ok(())
}

/// The model that a chat has chosen, if any.
pub fn model(connection: &Connection, chat: &Chat) -> Result<Option<String>, StoreError> {
    let sql = "select model from chat_settings where channel = ?1 and chat_id = ?2";
    let model =
        connection.prepare_cached(sql)?.query_row(params![chat.channel.as_str(), chat.id], |row| row.get(0));
    Ok(model.optional()?.flatten())
}

/// Chooses the model for a chat; none for the first one.
pub fn choose_model(connection: &Connection, chat: &Chat, model: Option<&str>) -> Result<(), StoreError> {
    let sql = "insert into chat_settings (channel, chat_id, model) values (?1, ?2, ?3)
               on conflict (channel, chat_id) do update set model = excluded.model";
    connection.prepare_cached(sql)?.execute(params![chat.channel.as_str(), chat.id, model])?;
    Ok(())
}
