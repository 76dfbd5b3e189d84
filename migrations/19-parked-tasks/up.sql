-- Tasks that wait for a person without a worker: they are queued, and hold the place of their chat.
create table parked (
    task_id text primary key references inbox (id) on delete cascade,
    -- What the next attempt goes on with: the model's reply, its calls, and what was used.
    turn text not null check (json_valid(turn) and json_type(turn) = 'object')
) strict, without rowid;

-- The approvals that they wait for.
create table awaited (
    task_id text not null references parked (task_id) on delete cascade,
    approval_id text not null check (length(approval_id) > 0),
    -- How the waiting ended; null while it lasts.
    ended text check (ended in ('decided', 'expired')),
    primary key (task_id, approval_id)
) strict, without rowid;

create index awaited_open on awaited (approval_id) where ended is null;

-- Decisions that were made here, until the approval's keeper has taken them.
create table decisions (
    approval_id text primary key check (length(approval_id) > 0),
    -- As a button says it.
    choice text not null check (length(choice) = 1),
    decided_by text not null,
    reason text,
    created_at_ms integer not null
) strict, without rowid;

create trigger inbox_ended_waits_for_nobody after update of state on inbox
when new.state in ('done', 'dead', 'cancelled', 'skipped')
begin
    delete from awaited where task_id = new.id;
    delete from parked where task_id = new.id;
end;

-- As in 05, and an attempt that ends because a person has to decide is no try that failed.
drop trigger inbox_goes_only_its_ways;
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
        old.state = 'in_progress' and new.state = 'queued' and new.attempt = old.attempt
        and new.attempt_base = old.attempt_base + 1 and new.requeues = old.requeues
        and exists (select 1 from awaited where task_id = old.id)
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

-- As in 14, with a phase for waiting: for a person, or for the limits of a day.
drop view task_audit;
create view task_audit as
select
    task_id,
    case
        when type in ('task.queued', 'task.edited', 'task.claimed', 'task.skipped') then 'ingress'
        when type like 'tool_call.%' then 'tool'
        when type like 'approval.%' or type = 'task.parked' then 'approval'
        when type like 'quota.%' then 'quota'
        when type like 'schedule.%' then 'schedule'
        when type like 'reply.%' then 'reply'
        when type = 'task.done' then 'done'
        when type in ('task.dead', 'task.cancelled') or type like 'retry.%' then 'failed'
        else 'model'
    end as phase,
    type || coalesce(
        ': ' || (payload ->> 'error'),
        ': ' || (payload ->> 'tool_name'),
        ': ' || (payload ->> 'model_name'),
        ': ' || (payload ->> 'limit'),
        ': ' || (payload ->> 'reason'),
        ''
    ) as message,
    time_ms as created_at
from events
where task_id is not null;
