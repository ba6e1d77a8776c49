-- What a driver drives, for the store. A build before does not name the column and adds drivers with a car.
alter table drivers add column vehicle text not null default 'car' check (vehicle in ('bike', 'car', 'van'));
