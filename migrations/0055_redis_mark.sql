-- The newest mark that a process has seen Redis keep: the count under the key was at least this. A Redis with less has
-- lost its last writes, also where every process was started again since. A version before neither reads nor writes it.
create table redis_mark (
  only_one boolean primary key default true check (only_one),
  key text not null,
  count bigint not null
);
-- No process has such a key, of which nothing is expected.
insert into redis_mark (key, count) values ('sameday:write-marks:none', 0);
