-- A tier has a largest distance from pickup to dropoff. An earlier build does not name the column and inserts
-- tiers with its default.
alter table tiers add column max_distance_meters integer not null default 40000
  check (max_distance_meters between 1 and 20100000);
update tiers set max_distance_meters = case id when 'priority' then 25000 when 'scheduled' then 60000 else 40000 end;
