-- Where a message went, such as `telegram:12`: a chat has met a contact at this address and no other, because
-- the file of contacts can be changed. What is not known any more counts as not met.
alter table contact_messages add column address text check (address is null or length(address) > 0);

update contact_messages
set address = (select channel || ':' || chat_id from outbox where seq = first_outbox_seq);

drop index contact_messages_met;
create index contact_messages_met on contact_messages (session_id, contact_id, address);
