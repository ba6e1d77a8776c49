-- Stores whose orders get no driver for now: suspended ones, and those that do not pay.

alter table retailers
  -- Orders in a row whose charge failed for good, since the last paid order or the last new card.
  add column unpaid_orders integer not null default 0 check (unpaid_orders >= 0),
  -- The last such failure; null again once an order was paid. Until then the store is unproven.
  add column payment_failed_at timestamptz;

-- What a process reads at its start and with each sweep.
create index retailers_held on retailers (id) where status <> 'active' or payment_failed_at is not null;

-- The orders of unproven stores whose charge has no result yet. An order of any other store has no row here.
create table unproven_orders (
  retailer_id uuid not null,
  order_id uuid not null,
  primary key (retailer_id, order_id)
);

-- How many more orders of an unproven store may have a driver before one is paid; null for a store without a bound.
create function unpaid_credit(store uuid, allowed integer) returns integer language sql stable as $$
  select greatest(allowed, 1) - r.unpaid_orders - (
    select count(*) from unproven_orders u join orders o on o.id = u.order_id
    where u.retailer_id = r.id and o.payment_status = 'processing')::int
  from retailers r where r.id = store and r.payment_failed_at is not null
$$;

-- The same for a statement that is about to give drivers. It holds the store's row until its commit, so the next one
-- counts what it did: the count is a statement of its own, which sees what was committed during the wait for the row.
create function lock_unpaid_credit(store uuid, allowed integer) returns integer language plpgsql volatile as $$
declare
  credit integer;
begin
  perform from retailers where id = store for no key update;
  select unpaid_credit(store, allowed) into credit;
  return credit;
end $$;

-- An operator may have a failed charge tried again: the attempts that the order has by then, the first ones included.
-- Null for an order that has those that every order has.
alter table orders add column payment_attempts_allowed integer;
alter table payments drop constraint payments_attempt_check;
-- `not valid` saves a read of the whole table: the constraint of before was stricter.
alter table payments add constraint payments_attempt_check check (attempt between 1 and 99) not valid;

-- The charges that can be tried again, by store. Only a failed one has an entry.
create index orders_charge_failed on orders (retailer_id, id) where payment_status = 'failed';
