-- Chats are served in turn, and one task of a chat runs at a time.
--
-- Each chat that had a task has one row that says whose turn it is, so that a claim costs the same however
-- many tasks wait.
create table chat_turns (
    channel text not null,
    chat_id text not null,
    -- The number of its last turn; the lowest goes first. 0: it had none yet.
    last_turn integer not null default 0 check (last_turn >= 0),
    -- Its oldest queued task; null if none is queued, and while one of its tasks runs.
    next_seq integer,
    primary key (channel, chat_id)
) strict, without rowid;

create index chat_turns_next on chat_turns (last_turn, next_seq) where next_seq is not null;
create index chat_turns_last on chat_turns (last_turn);

drop index inbox_in_progress;
create unique index inbox_in_progress on inbox (channel, chat_id) where state = 'in_progress';

insert into chat_turns (channel, chat_id, next_seq)
select channel, chat_id, case when sum(state = 'in_progress') = 0 then min(seq) end
from inbox where state in ('queued', 'in_progress') group by channel, chat_id;

create trigger inbox_open_row_has_a_turn after insert on inbox
when new.state in ('queued', 'in_progress')
begin
    insert into chat_turns (channel, chat_id, next_seq)
    values (new.channel, new.chat_id, case
        when exists (select 1 from inbox where channel = new.channel and chat_id = new.chat_id
                     and state = 'in_progress') then null
        else (select min(seq) from inbox where channel = new.channel and chat_id = new.chat_id
              and state in ('queued', 'in_progress')) end)
    on conflict (channel, chat_id) do update set next_seq = excluded.next_seq;
end;

create trigger inbox_state_changes_the_turn after update of state on inbox
begin
    insert into chat_turns (channel, chat_id, next_seq)
    values (new.channel, new.chat_id, case
        when exists (select 1 from inbox where channel = new.channel and chat_id = new.chat_id
                     and state = 'in_progress') then null
        else (select min(seq) from inbox where channel = new.channel and chat_id = new.chat_id
              and state in ('queued', 'in_progress')) end)
    on conflict (channel, chat_id) do update set next_seq = excluded.next_seq;
end;

-- A chat that becomes another, as when a group is moved: its tasks wait in the line of the new one.
create trigger inbox_row_moves_to_another_chat after update of channel, chat_id on inbox
when old.channel <> new.channel or old.chat_id <> new.chat_id
begin
    insert into chat_turns (channel, chat_id, next_seq)
    values (new.channel, new.chat_id, case
        when exists (select 1 from inbox where channel = new.channel and chat_id = new.chat_id
                     and state = 'in_progress') then null
        else (select min(seq) from inbox where channel = new.channel and chat_id = new.chat_id
              and state in ('queued', 'in_progress')) end)
    on conflict (channel, chat_id) do update set next_seq = excluded.next_seq;
    insert into chat_turns (channel, chat_id, next_seq)
    values (old.channel, old.chat_id, case
        when exists (select 1 from inbox where channel = old.channel and chat_id = old.chat_id
                     and state = 'in_progress') then null
        else (select min(seq) from inbox where channel = old.channel and chat_id = old.chat_id
              and state in ('queued', 'in_progress')) end)
    on conflict (channel, chat_id) do update set next_seq = excluded.next_seq;
end;

create trigger inbox_deleted_last_row_ends_the_turns after delete on inbox
when not exists (select 1 from inbox where chat_id = old.chat_id and channel = old.channel)
begin
    delete from chat_turns where channel = old.channel and chat_id = old.chat_id;
end;
