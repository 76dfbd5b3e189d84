-- All tables: the queue with its events and replies, chats, files, schedules, and what people decide.

-- The truth. Rows are added and never changed.
create table events (
    seq integer primary key autoincrement,
    id text not null unique check (length(id) between 1 and 128),
    parent_id text,
    task_id text,
    type text not null check (type glob '[a-z]*.[a-z]*'),
    time_ms integer not null,
    payload text not null check (json_valid(payload) and json_type(payload) = 'object')
) strict;
create index events_task on events (task_id, seq) where task_id is not null;
create index events_parent on events (parent_id, type) where parent_id is not null;
create index events_type on events (type, seq);
-- What changed this file, and which calls were refused: both are few among many.
create index events_changed_path on events (payload ->> 'path_resolved', seq)
    where type = 'tool_call.completed' and payload ->> 'operation' is not null;
create index events_refused on events (seq)
    where type = 'tool_call.failed' and payload ->> 'error_class' = 'policy';

-- Positions that have to move together with what they count: Telegram's offset, the journal's end.
create table kv (
    key text primary key,
    value text not null
) strict, without rowid;

-- One row for each message that arrived, run or not. `seq` is the order of arrival, which a clock that
-- was set back can not disturb.
create table inbox (
    seq integer primary key,
    id text not null unique check (length(id) between 1 and 128),
    channel text not null check (length(channel) between 1 and 32),
    chat_id text not null check (length(chat_id) between 1 and 64),
    -- The channel's ID of the update: one that comes again is ignored.
    update_id text,
    text text not null,
    state text not null
        check (state in ('queued', 'in_progress', 'done', 'dead', 'cancelled', 'skipped')),
    attempt integer not null default 0 check (attempt >= 0),
    lease_until_ms integer,
    available_at_ms integer not null,
    error text,
    created_at_ms integer not null,
    updated_at_ms integer not null,
    finished_at_ms integer,
    -- The channel's ID of the message itself: what a reaction refers to.
    message_id text,
    -- How often the task was put back into the queue after it had ended.
    requeues integer not null default 0 check (requeues >= 0),
    -- The attempt at which it was put back last. Attempts are numbered on, because the number is the fence
    -- against stale results; the bound on attempts is counted from here.
    attempt_base integer not null default 0 check (attempt_base between 0 and attempt),
    -- Who asked to cancel the running attempt. Kept until the task is put back into the queue.
    cancel_requested_by text
        check (cancel_requested_by is null or state in ('in_progress', 'done', 'dead', 'cancelled')),
    -- Who wrote it, and whether a schedule began it.
    origin text check (origin is null or json_type(origin) = 'object'),
    -- The person in the channel whose limits count.
    user_id text,
    -- When the first of the failures in a row was.
    failing_since_ms integer,
    check ((state = 'in_progress') = (lease_until_ms is not null)),
    check ((state in ('queued', 'in_progress')) = (finished_at_ms is null)),
    check (state not in ('in_progress', 'done') or attempt > 0),
    check (state not in ('dead', 'skipped') or error is not null)
) strict;
-- Telegram delivers an update again until it is confirmed.
create unique index inbox_update on inbox (channel, update_id) where update_id is not null;
-- The oldest open task of a chat, and the oldest task that waits.
create index inbox_open on inbox (channel, chat_id, seq) where state in ('queued', 'in_progress');
create index inbox_queued on inbox (seq) where state = 'queued';
-- What ended badly, for those who look for it and for those who put it back.
create index inbox_dead on inbox (seq) where state = 'dead';
create index inbox_cancelled on inbox (seq) where state = 'cancelled';
create index inbox_skipped on inbox (seq) where state = 'skipped';
-- The tables that people look at show the last eight characters of a task's id, and take them back.
create index inbox_id_end on inbox (substr(id, -8));
-- The tasks of one chat, and those that ended long ago.
create index inbox_chat on inbox (chat_id, seq);
create index inbox_finished on inbox (finished_at_ms) where finished_at_ms is not null;
create unique index inbox_in_progress on inbox (channel, chat_id) where state = 'in_progress';
-- The newest message of a chat that can be run again.
create index inbox_retry on inbox (chat_id, seq) where state in ('dead', 'skipped') and text <> '';
create index inbox_user on inbox (user_id, seq) where user_id is not null;

-- What was said in a chat, as the model gets to see it: at most one message of each side for a task.
create table history (
    seq integer primary key,
    channel text not null,
    chat_id text not null,
    task_id text not null references inbox (id),
    role text not null check (role in ('user', 'assistant')),
    text text not null,
    created_at_ms integer not null,
    unique (task_id, role)
) strict;
create index history_chat on history (channel, chat_id, seq);

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

-- The chats that were allowed while the supervisor ran; a private chat has the number of its person.
create table paired_chats (
    channel text not null check (length(channel) between 1 and 32),
    chat_id text not null check (length(chat_id) between 1 and 64),
    -- What people called it then.
    title text not null,
    paired_at_ms integer not null,
    -- Who allowed it.
    paired_by text not null,
    primary key (channel, chat_id)
) strict, without rowid;

