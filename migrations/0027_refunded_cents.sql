-- What Stripe gave back of an order's fee, by what is committed when it is asked. A statement that waited for the
-- order's row has a snapshot from before the wait, in which a refund that failed meanwhile still counts.
create function stripe_refunded_cents(about uuid) returns bigint language plpgsql volatile as $$
begin
  return (select coalesce(sum(amount_cents), 0) from stripe_refunds f
          where f.order_id = about and f.status <> 'failed');
end $$;
