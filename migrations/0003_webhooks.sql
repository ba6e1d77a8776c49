-- Stores that want to be told: where to, and what they were told.

-- A store without a row here is not told anything.
create table webhook_endpoints (
  retailer_id uuid primary key references retailers,
  url text not null,
  -- In clear, because signing needs it (Standard Webhooks: a shared secret).
  secret text not null,
  set_at timestamptz not null default now(),
  -- The first failure since the last success.
  failing_since timestamptz,
  -- An endpoint that has been failing for a while is left alone until then.
  retry_at timestamptz,
  disabled_at timestamptz,
  disabled_because text
);

-- One row an event and store, written by the statement that changed the order; its id is the `webhook-id`.
create table webhook_deliveries (
  id uuid primary key default gen_random_uuid(),
  -- The job that carries it; a replay gets a new one.
  outbox_id bigint not null unique,
  retailer_id uuid not null,
  order_id uuid not null,
  type text not null,
  sequence integer not null,
  -- The body as it is sent, the same at every try; `json`, which keeps its text, since that is what is signed.
  payload json not null,
  status text not null default 'pending' check (status in ('pending', 'delivered', 'failed')),
  attempts integer not null default 0,
  -- Of the last try: the HTTP status, or a word for why there was none.
  result text,
  created_at timestamptz not null default now(),
  -- Tries are made for a day from then on; a replay sets it anew.
  started_at timestamptz not null default now(),
  tried_at timestamptz
);
create index webhook_deliveries_of_retailer on webhook_deliveries (retailer_id, created_at);
create index webhook_deliveries_by_age on webhook_deliveries (created_at);
create index webhook_deliveries_of_order on webhook_deliveries (order_id);
