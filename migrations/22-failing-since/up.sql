-- When the attempts at a task began to fail that have failed since without a break: how long it is tried again
-- follows from it. Null while none has failed.
alter table inbox add column failing_since_ms integer;
