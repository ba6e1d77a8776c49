-- A file of its own: it waits for the strongest lock on `orders`, and would wait for itself behind the statements that
-- wait for the lock under which an index is made.
drop index orders_charge_failed;
