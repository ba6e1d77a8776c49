-- Payouts and refunds are rows of their own. `orders.payout_status`, `payout_at` and `refund_id` stay for the build of
-- before: two triggers turn what it writes there into rows.
--
-- The rows of existing orders are made first, while orders are read and written as ever. The locks on `orders` and
-- `order_events` follow, for as long as it takes to look once through `orders` for what came meanwhile.

create table payouts (
  order_id uuid primary key,
  driver_id uuid not null,
  amount_cents integer not null,
  status text not null check (status in ('held', 'owed', 'paid', 'void')),
  -- Why it is held; kept when the operator decides otherwise.
  reasons text[] not null default '{}',
  created_at timestamptz not null default now(),
  -- When it was released or voided; null where neither happened.
  decided_at timestamptz,
  paid_at timestamptz,
  note text,
  check (status <> 'held' or cardinality(reasons) > 0),
  check ((status = 'paid') = (paid_at is not null))
);
create index payouts_by_status on payouts (status, order_id);

-- One row a refund, written before Stripe is called; the idempotency key of the first is `{order_id}:refund`.
create table refunds (
  order_id uuid not null,
  attempt integer not null default 1 check (attempt > 0),
  payment_intent_id text,
  amount_cents integer not null,
  -- How the order ended.
  reason text not null check (reason in ('cancelled', 'expired')),
  status text not null check (status in ('sending', 'refunded', 'refused')),
  stripe_refund_id text,
  failure_code text,
  created_at timestamptz not null default now(),
  settled_at timestamptz,
  primary key (order_id, attempt)
);

-- The payout of an order as the build of before leaves it, which judges nothing but the payment.
create function payout_of(o orders) returns table (order_id uuid, driver_id uuid, amount_cents integer, status text,
  reasons text[], created_at timestamptz, paid_at timestamptz) language sql stable as $$
  select o.id, o.driver_id, o.driver_payout_cents,
    case when o.payout_status = 'paid' then 'paid' when o.payment_status = 'paid' then 'owed' else 'held' end,
    case when o.payout_status = 'paid' or o.payment_status = 'paid' then '{}' else '{unpaid}' end::text[],
    coalesce(o.delivered_at, o.ended_at, o.updated_at),
    case when o.payout_status = 'paid' then coalesce(o.payout_at, o.updated_at) end
$$;

insert into payouts (order_id, driver_id, amount_cents, status, reasons, created_at, paid_at)
select p.* from orders o cross join payout_of(o) p where o.payout_status <> 'none' and o.driver_id is not null;
insert into refunds (order_id, payment_intent_id, amount_cents, reason, status, stripe_refund_id, failure_code,
  created_at, settled_at)
select o.id, o.charge_id, o.delivery_fee_cents, o.status,
  case e.type when 'refunded' then 'refunded' else 'refused' end,
  o.refund_id, e.data->>'code', o.ended_at, e.at
from orders o join lateral (
  select type, data, at from order_events
  where order_id = o.id and type = case o.payment_status when 'refunded' then 'refunded' else 'refund_failed' end
  order by sequence desc limit 1
) e on true
where o.status in ('cancelled', 'expired') and o.payment_status in ('paid', 'refunded');

create function write_payout() returns trigger language plpgsql as $$
begin
  insert into payouts (order_id, driver_id, amount_cents, status, reasons, created_at, paid_at)
  select * from payout_of(new)
  on conflict (order_id) do update set status = excluded.status, paid_at = excluded.paid_at
  where excluded.status = 'paid' and payouts.status <> 'paid';
  return null;
end $$;
create trigger orders_payout after update of payout_status on orders for each row
  when (new.payout_status <> 'none' and new.payout_status <> old.payout_status) execute function write_payout();

create function write_refund() returns trigger language plpgsql as $$
begin
  insert into refunds (order_id, payment_intent_id, amount_cents, reason, status, stripe_refund_id, settled_at)
  values (new.id, new.charge_id, new.delivery_fee_cents, new.status, 'refunded', new.refund_id, now())
  on conflict (order_id, attempt) do update
  set status = 'refunded', stripe_refund_id = excluded.stripe_refund_id, settled_at = excluded.settled_at
  where refunds.status <> 'refunded';
  return null;
end $$;
create trigger orders_refund after update of refund_id on orders for each row
  when (new.payment_status = 'refunded' and new.status in ('cancelled', 'expired')) execute function write_refund();

-- A trigger and no part of the statement that records the payment: that statement may have waited for the one that
-- ended the order, and would not see its payout. An order that is paid before its end does not get here.
create function release_payout() returns trigger language plpgsql as $$
begin
  update payouts set reasons = array_remove(reasons, 'unpaid'),
    status = case when reasons = '{unpaid}' then 'owed' else status end,
    decided_at = case when reasons = '{unpaid}' then now() else decided_at end
  where order_id = new.id and status = 'held' and 'unpaid' = any(reasons);
  return null;
end $$;
create trigger orders_payout_release after update of payment_status on orders for each row
  when (new.payment_status = 'paid' and new.status in ('delivered', 'returned')) execute function release_payout();

-- What the build of before has written since the rows above were made. Statements take seconds at most.
insert into payouts (order_id, driver_id, amount_cents, status, reasons, created_at, paid_at)
select p.* from orders o cross join payout_of(o) p
where o.updated_at > now() - interval '1 minute' and o.payout_status <> 'none' and o.driver_id is not null
on conflict do nothing;
update payouts p set status = 'owed', reasons = '{}'
from orders o where o.updated_at > now() - interval '1 minute' and o.payment_status = 'paid'
  and p.order_id = o.id and p.reasons = '{unpaid}';
insert into refunds (order_id, payment_intent_id, amount_cents, reason, status, stripe_refund_id, settled_at)
select id, charge_id, delivery_fee_cents, status, 'refunded', refund_id, updated_at from orders
where updated_at > now() - interval '1 minute' and status in ('cancelled', 'expired') and payment_status = 'refunded'
on conflict do nothing;

-- With a driver's action: where they were when it was received, whether its time can be, and the doubts that hold the
-- payout. For the operator; apart from `data`, which stores are shown.
alter table order_events add column receipt jsonb;
