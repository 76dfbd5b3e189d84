-- The buttons below a message: rows of `{"label", "data"}`, or null without any.
alter table outbox add column buttons text
    check (buttons is null or (kind = 'text' and json_valid(buttons) and json_type(buttons) = 'array'));

-- As in 01, and a message that its sender has changed came in as well.
drop view task_audit;
create view task_audit as
select
    task_id,
    case
        when type in ('task.queued', 'task.edited', 'task.claimed', 'task.skipped') then 'ingress'
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
