-- A question whose answer is the result of its call: what can be answered, as JSON, and the person who asked
-- for its task. Null for one that is decided by yes or no.
alter table questions add column asks text;
alter table questions add column asker text;
-- The answer to such a question.
alter table decisions add column answer text;
