-- What stores are told of their orders, in one row of numbers. A writer gives each event its number after the commit of
-- its order's change, so a reader that has seen a number has seen every smaller one. A trigger hands the writer the
-- events, whoever wrote them: also the version before, and a person with psql.

-- The events of an order that stores are told of, by their names there, and the parts of their data that stores get.
-- None is about the customer.
create table told_events (
  event text not null,
  type text not null,
  details text[] not null default '{}',
  primary key (event, type)
);
insert into told_events values
  ('created', 'order.created', '{}'),
  ('driver_assigned', 'order.assigned', '{}'),
  ('released', 'order.released', '{reason}'),
  ('payment_paid', 'order.paid', '{}'),
  ('payment_failed', 'order.payment_failed', '{code}'),
  ('picked_up', 'order.picked_up', '{}'),
  ('delivered', 'order.delivered', '{}'),
  ('delivered', 'order.proof_available', '{}'),
  ('undeliverable', 'order.undeliverable', '{by,reason}'),
  ('returned', 'order.returned', '{by}'),
  ('cancelled', 'order.cancelled', '{by,reason}'),
  ('expired', 'order.expired', '{by}'),
  ('refunded', 'order.refunded', '{}');

-- Events without a number. An order's events have growing ids: the statement of the next one waits for the order's row.
-- A queue that is mostly empty, so it is vacuumed long before a fifth is dead.
create table unnumbered_events (
  id bigint generated always as identity primary key,
  order_id uuid not null,
  sequence integer not null,
  retailer_id uuid not null,
  type text not null,
  at timestamptz not null,
  -- Of the order, right after the statement that wrote the event.
  status text not null,
  payment_status text not null,
  driver_id uuid,
  details jsonb
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- The same with a number, without gaps. Rows are deleted by age.
create table store_events (
  number bigint primary key,
  order_id uuid not null,
  sequence integer not null,
  retailer_id uuid not null,
  type text not null,
  at timestamptz not null,
  status text not null,
  payment_status text not null,
  driver_id uuid,
  details jsonb
);
create index store_events_of_retailer on store_events (retailer_id, number);

-- The last number, in a row and no sequence: a dump has it as it was with the events, and whoever writes numbers holds
-- the lock of this row. Up to `pruned_number` events are deleted; the last of them was of `pruned_at`.
create table event_head (
  only_one boolean primary key default true check (only_one),
  number bigint not null default 0,
  pruned_number bigint not null default 0,
  pruned_at timestamptz
);
insert into event_head default values;

-- Without sequential scans: the plan is kept for a session, and one of a small table of orders would read all of it for
-- each event once it has grown.
create function queue_events() returns trigger language plpgsql set enable_seqscan = off as $$
begin
  insert into unnumbered_events (order_id, sequence, retailer_id, type, at, status, payment_status, driver_id, details)
  select e.order_id, e.sequence, o.retailer_id, t.type, e.at, o.status, o.payment_status, o.driver_id,
    case when t.type = 'order.proof_available' then jsonb_build_object('photo', '/orders/' || o.id || '/photo')
      when t.details <> '{}' and e.data is not null then
        (select jsonb_object_agg(key, value) from jsonb_each(e.data) where key = any(t.details)) end
  from inserted e join told_events t on t.event = e.type join orders o on o.id = e.order_id
  where t.type <> 'order.proof_available' or o.photo_name is not null
  order by e.order_id, e.sequence, t.type;
  return null;
end $$;
create trigger order_events_told after insert on order_events referencing new table as inserted
  for each statement execute function queue_events();

-- Whether an event has its webhook delivery already, which the version before made with the order's change. Without
-- sequential scans, as above.
create function has_delivery(about uuid, nth integer, name text) returns boolean
language plpgsql stable set enable_seqscan = off as $$
begin
  return exists (select from webhook_deliveries where order_id = about and sequence = nth and type = name);
end $$;
