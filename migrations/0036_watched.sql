-- What the operator watches is read from what is open, however many orders have ended. Each of the two indexes takes one
-- read of `orders`, during which orders are read but not written. An order without a failed charge and without a
-- cancellation has no entry in either.

-- Orders that ended undelivered and are still paid: until their refund, a moment later.
create index orders_refund_missing on orders (ended_at)
  where payment_status = 'paid' and status in ('cancelled', 'expired');

-- Charges that can be tried again, by store. It takes the place of `orders_charge_failed`, which kept those of orders
-- that were cancelled or have expired for ever, and which the next file drops; the build before asks with the same
-- condition.
create index orders_charge_owed on orders (retailer_id, id)
  where payment_status = 'failed' and status not in ('cancelled', 'expired', 'void');

-- The functions go without sequential scans: what is open may have been half of a table when it was looked at last, and
-- be a thousandth of it now.

-- Refunds that are still missing so many seconds after their order's end, charges that failed and are owed, and webhooks
-- that were disabled by something else than their owner.
create function count_watched(ended_seconds integer)
returns table (refunds_missing integer, failed_charges integer, webhooks_disabled integer)
language sql stable set enable_seqscan = off as $$
  select
    (select count(*) from orders o where o.payment_status = 'paid' and o.status in ('cancelled', 'expired')
       and o.ended_at < now() - make_interval(secs => ended_seconds))::integer,
    (select count(*) from orders o
     where o.payment_status = 'failed' and o.status not in ('cancelled', 'expired', 'void'))::integer,
    (select count(*) from webhooks w
     where w.disabled_at is not null and w.disabled_because is distinct from 'off')::integer
$$;

-- Orders that wait or are under way, by status: how many, how many of them wait for their time, and since when the oldest
-- has waited for a driver. An order is due `due_seconds` before its time.
create function count_open_orders(due_seconds double precision)
returns table (status text, orders integer, not_yet integer, oldest_since timestamptz)
language sql stable set enable_seqscan = off as $$
  select o.status, count(*)::integer, count(*) filter (where o.dispatch_from > now())::integer,
    min(coalesce(o.dispatch_from, o.created_at)) filter (
      where o.dispatch_from is null or o.dispatch_from <= now() + make_interval(secs => due_seconds))
  from orders o where o.status = 'pending_dispatch' group by o.status
  union all
  select o.status, count(*)::integer, 0, null
  from orders o where o.status in ('driver_assigned', 'picked_up', 'undeliverable') group by o.status
$$;
