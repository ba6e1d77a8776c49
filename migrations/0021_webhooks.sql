-- Several webhooks a store, set with its own key, and those of an organization, which are told of all its stores.
--
-- The version before knows one a store, in `webhook_endpoints`, and goes on reading and writing that name beside this
-- version: it becomes a view of the webhooks whose id is the store's own. So there is one row, and nothing to keep in
-- step. A delivery of the version before names no webhook, and belongs to that one.
-- Locked in the order in which the statement that creates an order touches them.
alter table retailers add column organization_id uuid;
alter table webhook_endpoints rename to webhooks;
alter table webhooks rename column retailer_id to id;
alter table webhooks drop constraint webhook_endpoints_retailer_id_fkey;
alter table webhooks
  add column retailer_id uuid references retailers,
  add column organization_id uuid,
  -- The types of events that it is told of; null for all. By default what was told before, and that a driver gave an
  -- order back, or the store would go on showing that driver.
  add column event_types text[] check (cardinality(event_types) > 0) default '{order.assigned,order.released,
    order.picked_up,order.delivered,order.cancelled,order.expired,order.undeliverable,order.returned,
    order.payment_failed,order.refunded}',
  -- The secret before, by which webhooks are signed too until then.
  add column old_secret text,
  add column old_secret_until timestamptz,
  add column created_at timestamptz not null default now();
update webhooks set retailer_id = id, created_at = set_at;
alter table webhooks add constraint webhooks_owner check (num_nonnulls(retailer_id, organization_id) = 1);
create index webhooks_of_retailer on webhooks (retailer_id);
create index webhooks_of_organization on webhooks (organization_id) where organization_id is not null;

create view webhook_endpoints as
  select id as retailer_id, url, secret, set_at, failing_since, retry_at, disabled_at, disabled_because
  from webhooks where id = retailer_id;

-- The webhook that the operator sets, whichever version sets it.
create function complete_webhook() returns trigger language plpgsql as $$
begin
  new.retailer_id := new.id;
  return new;
end $$;
create trigger webhooks_of_operator before insert on webhooks
  for each row when (new.retailer_id is null and new.organization_id is null) execute function complete_webhook();

-- Whether its owner may add one more webhook. It holds the owner's turn until the commit, so the next one counts what
-- this one added: the count is a statement of its own, which sees what was committed during the wait.
create function has_room_for_webhook(store uuid, organization uuid, most integer) returns boolean
language plpgsql volatile as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('webhooks of ' || coalesce(store, organization)::text, 0));
  return (select count(*) from webhooks w where w.retailer_id = store or w.organization_id = organization) < most;
end $$;

-- Null for the webhook whose id is the store's.
alter table webhook_deliveries add column webhook_id uuid;
create index webhook_deliveries_of_webhook on webhook_deliveries (coalesce(webhook_id, retailer_id), created_at, id);
