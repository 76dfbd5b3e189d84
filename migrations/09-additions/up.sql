-- What people add to a task while it runs.

-- Whether a message is a task of its own even if one of its chat runs.
alter table inbox add column stands_alone integer not null default 0 check (stands_alone in (0, 1));

-- Messages that are a part of the task that ran when they came, in the order in which its model read them.
-- The row of such a message is skipped, and may be deleted before the task.
create table additions (
    seq integer primary key,
    task_id text not null references inbox (id) on delete cascade,
    -- The task that the message would have been.
    message_task_id text not null unique,
    message_id text,
    text text not null,
    origin text check (origin is null or json_type(origin) = 'object')
) strict;
create index additions_task on additions (task_id, seq);
