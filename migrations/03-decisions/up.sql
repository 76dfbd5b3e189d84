-- Whether the process that took a decision does not pass it on any more: then any process does.
alter table decisions add column is_given_up integer not null default 0 check (is_given_up in (0, 1));
update decisions set is_given_up = 1 where created_at_ms = 0;
