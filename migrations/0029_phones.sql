-- What a driver's phone has beside its token: the tracker that reports positions behind another app, the link that
-- signs it in once, and where it is rung. A build before reads none of it.
alter table drivers add column tracker_hash text unique;

-- Processes hold the hashes of trackers as those of tokens, so the table tells them of a new one.
create function notify_tracker() returns trigger language plpgsql as $$
begin
  perform pg_notify('sameday', 'table:tracker:' || new.id);
  return null;
end $$;
create trigger drivers_tracker_changed after update on drivers
  for each row when (old.tracker_hash is distinct from new.tracker_hash) execute function notify_tracker();

-- The last sign-in link of each driver. `token_hash` is that of the token for which it was exchanged.
create table driver_sign_ins (
  driver_id uuid primary key,
  code_hash text not null unique,
  expires_at timestamptz not null,
  token_hash text
);

-- The one pair of keys with which the service signs its pushes (RFC 8292), both in base64url. With another pair every
-- phone would have to subscribe again.
create table push_keys (
  only_one boolean primary key default true check (only_one),
  public_key text not null,
  private_key text not null
);

create table push_subscriptions (
  endpoint text primary key check (length(endpoint) <= 2048),
  driver_id uuid not null,
  p256dh text not null check (length(p256dh) <= 100),
  auth text not null check (length(auth) <= 50),
  created_at timestamptz not null default now()
);
create index push_subscriptions_driver on push_subscriptions (driver_id, created_at);
