-- Readers of events get cursors that only this database can read: the number of an event counts the events of all stores,
-- so that each store could see how busy the others are. Dumps keep the key, and so readers keep their cursors.
--
-- Until `plain_until` processes of the version before may be at work, which know plain numbers alone: cursors stay plain
-- for that quarter of an hour, where there are any. Later on plain ones up to `plain_number` are taken as before.
alter table event_head
  add column cursor_key bytea not null default sha256(
    (gen_random_uuid()::text || gen_random_uuid()::text || gen_random_uuid()::text)::bytea),
  add column plain_number bigint not null default 0,
  add column plain_until timestamptz not null default now();
update event_head set plain_number = number,
  plain_until = now() + case when number > 0 then interval '15 minutes' else interval '0' end;

-- Of both versions: a process of the version before moves the last number alone, and shows it as a plain one.
create function note_plain_number() returns trigger language plpgsql as $$
begin
  new.plain_number := new.number;
  return new;
end $$;
create trigger note_plain_number before update of number on event_head
  for each row when (now() < old.plain_until) execute function note_plain_number();
