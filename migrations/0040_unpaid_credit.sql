-- The credit of unproven stores goes by the orders that they still owe. A file of its own, so that the orders that
-- failed before are read without a lock on `orders`.

-- Nobody counts, pays or gets a card meanwhile. A few rows: those of stores that have not paid since.
select from retailers where payment_failed_at is not null order by id for no key update;

-- As many of the last failures as the store's row counts, without those that are not owed any more.
insert into unpaid_charges (retailer_id, order_id)
select retailer_id, id from (
  select o.retailer_id, o.id, o.status, r.unpaid_orders, row_number() over (
    partition by o.retailer_id order by p.settled_at desc nulls last, o.id desc) as n
  from retailers r
  join orders o on o.retailer_id = r.id and o.payment_status = 'failed'
  cross join lateral (select max(settled_at) as settled_at from payments p where p.order_id = o.id) p
  where r.payment_failed_at is not null and r.unpaid_orders > 0
) failed
where n <= unpaid_orders and status not in ('cancelled', 'expired', 'void')
on conflict do nothing;

-- How many orders in a row a store has not paid and still owes.
create function unpaid_orders_of(store uuid) returns integer language sql stable as $$
  select count(*)::int from unpaid_charges u join orders o on o.id = u.order_id
  where u.retailer_id = store and o.payment_status = 'failed' and o.status not in ('cancelled', 'expired', 'void')
$$;

update retailers set unpaid_orders = unpaid_orders_of(id)
where payment_failed_at is not null and unpaid_orders <> unpaid_orders_of(id);

create or replace function unpaid_credit(store uuid, allowed integer) returns integer language sql stable as $$
  select greatest(allowed, 1) - unpaid_orders_of(r.id) - (
    select count(*) from unproven_orders u join orders o on o.id = u.order_id
    where u.retailer_id = r.id and o.payment_status = 'processing')::int
  from retailers r where r.id = store and r.payment_failed_at is not null
$$;
