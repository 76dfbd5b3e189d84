-- Files of the page's chats: those that people send until the tool server has them, and those that people
-- get. A file goes with the message that brought it.
create table page_files (
    file_id text primary key check (length(file_id) > 0),
    name text not null check (length(name) > 0),
    size_bytes integer not null default 0 check (size_bytes >= 0)
) strict, without rowid;

create table page_parts (
    file_id text not null references page_files (file_id) on delete cascade,
    number integer not null check (number >= 0),
    bytes blob not null check (length(bytes) > 0),
    unique (file_id, number)
) strict;

create trigger page_file_goes_with_its_message after delete on attachments
begin
    delete from page_files where file_id = old.source;
end;

create trigger page_file_goes_with_its_reply after delete on outbox when old.message_id is not null
begin
    delete from page_files where file_id = old.message_id;
end;

-- The newest messages to a chat.
create index outbox_chat on outbox (channel, chat_id, seq);

-- The newest files that calls changed.
create index events_changed on events (seq)
    where type = 'tool_call.completed' and payload ->> 'operation' is not null;
