-- Rows that are hard to copy: no trigger makes them so, and not all numbers follow each other.

insert into kv values ('', ''), ('Ä key', 'a "value" with \ and '' and ?1 and $1 and substr(' || char(10, 9, 127, 128512)),
    ('json', '{"a":"\u0000\ud83d\ude00","b":1.0,"b":9007199254740993}');

insert into inbox (seq, id, channel, chat_id, update_id, text, state, attempt, available_at_ms, error,
    created_at_ms, updated_at_ms, finished_at_ms, origin, user_id)
values (3, 't1', 'test', '7', 'u1', '', 'done', 1, -9223372036854775808, null, 9223372036854775807, 0, 1,
        '{"name": "Ada \u0000 \\ Lovelace"}', ''),
    (99, 't2', 'test', '7', null, 'waits', 'queued', 0, 1, null, 1, 1, null, null, null),
    (98, 't3', 'test', '8', null, 'is parked', 'queued', 1, 1, 'parked', 1, 1, null, null, null);
-- The triggers made other rows of these.
update chat_turns set last_turn = 41, next_seq = 5 where chat_id = '7';
insert into chat_turns values ('test', 'gone', 0, null);

insert into events (seq, id, parent_id, task_id, type, time_ms, payload)
values (2, 'call', null, 't1', 'tool_call.started', -1, '{ "tool_name" : "ls" }'),
    (5, 'end', 'call', 't1', 'tool_call.completed', 9223372036854775807,
        '{"operation":"write","path_resolved":"/ä\u0000","output_text":""}'),
    (900, 'last', null, null, 'a.b', 1, '{}');
insert into kv values ('prune.permit', '');
delete from events where id = 'last';
delete from kv where key = 'prune.permit';
-- An end was recorded for it.
insert into open_calls (call_id, node) values ('call', null);

insert into history (seq, channel, chat_id, task_id, role, text, created_at_ms)
values (8, 'test', '7', 't1', 'user', 'how?', 1), (9, 'test', '7', 't1', 'assistant', '', 2);
insert into paired_chats values ('test', '7', '', 1, 'owner');
insert into pairing_codes values ('ABCDEFGH', 'test', '9', 'A group', 1, 1);
insert into chat_settings (channel, chat_id, begins_after_seq, model, timezone, language, client_language)
values ('test', '7', 3, null, 'Europe/Berlin', '', 'de');
insert into attachments (task_id, message_id, said, source, kind, path, size_bytes, state, available_at_ms,
    error, created_at_ms)
values ('t1', '', '', 'source', 'photo', 'a/b', null, 'failed', 1, '', 1);
insert into outgoing_files values ('file', 0);
-- A server orders rows of a table by when they came, unless it is asked.
insert into outgoing_parts values ('file', 1, x'ff00'), ('file', 0, x'00');
insert into outbox (seq, task_id, round, part, channel, chat_id, kind, text, file_name, file_id, state,
    available_at_ms, event_id, created_at_ms, updated_at_ms, media, album)
values (6, 't1', 0, 1, 'test', '7', 'document', '', 'a.txt', 'file', 'queued', 1, 'e', 1, 1, 'photo', 2);
insert into outbox (seq, task_id, round, part, channel, chat_id, text, state, attempt, available_at_ms,
    error, event_id, created_at_ms, updated_at_ms, finished_at_ms, entities, buttons)
values (4, null, 0, 1, 'test', '7', 'not sent', 'dead', 3, 1, '', 'e', 1, 1, 1, '[]', '[ ]');
insert into schedules (id, channel, chat_id, text, every, timezone, until_ms, times_left, next_at_ms, origin,
    created_at_ms, updated_at_ms)
values ('s', 'test', '7', 'water the plants', '0 9 * * *', 'UTC', null, 2, 1, '{}', 1, 1);
insert into file_requests values ('t2', 'test', '7', 'list', '');
insert into questions (rowid, approval_id, channel, chat_id, outbox_seq, is_open, asks, asker)
values (41, 'a', 'test', '7', null, 1, null, ''), (40, 'b', 'test', '7', 6, 0, 'what?', null);
insert into contact_messages values ('c', 'session', 'contact', 4, 6, 1, null, null);
insert into parked values ('t3', '{"turn":[]}');
insert into awaited values ('t3', 'a', null), ('t3', 'b', 'expired');
insert into decisions (approval_id, choice, decided_by, reason, created_at_ms, is_given_up, answer)
values ('a', 'g', 'owner', null, 1, 0, '');
insert into effects values ('c', '{"ok":true}', 1);
insert into strangers values ('test', '10', '', 1, 0);
insert into parts (seq, task_id, message_id, text, forwarded_from, is_cut)
values (12, 't1', null, '', '', 1), (11, 't1', 'm', 'two', null, 0);
insert into additions (seq, task_id, message_task_id, message_id, text, origin)
values (1, 't1', 't9', null, 'and', '{}');
insert into page_files values ('p', 'a name', 2);
insert into page_parts values ('p', 0, x'0a0d');
insert into nodes (name, started_at_ms, seen_at_ms, state) values ('left', 1, 2, 'active');
insert into chats (channel, chat_id, node, placed_at_ms) values ('telegram', '5', 'left', 1);
insert into leaders (epoch, node, since_ms, until_ms) values (7, 'left', 1, 2);
insert into received (seq, channel, chat_id, change) values (9, 'telegram', '5', '{"a": 1}');
