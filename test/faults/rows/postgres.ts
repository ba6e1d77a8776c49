import { underLoad } from '../row.ts';

export const backends = underLoad({
  name: 'postgres-backends',
  what: "one of the service's connections to Postgres is terminated",
  count: 1_000,
  async inject({ sql }, random) {
    await sql`
      select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'sameday%'
      order by md5(pid::text || ${String(random())}) limit 1`;
  },
});
