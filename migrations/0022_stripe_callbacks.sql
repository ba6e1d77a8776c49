-- What Stripe tells of by itself: cards that stores set, refunds made in its dashboard, disputes.

-- When the card was set, by Stripe's clock where a store did it by a link. An older callback changes nothing.
alter table retailers add column card_set_at timestamptz;

-- The refunds that Stripe told of, whoever made them. `refunds` holds what the service itself is to give back.
create table stripe_refunds (
  refund_id text primary key,
  order_id uuid not null,
  amount_cents integer not null check (amount_cents >= 0),
  -- A status is never followed by one before it, in whatever order callbacks come.
  status text not null check (status in ('pending', 'succeeded', 'failed')),
  noted_at timestamptz not null default now()
);
create index stripe_refunds_of_order on stripe_refunds (order_id);

create table disputes (
  dispute_id text primary key,
  order_id uuid not null,
  amount_cents integer not null check (amount_cents >= 0),
  reason text not null,
  status text not null check (status in ('open', 'won', 'lost')),
  noted_at timestamptz not null default now(),
  closed_at timestamptz
);
create index disputes_of_order on disputes (order_id);

-- Whether a dispute holds a payout that was owed.
alter table payouts add column was_owed boolean not null default false;

-- Triggers, because the statement that ends an order and the one that records a dispute may have waited for each
-- other, and would not see what the other wrote. The functions' queries do. Each statement holds the order's row.
create function hold_payout_of_disputed() returns trigger language plpgsql as $$
begin
  if new.status in ('held', 'owed')
      and exists (select from disputes d where d.order_id = new.order_id and d.status <> 'won') then
    new.was_owed := new.status = 'owed';
    new.status := 'held';
    new.reasons := array_append(new.reasons, 'disputed');
  end if;
  return new;
end $$;
create trigger payouts_disputed before insert on payouts for each row execute function hold_payout_of_disputed();

create function hold_disputed_payout() returns trigger language plpgsql as $$
begin
  update payouts set was_owed = status = 'owed', status = 'held',
    reasons = array_append(array_remove(reasons, 'disputed'), 'disputed')
  where order_id = new.order_id and (status = 'owed' or (status = 'held' and not 'disputed' = any(reasons)));
  return null;
end $$;
create trigger disputes_opened after insert on disputes for each row
  when (new.status <> 'won') execute function hold_disputed_payout();

create function release_disputed_payout() returns trigger language plpgsql as $$
begin
  update payouts set reasons = array_remove(reasons, 'disputed'), was_owed = false,
    status = case when was_owed or reasons = '{disputed}' then 'owed' else status end,
    decided_at = case when was_owed or reasons = '{disputed}' then now() else decided_at end
  where order_id = new.order_id and status = 'held' and 'disputed' = any(reasons)
    and not exists (select from disputes d where d.order_id = new.order_id and d.status <> 'won');
  return null;
end $$;
create trigger disputes_won after update of status on disputes for each row
  when (new.status = 'won' and old.status <> 'won') execute function release_disputed_payout();
