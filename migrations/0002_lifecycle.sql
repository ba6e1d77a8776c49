-- The rest of an order's life: cancelled, released, undeliverable, returned, refunded; what drivers did and when; and
-- what stores are told.

alter table orders
  add column updated_at timestamptz not null default clock_timestamp(),
  add column cancelled_by text check (cancelled_by in ('store', 'operator')),
  add column undeliverable_at timestamptz,
  -- Drivers who gave the order back; it is not offered to them again.
  add column excluded_driver_ids uuid[] not null default '{}',
  add column refund_id text;

-- By the clock and not the start of the statement, which may have waited for the row: changes of one row follow each other.
create function touch_updated_at() returns trigger language plpgsql as $$
begin
  new.updated_at := greatest(clock_timestamp(), old.updated_at + interval '1 microsecond');
  return new;
end $$;
create trigger orders_touch before update on orders for each row execute function touch_updated_at();
create index orders_by_update on orders (retailer_id, updated_at, id);

-- What a phone sent, by its own id: sending it again changes nothing and gets the same answer.
create table driver_actions (
  driver_id uuid not null,
  action_id text not null,
  order_id uuid not null,
  type text not null,
  status text not null,
  sequence integer not null,
  captured_at timestamptz,
  received_at timestamptz not null default now(),
  primary key (driver_id, action_id)
);
