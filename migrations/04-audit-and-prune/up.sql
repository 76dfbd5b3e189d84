-- Questions about what was done, asked weeks later; and the one way in which old events may go.

-- What changed this file, and which calls were refused: both are few among many.
create index events_changed_path on events (payload ->> 'path_resolved', seq)
    where type = 'tool_call.completed' and payload ->> 'operation' is not null;
create index events_refused on events (seq)
    where type = 'tool_call.failed' and payload ->> 'error_class' = 'policy';
-- The tasks of one chat, and those that ended long ago.
create index inbox_chat on inbox (chat_id, seq);
create index inbox_finished on inbox (finished_at_ms) where finished_at_ms is not null;

-- Events go only while a permit lies in `kv`. It is put there and taken away in the transaction that
-- deletes, so nobody else ever sees it, and a forgotten one can not be committed by accident. Even with
-- it, what belongs to a task that has not ended stays.
drop trigger events_are_never_deleted;
create trigger events_are_deleted_by_permit_alone before delete on events
when not exists (select 1 from kv where key = 'prune.permit')
    or exists (select 1 from inbox where id = old.task_id and state in ('queued', 'in_progress'))
begin
    select raise(abort, 'events are append-only');
end;
