-- The first schema: stores and their keys, drivers, orders with their events, payments, texts and the outbox.
--
-- Orders carry no foreign keys to retailers, tiers and drivers: those rows are never deleted, the statement that
-- creates an order joins them, and a key check would lock the same three rows for every order of a busy store.

create table tiers (
  id text primary key check (id in ('standard', 'priority', 'scheduled')),
  fee_cents integer not null check (fee_cents between 50 and 1000000),
  payout_cents integer not null check (payout_cents between 0 and 1000000),
  radius_meters integer not null check (radius_meters between 1 and 20100000),
  radius_growth_meters_per_minute integer not null check (radius_growth_meters_per_minute between 0 and 1000000),
  max_radius_meters integer not null check (max_radius_meters between radius_meters and 20100000),
  weight double precision not null check (weight > 0 and weight <= 1000),
  max_wait_seconds integer not null check (max_wait_seconds between 1 and 604800)
);

insert into tiers values
  ('standard', 799, 550, 8000, 1000, 25000, 1, 86400),
  ('priority', 1299, 950, 12000, 2000, 40000, 4, 86400),
  ('scheduled', 599, 450, 8000, 1000, 25000, 1, 86400);

create table retailer_applications (
  id uuid primary key,
  name text not null,
  address text not null,
  contact_email text not null,
  status text not null default 'applied' check (status in ('applied', 'approved', 'rejected')),
  applied_at timestamptz not null default now(),
  decided_at timestamptz,
  decision_note text,
  retailer_id uuid
);

create table retailers (
  id uuid primary key,
  name text not null,
  status text not null default 'active' check (status in ('active', 'suspended')),
  address text not null,
  lat double precision not null check (lat between -90 and 90),
  lng double precision not null check (lng between -180 and 180),
  stripe_customer_id text,
  stripe_payment_method_id text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create table api_keys (
  id uuid primary key,
  retailer_id uuid not null references retailers,
  key_hash text not null unique,
  created_at timestamptz not null default now(),
  revoked_at timestamptz
);
create index api_keys_of_retailer on api_keys (retailer_id);

create table drivers (
  id uuid primary key,
  name text not null,
  phone text not null,
  token_hash text not null unique,
  tiers text[] not null check (cardinality(tiers) > 0),
  active boolean not null default true,
  on_duty boolean not null default false,
  free_since timestamptz not null default now(),
  created_at timestamptz not null default now()
);

-- Written behind, the last position of each driver; apart from drivers so that a lost second of it costs nothing else.
create table driver_positions (
  driver_id uuid primary key,
  lat double precision not null,
  lng double precision not null,
  captured_at timestamptz not null,
  received_at timestamptz not null default now()
) with (fillfactor = 70);

create table customers (
  id uuid primary key,
  name text not null,
  email text not null,
  phone text not null,
  sms_opt_in boolean not null
);

create table dropoff_addresses (
  id uuid primary key,
  line1 text not null,
  line2 text,
  city text not null,
  state text not null,
  zip text not null
);

create table orders (
  id uuid primary key,
  retailer_id uuid not null,
  customer_id uuid not null,
  dropoff_address_id uuid not null,
  driver_id uuid,
  -- 'void' is a tombstone: it blocks the id of an order whose commit had an unknown outcome. No reader shows it.
  status text not null check (status in ('pending_dispatch', 'driver_assigned', 'picked_up', 'delivered', 'cancelled',
                                         'expired', 'undeliverable', 'returned', 'void')),
  delivery_tier text not null,
  delivery_fee_cents integer not null check (delivery_fee_cents >= 0),
  driver_payout_cents integer not null,
  payout_status text not null default 'none' check (payout_status in ('none', 'owed', 'paid')),
  payout_at timestamptz,
  payment_status text not null check (payment_status in ('not_charged', 'processing', 'paid', 'failed', 'refunded')),
  payment_failure_code text,
  charge_id text,
  sms_status text not null check (sms_status in ('none', 'queued', 'sent', 'failed')),
  sms_failure_code text,
  tracking_token text not null unique,
  pickup_address text not null,
  pickup_lat double precision not null,
  pickup_lng double precision not null,
  pickup_point_source text not null,
  photo_name text,
  -- Counts the order's events; each event carries the number it made.
  sequence integer not null default 1,
  idempotency_key text,
  request_fingerprint text,
  reason_code text,
  created_at timestamptz not null,
  assigned_at timestamptz,
  picked_up_at timestamptz,
  delivered_at timestamptz,
  ended_at timestamptz,
  expires_at timestamptz not null,
  check ((driver_id is not null) or status not in ('driver_assigned', 'picked_up', 'delivered', 'undeliverable', 'returned'))
);

-- The arbiter: a driver holds one active order, whatever any process believes.
create unique index orders_one_active_per_driver on orders (driver_id)
  where status in ('driver_assigned', 'picked_up', 'undeliverable');
create unique index orders_idempotency on orders (retailer_id, idempotency_key) where idempotency_key is not null;
create index orders_waiting on orders (created_at) where status = 'pending_dispatch';
create index orders_of_retailer on orders (retailer_id, created_at);

create table order_events (
  order_id uuid not null,
  sequence integer not null,
  type text not null,
  at timestamptz not null default clock_timestamp(),
  data jsonb,
  primary key (order_id, sequence)
);

-- One row an attempt, written before Stripe is called; its idempotency key is `{order_id}:{attempt}`.
create table payments (
  order_id uuid not null,
  attempt integer not null check (attempt between 1 and 3),
  amount_cents integer not null,
  stripe_customer_id text,
  stripe_payment_method_id text,
  status text not null check (status in ('sending', 'paid', 'declined')),
  payment_intent_id text,
  failure_code text,
  first_sent_at timestamptz not null default now(),
  settled_at timestamptz,
  primary key (order_id, attempt)
);

-- One row a text, written before Twilio is called: a second send is possible only after a look-up found nothing.
create table messages (
  order_id uuid primary key,
  status text not null check (status in ('sending', 'sent', 'failed')),
  sends integer not null default 1,
  sid text,
  failure_code text,
  sent_at timestamptz not null default now()
);

-- The only hand-off to the queues. A row is owed until `done_at`; whoever holds its lease is working on it.
create table outbox (
  id bigint generated always as identity primary key,
  queue text not null,
  order_id uuid not null,
  retailer_id uuid not null,
  run_at timestamptz not null default now(),
  lease_until timestamptz not null,
  -- How often the sweeper relayed it again; part of the job's id, since a queue ignores an id it still keeps.
  relays integer not null default 0,
  created_at timestamptz not null default now(),
  done_at timestamptz,
  failure_code text
);
create index outbox_owed on outbox (lease_until) where done_at is null;
create index outbox_order on outbox (order_id);
