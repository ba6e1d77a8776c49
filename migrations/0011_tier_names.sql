-- A tier is a row: its name is any short word, not one of three. The three rows of the contract stay.
alter table tiers drop constraint tiers_id_check;
alter table tiers add constraint tiers_id_check check (id ~ '^[a-z][a-z0-9_]{0,31}$');
