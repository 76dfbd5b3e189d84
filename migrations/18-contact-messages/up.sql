-- Messages to contacts, one for each call that sent one. A row is open until what became of the message stands
-- in the file of contacts; it stays afterwards, because it says whom a chat has written to.
create table contact_messages (
    call_id text primary key,
    -- The session that wrote, and the contact that it wrote to.
    session_id text not null check (length(session_id) > 0),
    contact_id text not null check (length(contact_id) > 0),
    -- The rows of the outbox that the message was divided into.
    first_outbox_seq integer not null,
    last_outbox_seq integer not null,
    is_open integer not null default 1 check (is_open in (0, 1)),
    check (first_outbox_seq <= last_outbox_seq)
) strict, without rowid;

create index contact_messages_open on contact_messages (first_outbox_seq) where is_open;
create index contact_messages_met on contact_messages (session_id, contact_id);
