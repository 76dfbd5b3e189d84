-- What a chat wants to be done later. A schedule that has come to its end is deleted; its events stay.
create table schedules (
    -- The call that made it.
    id text primary key,
    channel text not null check (length(channel) between 1 and 32),
    chat_id text not null check (length(chat_id) between 1 and 64),
    -- What is run, as if somebody wrote it.
    text text not null check (length(text) > 0),
    -- A line of cron; null for one time only.
    every text,
    -- The IANA name of the time zone of `every`.
    timezone text not null,
    until_ms integer,
    -- How often it still runs; null without a limit.
    times_left integer check (times_left > 0),
    next_at_ms integer not null,
    -- Who asked, as for a message.
    origin text check (origin is null or json_type(origin) = 'object'),
    created_at_ms integer not null,
    -- When `next_at_ms` was decided: later than now, the clock was set back since.
    updated_at_ms integer not null
) strict, without rowid;

create index schedules_due on schedules (next_at_ms);
create index schedules_of_chat on schedules (channel, chat_id);

-- The time zone that the chat last named.
alter table chat_settings add column timezone text;
