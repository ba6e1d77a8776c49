-- The oldest build that may start on a database with this migration, by the number of the build's newest migration. Each
-- later file may name it by a line like the next one; without it, every build may start that knows this rule. Builds
-- before 0054 start on no newer database.
-- oldest: 0054
alter table schema_migrations add column oldest integer not null default 54;
