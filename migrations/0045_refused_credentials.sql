-- Vendors that refuse the credentials of this service, since when. A worker hears it; API processes and the command
-- line show it. A version before neither reads nor writes it.
create table refused_credentials (vendor text primary key, since timestamptz not null default now());
