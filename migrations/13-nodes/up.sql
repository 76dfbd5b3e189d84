-- Several machines on one database, which only a server can be: a file has one node and leaves these empty.

-- A machine with a supervisor, its workers and a tool server.
create table nodes (
    name text primary key check (length(name) between 1 and 64),
    started_at_ms integer not null,
    -- When it was last heard of.
    seen_at_ms integer not null,
    state text not null check (state in ('active', 'draining', 'gone')),
    -- Whether the others mount its workspaces.
    shares_workspaces integer not null default 0 check (shares_workspaces in (0, 1)),
    -- The node that sends what its chats read while it is gone.
    spoken_for_by text
) strict, without rowid;

-- On which node the workspace of a chat is.
create table chats (
    channel text not null,
    chat_id text not null,
    node text not null,
    placed_at_ms integer not null,
    -- When its people last read that its node is gone.
    told_at_ms integer,
    primary key (channel, chat_id)
) strict, without rowid;
create index chats_node on chats (node);

-- Who led when: the newest row is the leader's, and no two overlap.
create table leaders (
    epoch integer primary key,
    node text not null,
    since_ms integer not null,
    -- When it last showed that it still leads.
    until_ms integer not null
) strict;

-- What a channel delivered to the leader, until the node of its chat has read it.
create table received (
    seq integer primary key,
    channel text not null,
    chat_id text not null,
    -- As JSON.
    change text not null check (json_type(change) = 'object')
) strict;
create index received_chat on received (channel, seq);

-- The node that runs it.
alter table inbox add column node text;
-- The node that sends it, and until when no other does.
alter table outbox add column sender text;
alter table outbox add column sender_until_ms integer;
-- The nodes whose tool servers, and files of contacts, know of these.
alter table open_calls add column node text;
alter table questions add column node text;
alter table decisions add column node text;
alter table contact_messages add column node text;
