-- Where an idle driver was last asked to wait, a row for each driver who ever was: the pause before they are asked
-- again is checked in it. It holds a store's pickup and name alone, and may be lost with a crash.
create unlogged table driver_waits (
  driver_id uuid primary key,
  lat double precision not null,
  lng double precision not null,
  name text,
  asked_at timestamptz not null default now(),
  ended_at timestamptz,
  epoch integer not null
);
