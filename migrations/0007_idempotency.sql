-- The key that a store cancelled an order under, so that sending it again gets the first answer.
alter table orders add column cancel_key text;
create unique index orders_cancel_key on orders (retailer_id, cancel_key) where cancel_key is not null;
