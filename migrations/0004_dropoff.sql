-- Where an order goes as a point, how far the driver was from it at the handover, and whom the order went past.

-- With the address, so that both are erased together. `point_source` is null until somebody looked, 'unknown' where the
-- address was not found.
alter table dropoff_addresses
  add column lat double precision check (lat between -90 and 90),
  add column lng double precision check (lng between -180 and 180),
  add column accuracy_meters integer check (accuracy_meters > 0),
  add column point_source text check (point_source in ('geocoder', 'zip_centroid', 'unknown')),
  add constraint dropoff_point_whole check (
    num_nonnulls(lat, lng, accuracy_meters) = case when point_source in ('geocoder', 'zip_centroid') then 3 else 0 end);

alter table orders add column proof_distance_meters integer check (proof_distance_meters >= 0);

-- With a 'driver_assigned' event: who was considered and passed over, as 'id meters reason,id meters reason'. Written with
-- every order and read by hardly anybody, so it is not JSON, which costs several times as much to write. Apart from
-- `data`, which stores are shown.
alter table order_events add column considered text;

create function considered_as_json(considered text) returns jsonb language sql immutable strict as $$
  select jsonb_agg(jsonb_build_object('driver_id', split_part(one, ' ', 1),
    'distance_meters', nullif(split_part(one, ' ', 2), '')::int, 'reason', split_part(one, ' ', 3)) order by n)
  from string_to_table(considered, ',') with ordinality as t (one, n)
$$;
