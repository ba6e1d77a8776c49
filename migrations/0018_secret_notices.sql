-- Processes hold the hashes of all keys and tokens, so whoever adds one must tell them: this version's command
-- line, the one before, and a person with psql. So the tables send these notices themselves. A version that does not
-- know them passes them over.
create function notify_keys() returns trigger language plpgsql as $$
begin
  perform pg_notify('sameday', 'table:key:' || string_agg(id, ','))
  from (select id, row_number() over () / 200 as part
        from (select distinct retailer_id::text as id from changed) holders) parts
  group by part;
  return null;
end $$;
create trigger api_keys_added after insert on api_keys referencing new table as changed
  for each statement execute function notify_keys();
create trigger api_keys_changed after update on api_keys referencing new table as changed
  for each statement execute function notify_keys();

create function notify_tokens() returns trigger language plpgsql as $$
begin
  perform pg_notify('sameday', 'table:token:' || string_agg(id, ','))
  from (select id::text as id, row_number() over () / 200 as part from changed) parts
  group by part;
  return null;
end $$;
create trigger drivers_added after insert on drivers referencing new table as changed
  for each statement execute function notify_tokens();

create function notify_token() returns trigger language plpgsql as $$
begin
  perform pg_notify('sameday', 'table:token:' || new.id);
  return null;
end $$;
-- By row and condition, because a driver's duty changes often and their token hardly ever.
create trigger drivers_token_changed after update on drivers
  for each row when (old.token_hash is distinct from new.token_hash) execute function notify_token();
