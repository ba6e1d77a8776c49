-- Of a job that was given up: what the vendor said, for the operator alone, and when the operator had it tried again or
-- dropped it.
alter table outbox add column failure_says text, add column settled_at timestamptz;

-- Jobs that were given up and need a person: not those that were tried again or dropped, not a charge that was paid
-- since, that is tried again by itself or that an ended order does not owe, and not a refund that was made.
create function failed_jobs() returns setof outbox language sql stable as $$
  select b.* from outbox b
  where b.failure_code is not null and b.settled_at is null
    -- Of these queues alone the order is looked up, by its key.
    and not (b.queue in ('charge', 'refund') and exists (
      select from orders s where s.id = b.order_id
        and (b.queue = 'charge' and (s.payment_status <> 'failed' or s.status in ('cancelled', 'expired'))
          or b.queue = 'refund' and s.payment_status = 'refunded')))
    and not (b.queue = 'charge' and exists (select from charge_retries c where c.order_id = b.order_id))
$$;

-- Otherwise as in 0035.
create or replace function count_jobs(lease_seconds integer)
returns table (queue text, owed integer, oldest_run_at timestamptz, failed integer)
language sql stable set enable_seqscan = off as $$
  select coalesce(o.queue, g.queue), coalesce(o.n, 0)::integer, o.oldest, coalesce(g.n, 0)::integer
  from (
    select b.queue, count(*) as n, min(b.run_at) as oldest from outbox b
    where b.done_at is null and b.lease_until <= now() + make_interval(secs => lease_seconds) and b.run_at <= now()
    group by b.queue
  ) o full join (
    select f.queue, count(*) as n from failed_jobs() f group by f.queue
  ) g on g.queue = o.queue
$$;

-- A refund that the operator had tried again has another attempt, which is the one that is made. Otherwise as in 0014.
create or replace function write_refund() returns trigger language plpgsql as $$
begin
  insert into refunds (order_id, attempt, payment_intent_id, amount_cents, reason, status, stripe_refund_id, settled_at)
  values (new.id, coalesce((select max(f.attempt) from refunds f where f.order_id = new.id), 1), new.charge_id,
    new.delivery_fee_cents, new.status, 'refunded', new.refund_id, now())
  on conflict (order_id, attempt) do update
  set status = 'refunded', stripe_refund_id = excluded.stripe_refund_id, settled_at = excluded.settled_at
  where refunds.status <> 'refunded';
  return null;
end $$;
