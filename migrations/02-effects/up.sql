-- What calls of the tool server have added, so that a repeated request adds nothing twice.
create table effects (
    call_id text primary key,
    -- The answer, as JSON.
    answer text not null check (json_valid(answer)),
    created_at_ms integer not null
) strict, without rowid;
create index effects_created on effects (created_at_ms);
