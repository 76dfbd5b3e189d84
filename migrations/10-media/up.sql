-- What a file is shown as, if not as a document.
alter table outbox add column media text
    check (media is null or (kind = 'document' and media in ('photo', 'video', 'audio')));
