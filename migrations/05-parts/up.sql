-- Messages of one sender that come shortly after one another are one task.

-- Until then further messages belong to the task, and it is not run; null where none do.
alter table inbox add column gather_until_ms integer;
-- The latest time, in seconds since the epoch, at which such a message was sent.
alter table inbox add column gather_sent_until integer;
create index inbox_gathering on inbox (channel, chat_id, gather_until_ms) where gather_until_ms is not null;

-- The messages of a task that has several, in order.
create table parts (
    seq integer primary key,
    task_id text not null references inbox (id) on delete cascade,
    message_id text,
    text text not null,
    -- Whose words they are, if the sender only passed them on.
    forwarded_from text,
    -- Whether it is a piece of a text that was too long for one message.
    is_cut integer not null default 0 check (is_cut in (0, 1))
) strict;
create index parts_task on parts (task_id, seq);
