-- What a scrape of the metrics counts, and what the sweeper deletes, is found without reading what has ended.

-- The jobs of each queue that are due, with the oldest, and those that were given up. Without sequential scans: what is
-- open may have been half of the table when it was looked at last, and be a thousandth of it now. A row that is due is
-- leased for `lease_seconds` at most, so rows of a later time are left out by the index.
create function count_jobs(lease_seconds integer)
returns table (queue text, owed integer, oldest_run_at timestamptz, failed integer)
language sql stable set enable_seqscan = off as $$
  select coalesce(o.queue, g.queue), coalesce(o.n, 0)::integer, o.oldest, coalesce(g.n, 0)::integer
  from (
    select b.queue, count(*) as n, min(b.run_at) as oldest from outbox b
    where b.done_at is null and b.lease_until <= now() + make_interval(secs => lease_seconds) and b.run_at <= now()
    group by b.queue
  ) o full join (
    select b.queue, count(*) as n from outbox b where b.failure_code is not null group by b.queue
  ) g on g.queue = o.queue
$$;

-- By which the counts of past days are deleted. A new row is as rare as a phone's first text of a day, and counting on
-- changes no indexed column.
create index text_counts_by_day on text_counts (day);
