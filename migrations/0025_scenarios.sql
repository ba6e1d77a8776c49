-- The bad day that a store asked for in the sandbox; null everywhere else. See src/domain/scenario.ts.
alter table orders add column scenario jsonb;
