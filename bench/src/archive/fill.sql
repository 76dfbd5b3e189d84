-- A database after a long life: `?1` tasks that have ended, of a hundred chats, with ten events each.
-- One in a hundred died, so that there is something to put back; its call was refused. Another one changed a
-- file. Times are a second apart.
-- The ids have the form of the real ones: the time first, and a tail that tells apart.

create temp table task as
with recursive number (n) as (select 1 union all select n + 1 from number where n < $tasks)
select
    n,
    printf('%08x-%04x-7000-8000-%012x', (1700000000000 + n * 1000) >> 16, (1700000000000 + n * 1000) & 65535, n * 16) as id,
    1700000000000 + n * 1000 as at_ms,
    case when n % 100 = 0 then 'dead' else 'done' end as state,
    cast(5001 + n % 100 as text) as chat_id
from number;

create temp table step (number integer primary key, parent integer, type text, payload text);
insert into step values
    (0, null, 'task.queued', '{"channel":"telegram","chat_id":"5001","text":"What is in the notes?"}'),
    (1, 0, 'task.claimed', '{"attempt":1}'),
    (2, null, 'agent.started', '{"attempt":1}'),
    (3, 2, 'context.assembled', '{"messages":1,"tools":11}'),
    (4, 2, 'turn.started', '{"turn":1}'),
    (5, 4, 'tool_call.started', '{"tool_name":"read","arguments":{"path":"notes.txt"},"risk":"low"}'),
    (6, 5, 'tool_call.completed', '{"tool_name":"read","latency_ms":1,"exit_code":0,"output_text":"1\tbuy milk"}'),
    (7, 4, 'turn.completed', '{"model_name":"a-model","latency_ms":900,"input_tokens":3000,"output_tokens":40}'),
    (8, 1, 'task.done', '{"attempt":1}'),
    (9, 1, 'reply.queued', '{"channel":"telegram","chat_id":"5001","part":1,"of":1,"text":"Buy milk."}');

insert into inbox (id, channel, chat_id, update_id, text, state, attempt, available_at_ms, error, created_at_ms,
                   updated_at_ms, finished_at_ms)
select id, 'telegram', chat_id, n, 'What is in the notes?', state, 1, at_ms,
       case state when 'dead' then 'the model did not answer' end, at_ms, at_ms + 900, at_ms + 900
from task order by n;

insert into events (id, parent_id, task_id, type, time_ms, payload)
select
    substr(task.id, 1, 35) || printf('%x', step.number),
    case when step.parent is null then 'run' else substr(task.id, 1, 35) || printf('%x', step.parent) end,
    task.id,
    case when step.number = 6 and task.n % 100 = 0 then 'tool_call.failed' else step.type end,
    task.at_ms + step.number,
    case
        when step.number = 6 and task.n % 100 = 0 then
            '{"tool_name":"read","latency_ms":1,"exit_code":2,"error":"It is denied.","error_class":"policy","error_code":"PATH_DENIED","output_text":""}'
        when step.number = 6 and task.n % 100 = 50 then
            '{"tool_name":"write","latency_ms":1,"exit_code":0,"operation":"update","path_resolved":"/notes-' || task.n || '.txt","output_text":""}'
        else step.payload
    end
from task cross join step order by task.n, step.number;

insert into events (id, type, time_ms, payload) values ('run', 'process.started', 1700000000000, '{"pid":1}');

insert into history (channel, chat_id, task_id, role, text, created_at_ms)
select 'telegram', chat_id, id, role, text, at_ms
from task cross join (select 'user' as role, 'What is in the notes?' as text union all select 'assistant', 'Buy milk.')
where state = 'done' order by n;

insert into outbox (task_id, part, channel, chat_id, text, state, available_at_ms, event_id, created_at_ms,
                    updated_at_ms, finished_at_ms)
select id, 1, 'telegram', chat_id, 'Buy milk.', 'sent', at_ms, substr(id, 1, 35) || '9', at_ms, at_ms, at_ms
from task where state = 'done' order by n;

drop table task;
drop table step;
