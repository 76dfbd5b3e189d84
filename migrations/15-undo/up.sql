-- A chat may ask to undo what a task changed; `path` is then the task. SQLite cannot change a check.
create table file_requests_with_undo (
    task_id text primary key references inbox (id) on delete cascade,
    channel text not null,
    chat_id text not null,
    kind text not null check (kind in ('list', 'send', 'undo')),
    path text not null
) strict, without rowid;
insert into file_requests_with_undo select task_id, channel, chat_id, kind, path from file_requests;
drop table file_requests;
alter table file_requests_with_undo rename to file_requests;
