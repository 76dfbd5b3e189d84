-- Who wrote a message, who may write, and what a chat has chosen.

-- Who wrote a message, and where, as its channel tells it; null if it does not.
alter table inbox add column origin text check (origin is null or json_type(origin) = 'object');

-- The chats that were allowed while the supervisor ran; a private chat has the number of its person.
create table paired_chats (
    channel text not null check (length(channel) between 1 and 32),
    chat_id text not null check (length(chat_id) between 1 and 64),
    -- What people called it then.
    title text not null,
    paired_at_ms integer not null,
    -- Who allowed it.
    paired_by text not null,
    primary key (channel, chat_id)
) strict, without rowid;

-- The codes of chats that want to be allowed. One is deleted when it is used, or was given an hour ago.
create table pairing_codes (
    code text primary key check (length(code) = 8),
    channel text not null,
    chat_id text not null,
    title text not null,
    given_at_ms integer not null,
    unique (channel, chat_id)
) strict, without rowid;

-- What a chat has chosen for itself.
create table chat_settings (
    channel text not null,
    chat_id text not null,
    -- The conversation began after this message: what was said before is no part of it.
    begins_after_seq integer not null default 0 check (begins_after_seq >= 0),
    -- The model that works for it; null for the first one.
    model text check (length(model) > 0),
    primary key (channel, chat_id)
) strict, without rowid;

-- The newest message of a chat that can be run again.
create index inbox_retry on inbox (chat_id, seq) where state in ('dead', 'skipped') and text <> '';

-- When a stranger was last told is with the codes now.
delete from kv where key glob 'telegram.refused.*';

-- Commands that need the tool server, until they are answered.
create table file_requests (
    task_id text primary key references inbox (id) on delete cascade,
    channel text not null,
    chat_id text not null,
    kind text not null check (kind in ('list', 'send')),
    path text not null
) strict, without rowid;
