-- Whether the owner is asked about the code and has not answered: only a few questions are open at a time.
alter table pairing_codes add column is_asked integer not null default 0 check (is_asked in (0, 1));

-- Chats that want to be allowed beyond those. Each gets a code once a question is answered or too old.
create table strangers (
    channel text not null,
    chat_id text not null,
    title text not null,
    wrote_at_ms integer not null,
    -- Whether the owner was told how many there are since it wrote.
    is_told integer not null default 0 check (is_told in (0, 1)),
    primary key (channel, chat_id)
) strict, without rowid;

-- What leaves behind all other messages of its chat.
alter table outbox add column is_notice integer not null default 0 check (is_notice in (0, 1));
drop index outbox_open;
create index outbox_open on outbox (channel, chat_id, is_notice, seq) where state = 'queued';
