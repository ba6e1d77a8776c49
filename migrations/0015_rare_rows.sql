-- A store's list of orders in a status that is rare finds them without walking past all others. Only these
-- statuses, which no new order has: an index over new orders would cost each commit.
create index orders_rare_by_update on orders (retailer_id, status, updated_at, id)
  where status in ('cancelled', 'expired', 'undeliverable', 'returned');

-- Counts what a driver gave back in the last day.
create index driver_actions_releases on driver_actions (driver_id, received_at) where type = 'released';
