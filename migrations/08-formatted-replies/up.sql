-- How the text of a message is formatted: an array of Telegram's `MessageEntity`, or null for plain text.
alter table outbox add column entities text
    check (entities is null or (kind = 'text' and json_valid(entities) and json_type(entities) = 'array'));
