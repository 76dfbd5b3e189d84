-- Whether a reaction is shown with a big animation.
alter table outbox add column is_big integer not null default 0 check (is_big in (0, 1));
