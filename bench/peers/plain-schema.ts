/**
 * The plain service's tables: orders, customers and addresses hold what the service's own hold, and whether a
 * driver is free is in the driver's row, where PostGIS finds it. As in the service, no foreign key is checked
 * while an order is created.
 */
export const PLAIN_SCHEMA = `
create extension if not exists postgis;

create table tiers (
  id text primary key,
  fee_cents integer not null,
  payout_cents integer not null,
  radius_meters integer not null,
  max_wait_seconds integer not null
);

create table retailers (
  id uuid primary key,
  name text not null,
  status text not null default 'active',
  address text not null,
  location geography(point) not null
);

create table api_keys (
  key_hash text primary key,
  retailer_id uuid not null references retailers,
  revoked_at timestamptz
);

create table drivers (
  id uuid primary key,
  name text not null,
  phone text not null,
  status text not null check (status in ('off_duty', 'free', 'busy')),
  serves_standard boolean not null,
  serves_priority boolean not null,
  serves_scheduled boolean not null,
  location geography(point) not null,
  updated_at timestamptz not null default now()
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

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
  status text not null,
  delivery_tier text not null,
  delivery_fee_cents integer not null,
  driver_payout_cents integer not null,
  payment_status text not null,
  charge_id text,
  sms_status text not null,
  tracking_token text not null unique,
  pickup_address text not null,
  pickup_location geography(point) not null,
  created_at timestamptz not null default now(),
  assigned_at timestamptz,
  expires_at timestamptz not null
);
create index orders_waiting on orders (created_at) where status = 'pending_dispatch';
create index orders_of_retailer on orders (retailer_id, created_at);

create table order_events (
  id bigint generated always as identity primary key,
  order_id uuid not null,
  type text not null,
  at timestamptz not null default now(),
  data jsonb
);
create index order_events_of_order on order_events (order_id);
`;

/** A tree of free drivers for each tier, made when the drivers are there, which is quicker. */
export const PLAIN_DRIVER_INDEXES = ['standard', 'priority', 'scheduled'].map(
  (tier) =>
    `create index drivers_free_${tier} on drivers using gist (location) where status = 'free' and serves_${tier}`,
);
