-- When an order is to be delivered, and what a driver can carry. A build before names none of these columns:
-- it adds orders that are ready at once, and gives one only to a driver whom it believes to carry nothing.
alter table drivers
  add column capacity smallint not null default 1 check (capacity between 1 and 20),
  add column on_duty_until timestamptz;

alter table tiers
  add column promise_minutes integer not null default 180 check (promise_minutes between 20 and 10080);
update tiers set promise_minutes = 60 where id = 'priority';
update tiers set promise_minutes = 480 where id = 'scheduled';

-- Null in `ready_at` and `deliver_by` stands for an order of a build before: ready when it was created, and
-- promised by its tier. `dispatch_from` is null where the order may be given to a driver at once.
alter table orders
  add column ready_at timestamptz,
  add column deliver_after timestamptz,
  add column deliver_by timestamptz,
  add column size text not null default 'small' check (size in ('small', 'medium', 'large')),
  add column dispatch_from timestamptz,
  add column driver_slot smallint not null default 0 check (driver_slot between 0 and 19);

-- The arbiter of assignments: an active order takes a slot of its driver, below the driver's capacity.
create unique index orders_driver_slot on orders (driver_id, driver_slot)
  where status in ('driver_assigned', 'picked_up', 'undeliverable');
drop index orders_one_active_per_driver;

-- An order that nobody carries has no slot. A build before does not name the column: it would give a driver of
-- one parcel an order in a slot that another driver left on it.
create function forget_driver_slot() returns trigger language plpgsql as $$
begin
  new.driver_slot := 0;
  return new;
end $$;
create trigger orders_forget_driver_slot before update on orders
  for each row when (new.driver_id is null and new.driver_slot <> 0) execute function forget_driver_slot();
