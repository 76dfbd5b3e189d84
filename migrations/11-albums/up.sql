-- The first row of the album that a file is a part of; null in that row itself, and outside of albums.
alter table outbox add column album integer check (album is null or (kind = 'document' and album < seq));
create index outbox_album on outbox (album) where state = 'queued' and album is not null;
