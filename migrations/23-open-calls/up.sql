-- The tool calls that have no end yet: a start settles them, however many have ended before.
create table open_calls (
    call_id text primary key
) strict, without rowid;

-- Those before the number that was kept until now have an end.
insert into open_calls (call_id)
select id from events as started
where started.type = 'tool_call.started'
    and started.seq > coalesce((select cast(value as integer) from kv where key = 'tool_calls.settled'), 0)
    and not exists (
        select 1 from events as ended
        where ended.parent_id = started.id
            and ended.type in ('tool_call.completed', 'tool_call.failed', 'tool_call.interrupted'));

delete from kv where key = 'tool_calls.settled';

create trigger events_call_opens after insert on events
when new.type = 'tool_call.started'
begin
    insert into open_calls (call_id) values (new.id) on conflict do nothing;
end;

create trigger events_call_ends after insert on events
when new.type in ('tool_call.completed', 'tool_call.failed', 'tool_call.interrupted')
begin
    delete from open_calls where call_id = new.parent_id;
end;

create trigger events_call_is_pruned after delete on events
when old.type = 'tool_call.started'
begin
    delete from open_calls where call_id = old.id;
end;
