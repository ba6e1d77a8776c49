-- A webhook's deliveries that were given up, or are still tried, newest first: few among those that were accepted, which
-- no index needs to hold apart. Built once, while deliveries wait to be written.
create index webhook_deliveries_open on webhook_deliveries
  (coalesce(webhook_id, retailer_id), status, created_at, id) where status <> 'delivered';
