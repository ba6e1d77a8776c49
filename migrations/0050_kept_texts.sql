-- Twilio's ids of the messages of a text that no carrier took for the sake of the sender: the text was made owed again
-- after each, and what is told of one of them again changes nothing. A version before sends such a text, too.
alter table messages add column refused_sids text[] not null default '{}';
alter table texts add column refused_sids text[] not null default '{}';
