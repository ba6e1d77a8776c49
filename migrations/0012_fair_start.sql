-- Since when a waiting order counts as waiting among those of all stores, if later than created_at: fixed when
-- it begins to wait. The build before writes null and goes by created_at.
alter table orders add column fair_start timestamptz;
