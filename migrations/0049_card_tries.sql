-- The tries of a card that its network may count. A first attempt gets its entry with a decline, so that one that is
-- paid writes none: none of its columns here changes.
create index payments_tries_of_card on payments (stripe_payment_method_id, first_sent_at)
  where attempt > 1 or failure_code is not null;
