-- A charge that was paid after its job was given up, or a refund that was made, counts as failed no more. Otherwise
-- as in 0035.
create or replace function count_jobs(lease_seconds integer)
returns table (queue text, owed integer, oldest_run_at timestamptz, failed integer)
language sql stable set enable_seqscan = off as $$
  select coalesce(o.queue, g.queue), coalesce(o.n, 0)::integer, o.oldest, coalesce(g.n, 0)::integer
  from (
    select b.queue, count(*) as n, min(b.run_at) as oldest from outbox b
    where b.done_at is null and b.lease_until <= now() + make_interval(secs => lease_seconds) and b.run_at <= now()
    group by b.queue
  ) o full join (
    select b.queue, count(*) as n from outbox b
    where b.failure_code is not null and not exists (
      select from orders s where s.id = b.order_id
        and (b.queue = 'charge' and s.payment_status <> 'failed' or b.queue = 'refund' and s.payment_status = 'refunded'))
    group by b.queue
  ) g on g.queue = o.queue
$$;
