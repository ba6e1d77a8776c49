-- Deliveries that wait behind a receiver which fails, or takes no more at once, are parked: their jobs are in no queue,
-- and nothing touches them until the receiver takes one. `run_at` and `lease_until` of a parked job lie a day ahead, so
-- every version leaves it alone until then, and takes it then; it is no backlog of the system's.
--
-- Both columns are added without a rewrite; a later file makes their index.
alter table outbox
  -- The webhook behind which it waits; null for a job that is not parked.
  add column parked_for uuid,
  -- Since when it could have been tried by its own schedule: the order in which parked jobs are released.
  add column parked_at timestamptz;

-- Whoever gives a parked job another time has released it: the version before does so where a webhook is enabled, and
-- names neither column.
create function unpark_job() returns trigger language plpgsql as $$
begin
  new.parked_for := null;
  new.parked_at := null;
  return new;
end $$;
create trigger outbox_unparked before update of run_at on outbox
  for each row when (old.parked_for is not null and new.parked_at is not distinct from old.parked_at)
  execute function unpark_job();
