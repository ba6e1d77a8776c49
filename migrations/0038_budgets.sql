-- What is bounded is counted by the statement that writes it, after it waited for whoever writes the same. The build
-- before counts first, and goes on doing so.

-- Seconds until a driver may give back another order; 0 where they may. After `per_hour` releases within `pause` seconds
-- they wait for `pause` from the last one, and twice as long for each further `per_hour` of them within `counted` seconds.
-- At most `counted`: then none of them counts any more.
create function release_pause(driver uuid, per_hour integer, pause integer, counted integer) returns integer
language sql volatile as $$
  select case when nth is null or last - nth >= make_interval(secs => pause) then 0
    else greatest(0, ceil(least(pause * 2 ^ least(n / per_hour - 1, 30), counted)
      - greatest(0, extract(epoch from clock_timestamp() - last))))::int end
  from (
    select count(*)::int as n, max(received_at) as last,
      (array_agg(received_at order by received_at desc))[per_hour] as nth
    from driver_actions
    where driver_id = driver and type = 'released'
      and received_at > clock_timestamp() - make_interval(secs => counted)
  ) releases
$$;

-- The same for a statement that is about to give one back. It holds the driver's row until its commit, so the next one
-- counts what it did: the count is a statement of its own, which sees what was committed during the wait for the row.
create function lock_release_pause(driver uuid, per_hour integer, pause integer, counted integer) returns integer
language plpgsql volatile as $$
begin
  perform from drivers where id = driver for no key update;
  return release_pause(driver, per_hour, pause, counted);
end $$;

-- How often the notes for an order's dropoff were changed. Volatile, so that an update that waited for the order's row
-- counts again what was committed meanwhile.
create function dropoff_changes_of(changed_order uuid) returns integer language sql volatile as $$
  select count(*)::int from order_events e where e.order_id = changed_order and e.type = 'dropoff_changed'
$$;

-- Has a driver rung on a phone: of more than `most` the newest stay. It holds the driver's row until its commit.
create function add_push_subscription(phone text, driver uuid, key text, secret text, most integer) returns void
language plpgsql volatile as $$
begin
  perform from drivers where id = driver for no key update;
  insert into push_subscriptions (endpoint, driver_id, p256dh, auth) values (phone, driver, key, secret)
  on conflict (endpoint) do update
  set driver_id = excluded.driver_id, p256dh = excluded.p256dh, auth = excluded.auth, created_at = clock_timestamp();
  delete from push_subscriptions where endpoint in (
    select endpoint from push_subscriptions where driver_id = driver and endpoint <> phone
    order by created_at desc offset most - 1);
end $$;
