-- Keys that end later than at once, chains of stores with keys that read, and what an import keeps of a store.

-- Until when a rotated key goes on; null for a key without an end. Not `revoked_at`: the build before takes any value
-- there for an end at once, and would refuse the orders of an honest store in the middle of an upgrade. This column it
-- does not know, so it lets such a key live on, until the upkeep of this build writes `revoked_at`. A key that leaked
-- is rotated without an overlap, and ends in both.
alter table api_keys add column valid_until timestamptz;
create index api_keys_ending on api_keys (valid_until) where valid_until is not null and revoked_at is null;

create table organizations (
  id uuid primary key,
  name text not null,
  created_at timestamptz not null default now()
);

-- Without a foreign key, which would lock the organization's row for each of its stores. It is never deleted.
alter table retailers
  add column if not exists organization_id uuid,
  -- The chain's own number of the store.
  add column external_id text;
create index retailers_of_organization on retailers (organization_id) where organization_id is not null;
-- By which an import finds the stores that are there.
create index retailers_by_name on retailers (name);

-- Keys that read the orders of all stores of an organization. A table of their own, because the build before takes
-- every row of `api_keys` for a store's.
create table organization_keys (
  id uuid primary key,
  organization_id uuid not null references organizations,
  key_hash text not null unique,
  created_at timestamptz not null default now(),
  valid_until timestamptz,
  revoked_at timestamptz
);
create index organization_keys_of_organization on organization_keys (organization_id);
create index organization_keys_ending on organization_keys (valid_until)
  where valid_until is not null and revoked_at is null;

-- As in 0018: whoever adds or ends a key, every process is told.
create function notify_organization_keys() returns trigger language plpgsql as $$
begin
  perform pg_notify('sameday', 'table:organization_key:' || string_agg(id, ','))
  from (select id, row_number() over () / 200 as part
        from (select distinct organization_id::text as id from changed) holders) parts
  group by part;
  return null;
end $$;
create trigger organization_keys_added after insert on organization_keys referencing new table as changed
  for each statement execute function notify_organization_keys();
create trigger organization_keys_changed after update on organization_keys referencing new table as changed
  for each statement execute function notify_organization_keys();

-- How many stores and keys an organization has, for a statement that is about to add one. It holds the organization's
-- row until its commit, so the next one counts what it added: the counts are a statement of their own, which sees what
-- was committed during the wait for the row. No row for an unknown organization.
create function lock_organization(organization uuid) returns table (stores integer, keys integer)
language plpgsql volatile as $$
begin
  perform from organizations where id = organization for no key update;
  if not found then return; end if;
  return query select
    (select count(*) from retailers r where r.organization_id = organization)::int,
    (select count(*) from organization_keys k where k.organization_id = organization
      and k.revoked_at is null and (k.valid_until is null or k.valid_until > now()))::int;
end $$;
