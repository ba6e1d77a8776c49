-- Declined charges that are tried again at a later time. The order is `failed` until then. The build before writes and
-- reads none: it tries within seconds, and what it finds here stays until the next build takes it.
create table charge_retries (
  order_id uuid primary key,
  due_at timestamptz not null
);
create index charge_retries_due on charge_retries (due_at);

-- When Stripe first repeated a failure under the key of an attempt, instead of its result.
alter table payments add column failure_repeated_at timestamptz;
