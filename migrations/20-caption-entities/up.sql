-- How a caption is formatted: an array of Telegram's `MessageEntity`, or null for plain text.
alter table outbox add column caption_entities text
    check (caption_entities is null or (kind in ('document', 'voice') and json_valid(caption_entities)
                                        and json_type(caption_entities) = 'array'));
