-- The tries of a card that its network may count. A first attempt gets its entry with a decline, so that one that is
-- paid writes none: none of its columns here changes.
create index payments_tries_of_card on payments (stripe_payment_method_id, first_sent_at)
  where attempt > 1 or failure_code is not null;

-- Whether the charge of an order is being sent or was made. Volatile, so that it sees what was committed while its
-- statement waited for the lock of the order.
create function is_being_charged(which uuid) returns boolean language plpgsql volatile as $$
begin
  return exists (select from payments where order_id = which and status in ('sending', 'paid'));
end $$;
