-- Files that leave, in parts: none is ever in memory as a whole. The row in the outbox that sends a file is
-- made when all of its parts are here.
create table outgoing_files (
    file_id text primary key check (length(file_id) > 0),
    size_bytes integer not null check (size_bytes >= 0)
) strict, without rowid;

create table outgoing_parts (
    file_id text not null references outgoing_files (file_id) on delete cascade,
    number integer not null check (number >= 0),
    bytes blob not null check (length(bytes) > 0),
    unique (file_id, number)
) strict;

insert into outgoing_files (file_id, size_bytes)
select 'outbox-' || seq, length(content) from outbox where content is not null;
insert into outgoing_parts (file_id, number, bytes)
select 'outbox-' || seq, 0, content from outbox where content is not null;

-- A check cannot be dropped, so the table is made again. Nothing refers to it.
create table new_outbox (
    seq integer primary key,
    task_id text references inbox (id),
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
    file_id text references outgoing_files (file_id),
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
    -- How the text of a message is formatted: an array of Telegram's `MessageEntity`, or null for plain text.
    entities text
        check (entities is null or (kind = 'text' and json_valid(entities) and json_type(entities) = 'array')),
    -- Whether a reaction is shown with a big animation.
    is_big integer not null default 0 check (is_big in (0, 1)),
    unique (task_id, round, part),
    check ((state = 'queued') = (finished_at_ms is null)),
    check (state <> 'dead' or error is not null),
    check (state = 'sent' or message_id is null),
    check (kind in ('document', 'voice') or length(text) > 0),
    check ((kind in ('edit', 'reaction')) = (target_message_id is not null)),
    check ((kind in ('document', 'voice')) = (file_name is not null)),
    check (kind in ('document', 'voice') or file_id is null),
    check (kind not in ('document', 'voice') or (state = 'sent') = (file_id is null))
) strict;

insert into new_outbox (seq, task_id, round, part, channel, chat_id, kind, text, target_message_id, file_name,
                        file_id, state, attempt, available_at_ms, error, event_id, message_id, created_at_ms,
                        updated_at_ms, finished_at_ms, entities, is_big)
select seq, task_id, round, part, channel, chat_id, kind, text, target_message_id, file_name,
       iif(content is null, null, 'outbox-' || seq), state, attempt, available_at_ms, error, event_id,
       message_id, created_at_ms, updated_at_ms, finished_at_ms, entities, is_big
from outbox;

drop table outbox;
alter table new_outbox rename to outbox;

create index outbox_open on outbox (channel, chat_id, seq) where state = 'queued';
create index outbox_queued on outbox (seq) where state = 'queued';
create index outbox_dead on outbox (seq) where state = 'dead';
create index outbox_file on outbox (file_id) where file_id is not null;

-- As in 07.
create trigger outbox_goes_only_its_ways before update of state on outbox
when not (
    old.state = 'queued'
    or (old.state = 'dead' and new.state = 'queued' and new.attempt = 0)
)
begin
    select raise(abort, 'a message that was sent or given up does not change its state');
end;

-- A file goes with the row that sends it.
create trigger outgoing_file_was_sent after update of file_id on outbox
when new.file_id is null and old.file_id is not null
begin
    delete from outgoing_files where file_id = old.file_id;
end;
create trigger outgoing_file_is_not_sent after delete on outbox when old.file_id is not null
begin
    delete from outgoing_files where file_id = old.file_id;
end;
