-- What a store may say of an order beside the contract's fields; all null where it says nothing.
alter table orders
  -- The store's own number of the order, not unique.
  add column external_id text,
  add column metadata jsonb,
  -- A list of {"name", "quantity"}.
  add column items jsonb,
  add column pickup_instructions text,
  add column dropoff_instructions text,
  add column leave_at_door boolean not null default false,
  -- The second part of an order's fingerprint, `{version}:{hash}`, beside `request_fingerprint`, which the version
  -- before this one compares alone. Null: that version created the order.
  add column extras_fingerprint text;

-- In the order of a store's list, so that a page of it reads only so many rows.
create index orders_by_external_id on orders (retailer_id, external_id, updated_at, id) where external_id is not null;
