-- Who was asked about a call that waits for a person: each chat once. A row is open until its chat was told
-- what became of the call.
create table questions (
    approval_id text not null check (length(approval_id) > 0),
    channel text not null,
    chat_id text not null,
    -- The row of the outbox with the buttons.
    outbox_seq integer,
    is_open integer not null default 1 check (is_open in (0, 1)),
    unique (approval_id, channel, chat_id)
) strict;

create index questions_open on questions (approval_id) where is_open;
