-- Of the columns of 0032. A file of its own: it reads all of `outbox` once, under a lock with which readers go on.
create index outbox_parked on outbox (parked_for, parked_at, id) where parked_for is not null and done_at is null;
