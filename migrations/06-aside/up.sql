-- A task whose files do not come does not keep the later ones of its chat waiting.

-- Whether later tasks of its chat go first: from when its files are late until they are there.
alter table inbox add column steps_aside integer not null default 0 check (steps_aside in (0, 1));

drop trigger inbox_open_row_has_a_turn;
drop trigger inbox_state_changes_the_turn;
drop trigger inbox_row_moves_to_another_chat;

create trigger inbox_open_row_has_a_turn after insert on inbox
when new.state in ('queued', 'in_progress')
begin
    insert into chat_turns (channel, chat_id, next_seq)
    values (new.channel, new.chat_id, case
        when exists (select 1 from inbox where channel = new.channel and chat_id = new.chat_id
                     and state = 'in_progress') then null
        else (select min(seq) from inbox where channel = new.channel and chat_id = new.chat_id
              and state in ('queued', 'in_progress') and steps_aside = 0) end)
    on conflict (channel, chat_id) do update set next_seq = excluded.next_seq;
end;

create trigger inbox_state_changes_the_turn after update of state, steps_aside on inbox
begin
    insert into chat_turns (channel, chat_id, next_seq)
    values (new.channel, new.chat_id, case
        when exists (select 1 from inbox where channel = new.channel and chat_id = new.chat_id
                     and state = 'in_progress') then null
        else (select min(seq) from inbox where channel = new.channel and chat_id = new.chat_id
              and state in ('queued', 'in_progress') and steps_aside = 0) end)
    on conflict (channel, chat_id) do update set next_seq = excluded.next_seq;
end;

create trigger inbox_row_moves_to_another_chat after update of channel, chat_id on inbox
when old.channel <> new.channel or old.chat_id <> new.chat_id
begin
    insert into chat_turns (channel, chat_id, next_seq)
    values (new.channel, new.chat_id, case
        when exists (select 1 from inbox where channel = new.channel and chat_id = new.chat_id
                     and state = 'in_progress') then null
        else (select min(seq) from inbox where channel = new.channel and chat_id = new.chat_id
              and state in ('queued', 'in_progress') and steps_aside = 0) end)
    on conflict (channel, chat_id) do update set next_seq = excluded.next_seq;
    insert into chat_turns (channel, chat_id, next_seq)
    values (old.channel, old.chat_id, case
        when exists (select 1 from inbox where channel = old.channel and chat_id = old.chat_id
                     and state = 'in_progress') then null
        else (select min(seq) from inbox where channel = old.channel and chat_id = old.chat_id
              and state in ('queued', 'in_progress') and steps_aside = 0) end)
    on conflict (channel, chat_id) do update set next_seq = excluded.next_seq;
end;
