-- A dispute may change after it was closed: an appeal, or a bank that decides anew. `told_at` is the time of the newest
-- event of it that was taken; null in rows of the version before, which takes the first closing for the last.
alter table disputes add column told_at timestamptz;
create trigger disputes_reopened after update of status on disputes for each row
  when (new.status <> 'won' and old.status = 'won') execute function hold_disputed_payout();
