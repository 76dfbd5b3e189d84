-- The queue, what was said, what leaves, and the truth about it all.
-- Times are milliseconds since the Unix epoch, ids are UUIDs of version 7 unless a column says otherwise.
-- A state that makes no sense can not be stored: that is what the checks and triggers are for.

-- One row for each message that arrived, run or not. `seq` is the order of arrival, which a clock that
-- was set back can not disturb.
create table inbox (
    seq integer primary key,
    id text not null unique check (length(id) between 1 and 128),
    channel text not null check (channel in ('telegram', 'local')),
    chat_id text not null check (length(chat_id) between 1 and 64),
    update_id integer,
    text text not null,
    state text not null
        check (state in ('queued', 'in_progress', 'done', 'dead', 'cancelled', 'skipped')),
    attempt integer not null default 0 check (attempt >= 0),
    lease_until_ms integer,
    available_at_ms integer not null,
    error text,
    created_at_ms integer not null,
    updated_at_ms integer not null,
    finished_at_ms integer,
    check ((state = 'in_progress') = (lease_until_ms is not null)),
    check ((state in ('queued', 'in_progress')) = (finished_at_ms is null)),
    check (state not in ('in_progress', 'done') or attempt > 0),
    check (state not in ('dead', 'skipped') or error is not null)
) strict;

-- Telegram delivers an update again until it is confirmed.
create unique index inbox_update on inbox (channel, update_id) where update_id is not null;
-- The oldest open task of a chat, and the oldest task that waits.
create index inbox_open on inbox (channel, chat_id, seq) where state in ('queued', 'in_progress');
create index inbox_queued on inbox (seq) where state = 'queued';
create index inbox_in_progress on inbox (seq) where state = 'in_progress';

-- A task that has ended stays as it ended.
create trigger inbox_ended_is_final before update of state on inbox
when old.state in ('done', 'dead', 'cancelled', 'skipped')
begin
    select raise(abort, 'a task that has ended does not change its state');
end;

-- What was said in a chat, as the model gets to see it: at most one message of each side for a task.
create table history (
    seq integer primary key,
    channel text not null,
    chat_id text not null,
    task_id text not null references inbox (id),
    role text not null check (role in ('user', 'assistant')),
    text text not null,
    created_at_ms integer not null,
    unique (task_id, role)
) strict;

create index history_chat on history (channel, chat_id, seq);

-- The truth. Rows are added and never changed.
create table events (
    seq integer primary key autoincrement,
    id text not null unique check (length(id) between 1 and 128),
    parent_id text,
    task_id text,
    type text not null check (type glob '[a-z]*.[a-z]*'),
    time_ms integer not null,
    payload text not null check (json_valid(payload) and json_type(payload) = 'object')
) strict;

create index events_task on events (task_id, seq) where task_id is not null;
create index events_parent on events (parent_id, type) where parent_id is not null;
create index events_type on events (type, seq);

create trigger events_are_never_changed before update on events
begin
    select raise(abort, 'events are append-only');
end;

create trigger events_are_never_deleted before delete on events
begin
    select raise(abort, 'events are append-only');
end;

-- What leaves. One row is one message; a long reply has several parts. `event_id` is its `reply.queued`.
create table outbox (
    seq integer primary key,
    task_id text not null references inbox (id),
    channel text not null check (channel in ('telegram', 'local')),
    chat_id text not null,
    part integer not null check (part >= 1),
    text text not null check (length(text) > 0),
    state text not null check (state in ('queued', 'sent', 'dead')),
    attempt integer not null default 0 check (attempt >= 0),
    available_at_ms integer not null,
    error text,
    event_id text not null,
    created_at_ms integer not null,
    finished_at_ms integer,
    unique (task_id, part),
    check ((state = 'queued') = (finished_at_ms is null)),
    check (state <> 'dead' or error is not null)
) strict;

create index outbox_open on outbox (channel, chat_id, seq) where state = 'queued';
create index outbox_queued on outbox (seq) where state = 'queued';

-- Positions that have to move together with what they count: Telegram's offset, the journal's end.
create table kv (
    key text primary key,
    value text not null
) strict, without rowid;

-- Each tool call with its end. A call that was given up and ended after all counts as ended.
create view tool_calls as
select
    started.id as id,
    started.task_id as task_id,
    started.payload ->> 'tool_name' as tool_name,
    started.payload -> 'arguments' as arguments_json,
    case ended.type
        when 'tool_call.completed' then 'done'
        when 'tool_call.failed' then 'failed'
        when 'tool_call.interrupted' then 'interrupted'
        else 'running'
    end as status,
    ended.payload ->> 'output_text' as output_text,
    ended.payload ->> 'error' as error,
    started.time_ms as started_at,
    ended.time_ms as finished_at
from events as started
left join events as ended on ended.seq = (
    select candidate.seq
    from events as candidate
    where candidate.parent_id = started.id
        and candidate.type in ('tool_call.completed', 'tool_call.failed', 'tool_call.interrupted')
    order by candidate.type = 'tool_call.interrupted', candidate.seq
    limit 1
)
where started.type = 'tool_call.started';

-- What happened to each task, in a line.
create view task_audit as
select
    task_id,
    case
        when type in ('task.queued', 'task.claimed', 'task.skipped') then 'ingress'
        when type like 'tool_call.%' then 'tool'
        when type like 'reply.%' then 'reply'
        when type = 'task.done' then 'done'
        when type in ('task.dead', 'task.cancelled') or type like 'retry.%' then 'failed'
        else 'model'
    end as phase,
    type || coalesce(
        ': ' || (payload ->> 'error'),
        ': ' || (payload ->> 'tool_name'),
        ': ' || (payload ->> 'model_name'),
        ': ' || (payload ->> 'reason'),
        ''
    ) as message,
    time_ms as created_at
from events
where task_id is not null;
