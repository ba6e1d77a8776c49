-- What became of a text after Twilio took it, texts beside the one with the tracking link, and who wants none.

-- Two more statuses of the tracking text. The build before reads the column as any text, and changes only
-- 'queued'. `not valid` saves a read of the whole table: the constraint of before was stricter.
alter table orders drop constraint orders_sms_status_check;
alter table orders add constraint orders_sms_status_check
  check (sms_status in ('none', 'queued', 'sent', 'delivered', 'undelivered', 'failed')) not valid;

-- The optional texts that a store's customers get, by kind; none by default.
alter table retailers add column text_kinds text[] not null default '{}'
  check (text_kinds <@ '{on_the_way,delivered,not_delivered}'::text[]);

-- One row an optional text, written by the statement that changed the order. The tracking text stays in
-- `messages`, whose primary key the build before relies on.
create table texts (
  order_id uuid not null,
  kind text not null check (kind in ('on_the_way', 'delivered', 'not_delivered')),
  -- A part in the order and no phone, so that another phone of the same customer is no second recipient.
  recipient text not null default 'customer' check (recipient in ('customer')),
  -- The job that sends it.
  outbox_id bigint not null unique,
  status text not null default 'queued'
    check (status in ('queued', 'sending', 'sent', 'delivered', 'undelivered', 'failed')),
  -- As in `messages`.
  sends integer not null default 0,
  sid text,
  failure_code text,
  counted_at timestamptz,
  -- When a worker took it up first.
  opened_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (order_id, kind, recipient)
);

-- Phones that asked for no texts, or asked for them again, by the SHA-256 of the number in hex.
create table text_opt_outs (
  phone_hash text collate "C" primary key,
  opted_out boolean not null,
  source text not null check (source in ('reply', 'twilio', 'operator')),
  changed_at timestamptz not null default now(),
  -- Twilio's ids of the last messages that were heeded: one that comes again changes nothing.
  message_sids text[] not null default '{}'
);
