-- The sending number to which a phone is opted out at Twilio, which knows the STOP of no other number. It is null in
-- rows of before and of another source, which hold for every number.
alter table text_opt_outs add column sender text;
-- When a vendor refused the credentials, or carriers the number, last.
alter table refused_credentials add column refused_at timestamptz not null default now();
