-- A file of its own, so that no lock on `orders` is held while `webhooks` is waited for.
create index webhooks_disabled on webhooks (disabled_at) where disabled_at is not null;
