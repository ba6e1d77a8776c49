-- How many texts went to a phone (by its hash) and for a store on a day (UTC), so that both have a bound.
-- Kept for two days; one row is updated by every text of a store.
create table text_counts (
  about text collate "C" not null,
  day date not null,
  texts integer not null,
  primary key (about, day)
) with (fillfactor = 50);
