-- The language of the bot's own words in a chat: the one that it has chosen, and the one that the client of
-- the person in it names; null for none of ours. A part of a chat has the language of the whole chat.
alter table chat_settings add column language text;
alter table chat_settings add column client_language text;
