-- Cancelling, putting back into the queue, and all kinds of things that leave.

-- The number that Telegram gave to the message itself: what a reaction refers to.
alter table inbox add column message_id integer;
-- How often the task was put back into the queue after it had ended.
alter table inbox add column requeues integer not null default 0 check (requeues >= 0);
-- The attempt at which it was put back last. Attempts are numbered on, because the number is the fence
-- against stale results; the bound on attempts is counted from here.
alter table inbox add column attempt_base integer not null default 0
    check (attempt_base between 0 and attempt);
-- Who asked to cancel the running attempt. Kept until the task is put back into the queue.
alter table inbox add column cancel_requested_by text
    check (cancel_requested_by is null or state in ('in_progress', 'done', 'dead', 'cancelled'));

-- What ended badly, for those who look for it and for those who put it back.
create index inbox_dead on inbox (seq) where state = 'dead';
create index inbox_cancelled on inbox (seq) where state = 'cancelled';
create index inbox_skipped on inbox (seq) where state = 'skipped';

-- The ways that a task can go; any other is refused, whoever tries it. A task that has ended leaves its
-- state only by being put back, which is counted, and no attempt's number is ever given twice.
drop trigger inbox_ended_is_final;
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
    select raise(abort, 'a task can not change its state in this way');
end;

-- What leaves. One row is one message, edit, file or reaction; a long reply has several rows. A task that
-- was put back answers once more: `round` is the task's `requeues` at that time. Without a task: somebody
-- asked for it at the control port. `event_id` is its `reply.queued`.
create table outbox_of_all_kinds (
    seq integer primary key,
    task_id text references inbox (id),
    round integer not null default 0 check (round >= 0),
    part integer not null check (part >= 1),
    channel text not null check (channel in ('telegram', 'local')),
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
    check (kind not in ('document', 'voice') or state = 'sent' or length(content) > 0),
    check (channel = 'telegram' or (kind = 'text' and task_id is not null))
) strict;

insert into outbox_of_all_kinds (seq, task_id, channel, chat_id, part, text, state, attempt,
                                 available_at_ms, error, event_id, created_at_ms, updated_at_ms, finished_at_ms)
select seq, task_id, channel, chat_id, part, text, state, attempt,
       available_at_ms, error, event_id, created_at_ms, coalesce(finished_at_ms, created_at_ms), finished_at_ms
from outbox;
drop table outbox;
alter table outbox_of_all_kinds rename to outbox;

create index outbox_open on outbox (channel, chat_id, seq) where state = 'queued';
create index outbox_queued on outbox (seq) where state = 'queued';
create index outbox_dead on outbox (seq) where state = 'dead';

-- What has left, or was given up, stays as it is.
create trigger outbox_ended_is_final before update of state on outbox
when old.state <> 'queued'
begin
    select raise(abort, 'what has left the outbox does not change its state');
end;
