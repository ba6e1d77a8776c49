-- Requests for an order without an Idempotency-Key, by what they say, from their commit until their reply was given to
-- the client: equal ones of other processes wait for that, and those that were left find the order that they made.
--
-- Mostly as empty as there are few requests at work, but written with every order: vacuumed long before a fifth is dead.
create table unheard_requests (
  fingerprint text collate "C" primary key,
  -- The process that answers it.
  origin text not null,
  order_id uuid not null,
  -- Orders whose reply never reached their client; the next equal requests get them, one after the other.
  abandoned uuid[] not null default '{}',
  at timestamptz not null default now()
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
