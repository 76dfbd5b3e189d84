-- Files that come with a message. The task waits in the queue until each of them is stored or has failed.
create table attachments (
    seq integer primary key,
    task_id text not null references inbox (id) on delete cascade,
    -- The message that it came with, and what that message says beside it.
    message_id integer,
    said text not null,
    -- What the channel downloads it by.
    source text not null check (length(source) between 1 and 1024),
    -- What it is, in a word: photo, document …
    kind text not null check (length(kind) between 1 and 32),
    -- Where it is stored: made by us, beneath a root of the tool server.
    path text not null unique,
    media_type text,
    -- What its sender calls it.
    file_name text,
    size_bytes integer,
    -- Messages with one name belong together.
    album text,
    state text not null check (state in ('waiting', 'stored', 'failed')),
    attempt integer not null default 0 check (attempt >= 0),
    available_at_ms integer not null,
    -- Why it failed, in words for the sender and the model.
    error text,
    -- What is said in it, or why nobody knows.
    transcript text,
    transcript_error text,
    created_at_ms integer not null,
    check ((state = 'failed') = (error is not null)),
    check (state = 'stored' or coalesce(transcript, transcript_error) is null),
    check (transcript is null or transcript_error is null)
) strict;

create index attachments_task on attachments (task_id, seq);
create index attachments_waiting on attachments (available_at_ms) where state = 'waiting';
create index attachments_album on attachments (album, task_id) where album is not null;
