-- Who decides about what waits. A build before names none of it and gives waiting orders by its own rule; between it
-- and the planner the row of the order decides.
alter table tiers
  add column dispatch_mode text not null default 'planned' check (dispatch_mode in ('planned', 'nearest'));

-- Which process plans, by region. Its holder renews the row before it expires; each new holder has a higher epoch,
-- which every command of the planner checks.
create table planner_leases (
  region text primary key,
  holder text not null,
  epoch integer not null,
  expires_at timestamptz not null
);

-- What is planned for waiting orders, for readers: the planner itself never reads it, so it may be lost with a crash.
-- `said_at` is the arrival that the store was told last.
create unlogged table plans (
  order_id uuid primary key,
  driver_id uuid not null,
  pickup_at timestamptz not null,
  door_at timestamptz not null,
  said_at timestamptz not null,
  epoch integer not null
);

-- A candidate of a planned assignment has a cost, behind its reason.
create or replace function considered_as_json(considered text) returns jsonb language sql immutable strict as $$
  select jsonb_agg(jsonb_build_object('driver_id', split_part(one, ' ', 1),
    'distance_meters', nullif(split_part(one, ' ', 2), '')::int, 'reason', split_part(one, ' ', 3))
    || case split_part(one, ' ', 4) when '' then '{}' else jsonb_build_object('cost', split_part(one, ' ', 4)::numeric) end
    order by n)
  from string_to_table(considered, ',') with ordinality as t (one, n)
$$;

-- Stores are told where the planned arrival of a waiting order has changed.
insert into told_events values ('estimate_changed', 'order.estimate_changed', '{estimated_delivery}');
