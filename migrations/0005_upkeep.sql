-- What is deleted by age, and what is counted, is found without reading the whole table.

create index outbox_done on outbox (done_at) where done_at is not null;
create index outbox_given_up on outbox (queue) where failure_code is not null;
create index driver_actions_by_age on driver_actions (received_at);
