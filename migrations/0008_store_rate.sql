-- How many orders a store may create a second: null where what holds for all stores holds for it, 0 for no bound.
alter table retailers add column orders_per_second integer check (orders_per_second >= 0);
