-- When the last send of a text was counted: one with an unknown outcome is looked up by the time since, whoever does it.
alter table messages add column counted_at timestamptz;
