-- Processes keep who a key is of for as long as they hear all notices. So the table itself tells of what they keep, as
-- api_keys does, whoever changes it: also the version before and a person with psql.
create function notify_store() returns trigger language plpgsql as $$
begin
  perform pg_notify('sameday', 'table:retailer:' || new.id);
  return null;
end $$;
create trigger retailers_told after update of status, name, address, lat, lng, orders_per_second on retailers
  for each row when ((old.status, old.name, old.address, old.lat, old.lng, old.orders_per_second)
    is distinct from (new.status, new.name, new.address, new.lat, new.lng, new.orders_per_second))
  execute function notify_store();