-- The codes of chats that want to be allowed. One is deleted when it is used, or was given an hour ago.
create table pairing_codes (
    code text primary key check (length(code) = 8),
    channel text not null,
    chat_id text not null,
    title text not null,
    given_at_ms integer not null,
    unique (channel, chat_id)
) strict, without rowid;

-- What a chat has chosen for itself.
create table chat_settings (
    channel text not null,
    chat_id text not null,
    -- The conversation began after this message: what was said before is no part of it.
    begins_after_seq integer not null default 0 check (begins_after_seq >= 0),
    -- The model that works for it; null for the first one.
    model text check (length(model) > 0),
    -- The IANA name of its time zone; null for UTC.
    timezone text,
    primary key (channel, chat_id)
) strict, without rowid;

-- Files that come with a message. The task waits in the queue until each of them is stored or has failed.
create table attachments (
    seq integer primary key,
    task_id text not null references inbox (id) on delete cascade,
    -- The message that it came with, and what that message says beside it.
    message_id text,
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

-- What leaves: the parts of replies, edits, files and reactions, in the order of each chat.
create table outbox (
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
    target_message_id text,
    file_name text,
    -- A file's bytes; gone once it was sent.
    file_id text references outgoing_files (file_id),
    state text not null check (state in ('queued', 'sent', 'dead')),
    attempt integer not null default 0 check (attempt >= 0),
    available_at_ms integer not null,
    error text,
    event_id text not null,
    -- The channel's ID of it, by which it can be edited.
    message_id text,
    created_at_ms integer not null,
    updated_at_ms integer not null,
    finished_at_ms integer,
    -- How the text of a message is formatted: an array of Telegram's `MessageEntity`, or null for plain text.
    entities text
        check (entities is null
               or (kind = 'text' and json_valid(entities) and json_type(entities) = 'array')),
    -- Whether a reaction is shown with a big animation.
    is_big integer not null default 0 check (is_big in (0, 1)),
    -- The rows of buttons below a message.
    buttons text
        check (buttons is null or (kind = 'text' and json_valid(buttons) and json_type(buttons) = 'array')),
    -- How the caption of a file is formatted.
    caption_entities text
        check (caption_entities is null or (kind in ('document', 'voice') and json_valid(caption_entities)
                                        and json_type(caption_entities) = 'array')),
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
create index outbox_open on outbox (channel, chat_id, seq) where state = 'queued';
create index outbox_queued on outbox (seq) where state = 'queued';
create index outbox_dead on outbox (seq) where state = 'dead';
create index outbox_file on outbox (file_id) where file_id is not null;

-- What a chat wants to be done later. A schedule that has come to its end is deleted; its events stay.
create table schedules (
    -- The call that made it.
    id text primary key,
    channel text not null check (length(channel) between 1 and 32),
    chat_id text not null check (length(chat_id) between 1 and 64),
    -- What is run, as if somebody wrote it.
    text text not null check (length(text) > 0),
    -- A line of cron; null for one time only.
    every text,
    -- The IANA name of the time zone of `every`.
    timezone text not null,
    until_ms integer,
    -- How often it still runs; null without a limit.
    times_left integer check (times_left > 0),
    next_at_ms integer not null,
    -- Who asked, as for a message.
    origin text check (origin is null or json_type(origin) = 'object'),
    created_at_ms integer not null,
    -- When `next_at_ms` was decided: later than now, the clock was set back since.
    updated_at_ms integer not null
) strict, without rowid;
create index schedules_due on schedules (next_at_ms);
create index schedules_of_chat on schedules (channel, chat_id);

-- Commands that need the tool server, until they are answered.
create table file_requests (
    task_id text primary key references inbox (id) on delete cascade,
    channel text not null,
    chat_id text not null,
    kind text not null check (kind in ('list', 'send', 'undo')),
    path text not null
) strict, without rowid;

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

-- Messages to contacts, one for each call that sent one. A row is open until the message's outcome stands in
-- the file of contacts; it stays afterwards, because it says which contacts a chat has written to.
create table contact_messages (
    call_id text primary key,
    -- The session that wrote, and the contact that it wrote to.
    session_id text not null check (length(session_id) > 0),
    contact_id text not null check (length(contact_id) > 0),
    -- The rows of the outbox that the message was divided into.
    first_outbox_seq integer not null,
    last_outbox_seq integer not null,
    is_open integer not null default 1 check (is_open in (0, 1)),
    -- The chat that the contact was reached at.
    address text check (address is null or length(address) > 0),
    check (first_outbox_seq <= last_outbox_seq)
) strict, without rowid;
create index contact_messages_open on contact_messages (first_outbox_seq) where is_open;
create index contact_messages_met on contact_messages (session_id, contact_id, address);

-- Tasks that wait for a person without a worker: they are queued, and hold the place of their chat.
create table parked (
    task_id text primary key references inbox (id) on delete cascade,
    -- What the next attempt goes on with: the model's reply, its calls, and what was used.
    turn text not null check (json_valid(turn) and json_type(turn) = 'object')
) strict, without rowid;

-- The approvals that they wait for.
create table awaited (
    task_id text not null references parked (task_id) on delete cascade,
    approval_id text not null check (length(approval_id) > 0),
    -- How the waiting ended; null while it lasts.
    ended text check (ended in ('decided', 'expired')),
    primary key (task_id, approval_id)
) strict, without rowid;
create index awaited_open on awaited (approval_id) where ended is null;

-- Decisions that were made here, until the approval's keeper has taken them.
create table decisions (
    approval_id text primary key check (length(approval_id) > 0),
    -- As a button says it.
    choice text not null check (length(choice) = 1),
    decided_by text not null,
    reason text,
    created_at_ms integer not null
) strict, without rowid;

-- The tool calls that have no end yet: a start settles them, however many have ended before.
create table open_calls (
    call_id text primary key
) strict, without rowid;

create trigger events_are_never_changed before update on events
begin
    select raise(abort, 'events are append-only');
end;

-- Events are deleted only while a permit lies in `kv`. It is put there and removed in the transaction that
-- deletes, so that no other program sees it, and a forgotten one is never committed. Even with it, what
-- belongs to a task that has not ended stays.
create trigger events_are_deleted_by_permit_alone before delete on events
when not exists (select 1 from kv where key = 'prune.permit')
    or exists (select 1 from inbox where id = old.task_id and state in ('queued', 'in_progress'))
begin
    select raise(abort, 'events are append-only');
end;

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

-- A message that was given up can be sent once more, with its attempts counted from the start.
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

create trigger inbox_ended_waits_for_nobody after update of state on inbox
when new.state in ('done', 'dead', 'cancelled', 'skipped')
begin
    delete from awaited where task_id = new.id;
    delete from parked where task_id = new.id;
end;

-- A task changes its state only in these ways.
create trigger inbox_goes_only_its_ways
before update of state, attempt, requeues, attempt_base on inbox
when not (
    (
        new.requeues = old.requeues and new.attempt_base = old.attempt_base and (
            (new.state = old.state and new.attempt = old.attempt
                and old.state in ('queued', 'in_progress'))
            or (old.state = 'queued' and new.state = 'in_progress' and new.attempt = old.attempt + 1)
            or (old.state = 'queued' and new.state in ('cancelled', 'skipped')
                and new.attempt = old.attempt)
            or (old.state = 'in_progress' and new.state in ('queued', 'done', 'dead', 'cancelled')
                and new.attempt = old.attempt)
        )
    )
    or (
        old.state = 'in_progress' and new.state = 'queued' and new.attempt = old.attempt
        and new.attempt_base = old.attempt_base + 1 and new.requeues = old.requeues
        and exists (select 1 from awaited where task_id = old.id)
    )
    or (
        old.state in ('done', 'dead', 'cancelled', 'skipped') and new.state = 'queued'
        and new.attempt = old.attempt and new.attempt_base = old.attempt
        and new.requeues = old.requeues + 1 and new.cancel_requested_by is null
    )
)
begin
    select raise(abort, 'a task cannot change its state in this way');
end;

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

-- Each tool call with its end. A call that was given up and ended after all counts as ended.
create view tool_calls as
select
    started.id as id,
    started.task_id as task_id,
    started.payload ->> 'tool_name' as tool_name,
    started.payload -> 'arguments' as arguments_json,
    case ended.type
        when 'tool_call.completed' then 'done'
        when 'tool_call.failed' then 'failed'
        when 'tool_call.interrupted' then 'interrupted'
        else 'running'
    end as status,
    ended.payload ->> 'output_text' as output_text,
    ended.payload ->> 'error' as error,
    started.time_ms as started_at,
    ended.time_ms as finished_at
from events as started
left join events as ended on ended.seq = (
    select candidate.seq
    from events as candidate
    where candidate.parent_id = started.id
        and candidate.type in ('tool_call.completed', 'tool_call.failed', 'tool_call.interrupted')
    order by candidate.type = 'tool_call.interrupted', candidate.seq
    limit 1
)
where started.type = 'tool_call.started';

-- What happened to each task, in a line.
create view task_audit as
select
    task_id,
    case
        when type in ('task.queued', 'task.edited', 'task.claimed', 'task.skipped') then 'ingress'
        when type like 'tool_call.%' then 'tool'
        when type like 'approval.%' or type = 'task.parked' then 'approval'
        when type like 'quota.%' then 'quota'
        when type like 'schedule.%' then 'schedule'
        when type like 'reply.%' then 'reply'
        when type = 'task.done' then 'done'
        when type in ('task.dead', 'task.cancelled') or type like 'retry.%' then 'failed'
        else 'model'
    end as phase,
    type || coalesce(
        ': ' || (payload ->> 'error'),
        ': ' || (payload ->> 'tool_name'),
        ': ' || (payload ->> 'model_name'),
        ': ' || (payload ->> 'limit'),
        ': ' || (payload ->> 'reason'),
        ''
    ) as message,
    time_ms as created_at
from events
where task_id is not null;
