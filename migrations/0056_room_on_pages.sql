-- An order, its charge and its text are changed within a second of their insert. A new row that finds no room on its page
-- costs a lock's record besides, and those of charges and texts an entry in each index, since no changed column is
-- indexed. Only pages from here on have the room; none is rewritten.
alter table payments set (fillfactor = 50);
alter table messages set (fillfactor = 50);
alter table orders set (fillfactor = 60);
