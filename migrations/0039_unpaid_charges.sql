-- Which orders of a store are unpaid, instead of how many: one that was cancelled or has expired owes nothing any more,
-- and neither does one whose charge fails after that. Triggers, so that what the build before writes counts as well.
-- Their lock on `orders` waits for the statements in flight; nothing is read under it.

-- The orders whose charge failed for good since their store had an order paid or got its card. Whether one is still
-- owed is read from the order. `retailers.unpaid_orders` stays for the build before, which shows it.
create table unpaid_charges (
  retailer_id uuid not null,
  order_id uuid not null,
  primary key (retailer_id, order_id)
);

create function note_failed_charge() returns trigger language plpgsql as $$
begin
  insert into unpaid_charges (retailer_id, order_id) values (new.retailer_id, new.id) on conflict do nothing;
  return null;
end $$;
create trigger orders_charge_failed after update of payment_status on orders for each row
  when (new.payment_status = 'failed' and old.payment_status <> 'failed'
    and new.status not in ('cancelled', 'expired', 'void'))
  execute function note_failed_charge();

-- What ends an order does not know of the store's account, so this tells the processes that hold the store back.
create function end_failed_charge() returns trigger language plpgsql as $$
begin
  delete from unpaid_charges where retailer_id = new.retailer_id and order_id = new.id;
  if found then
    perform pg_notify('sameday', 'table:retailer:' || new.retailer_id);
  end if;
  return null;
end $$;
create trigger orders_failed_charge_ended after update of status on orders for each row
  when (new.payment_status = 'failed' and new.status in ('cancelled', 'expired') and old.status <> new.status)
  execute function end_failed_charge();

-- After a paid order, and with a new card, the count begins anew. Whoever writes either holds the store's row.
create function forget_failed_charges() returns trigger language plpgsql as $$
begin
  delete from unpaid_charges where retailer_id = new.id;
  return null;
end $$;
create trigger retailers_unpaid_forgotten after update of payment_failed_at, card_set_at on retailers for each row
  when ((new.payment_failed_at is null and old.payment_failed_at is not null)
    or new.card_set_at is distinct from old.card_set_at)
  execute function forget_failed_charges();
