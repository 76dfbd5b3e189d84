-- A channel is one folder of the program: the tables do not list the channels. Which messages a channel takes
-- is decided where a row is made.
--
-- A check cannot be dropped, so the tables are made again. `history` and `outbox` refer to `inbox`, so all
-- three go together, those that refer to it first.

-- It names `inbox`, which is away for a moment.
drop trigger events_are_deleted_by_permit_alone;

create table new_inbox (
    seq integer primary key,
    id text not null unique check (length(id) between 1 and 128),
    channel text not null check (length(channel) between 1 and 32),
    chat_id text not null check (length(chat_id) between 1 and 64),
    -- The number that the channel gave to the update: one that comes again is ignored.
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
    -- The number that the channel gave to the message itself: what a reaction refers to.
    message_id integer,
    -- How often the task was put back into the queue after it had ended.
    requeues integer not null default 0 check (requeues >= 0),
    -- The attempt at which it was put back last. Attempts are numbered on, because the number is the fence
    -- against stale results; the bound on attempts is counted from here.
    attempt_base integer not null default 0 check (attempt_base between 0 and attempt),
    -- Who asked to cancel the running attempt. Kept until the task is put back into the queue.
    cancel_requested_by text
        check (cancel_requested_by is null or state in ('in_progress', 'done', 'dead', 'cancelled')),
    check ((state = 'in_progress') = (lease_until_ms is not null)),
    check ((state in ('queued', 'in_progress')) = (finished_at_ms is null)),
    check (state not in ('in_progress', 'done') or attempt > 0),
    check (state not in ('dead', 'skipped') or error is not null)
) strict;

create table new_history (
    seq integer primary key,
    channel text not null,
    chat_id text not null,
    task_id text not null references new_inbox (id),
    role text not null check (role in ('user', 'assistant')),
    text text not null,
    created_at_ms integer not null,
    unique (task_id, role)
) strict;

create table new_outbox (
    seq integer primary key,
    task_id text references new_inbox (id),
    round integer not null default 0 check (round >= 0),
    part integer not null check (part >= 1),
    channel text not null check (length(channel) between 1 and 32),
    chat_id text not null,
    kind text not null default 'text' check (kind in ('text', 'edit', 'document', 'voice', 'reaction')),
    -- The text of a message or edit, the caption of a file, the emoji of a reaction.
    text text not null,
    -- The message in the chat that is edited or reacted to.
    target_message_id integer,
    file_name text,
    -- A file's bytes; gone once it was sent.
    content blob,
    state text not null check (state in ('queued', 'sent', 'dead')),
    attempt integer not null default 0 check (attempt >= 0),
    available_at_ms integer not null,
    error text,
    event_id text not null,
    -- The number that the channel gave to it, by which it can be edited.
    message_id integer,
    created_at_ms integer not null,
    updated_at_ms integer not null,
    finished_at_ms integer,
    unique (task_id, round, part),
    check ((state = 'queued') = (finished_at_ms is null)),
    check (state <> 'dead' or error is not null),
    check (state = 'sent' or message_id is null),
    check (kind in ('document', 'voice') or length(text) > 0),
    check ((kind in ('edit', 'reaction')) = (target_message_id is not null)),
    check ((kind in ('document', 'voice')) = (file_name is not null)),
    check (kind in ('document', 'voice') or content is null),
    check (kind not in ('document', 'voice') or state = 'sent' or length(content) > 0)
) strict;

insert into new_inbox (seq, id, channel, chat_id, update_id, text, state, attempt, lease_until_ms,
                       available_at_ms, error, created_at_ms, updated_at_ms, finished_at_ms, message_id,
                       requeues, attempt_base, cancel_requested_by)
select seq, id, channel, chat_id, update_id, text, state, attempt, lease_until_ms,
       available_at_ms, error, created_at_ms, updated_at_ms, finished_at_ms, message_id,
       requeues, attempt_base, cancel_requested_by
from inbox;
insert into new_history (seq, channel, chat_id, task_id, role, text, created_at_ms)
select seq, channel, chat_id, task_id, role, text, created_at_ms
from history;
insert into new_outbox (seq, task_id, round, part, channel, chat_id, kind, text, target_message_id, file_name,
                        content, state, attempt, available_at_ms, error, event_id, message_id, created_at_ms,
                        updated_at_ms, finished_at_ms)
select seq, task_id, round, part, channel, chat_id, kind, text, target_message_id, file_name,
       content, state, attempt, available_at_ms, error, event_id, message_id, created_at_ms,
       updated_at_ms, finished_at_ms
from outbox;

drop table outbox;
drop table history;
drop table inbox;
alter table new_inbox rename to inbox;
alter table new_history rename to history;
alter table new_outbox rename to outbox;

create unique index inbox_update on inbox (channel, update_id) where update_id is not null;
create index inbox_open on inbox (channel, chat_id, seq) where state in ('queued', 'in_progress');
create index inbox_queued on inbox (seq) where state = 'queued';
create index inbox_in_progress on inbox (seq) where state = 'in_progress';
create index inbox_dead on inbox (seq) where state = 'dead';
create index inbox_cancelled on inbox (seq) where state = 'cancelled';
create index inbox_skipped on inbox (seq) where state = 'skipped';
create index inbox_id_end on inbox (substr(id, -8));
create index inbox_chat on inbox (chat_id, seq);
create index inbox_finished on inbox (finished_at_ms) where finished_at_ms is not null;
create index history_chat on history (channel, chat_id, seq);
create index outbox_open on outbox (channel, chat_id, seq) where state = 'queued';
create index outbox_queued on outbox (seq) where state = 'queued';
create index outbox_dead on outbox (seq) where state = 'dead';

-- As in 02: a task changes its state only in these ways.
create trigger inbox_goes_only_its_ways
before update of state, attempt, requeues, attempt_base on inbox
when not (
    (
        new.requeues = old.requeues and new.attempt_base = old.attempt_base and (
            (new.state = old.state and new.attempt = old.attempt
                and old.state in ('queued', 'in_progress'))
            or (old.state = 'queued' and new.state = 'in_progress' and new.attempt = old.attempt + 1)
            or (old.state = 'queued' and new.state in ('cancelled', 'skipped')
                and new.attempt = old.attempt)
            or (old.state = 'in_progress' and new.state in ('queued', 'done', 'dead', 'cancelled')
                and new.attempt = old.attempt)
        )
    )
    or (
        old.state in ('done', 'dead', 'cancelled', 'skipped') and new.state = 'queued'
        and new.attempt = old.attempt and new.attempt_base = old.attempt
        and new.requeues = old.requeues + 1 and new.cancel_requested_by is null
    )
)
begin
    select raise(abort, 'a task cannot change its state in this way');
end;

-- As in 02: what was sent, or given up, stays as it is.
create trigger outbox_ended_is_final before update of state on outbox
when old.state <> 'queued'
begin
    select raise(abort, 'a message that was sent or given up does not change its state');
end;

-- As in 04: events are deleted only with a permit, and never those of a task that has not ended.
create trigger events_are_deleted_by_permit_alone before delete on events
when not exists (select 1 from kv where key = 'prune.permit')
    or exists (select 1 from inbox where id = old.task_id and state in ('queued', 'in_progress'))
begin
    select raise(abort, 'events are append-only');
end;
