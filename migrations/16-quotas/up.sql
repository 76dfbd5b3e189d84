-- Who wrote a message, as <channel>:<ID>; none if the channel does not tell.
alter table inbox add column user_id text;
create index inbox_user on inbox (user_id, seq) where user_id is not null;
