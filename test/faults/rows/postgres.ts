import { CUTS, type DatabaseProxy, openProxy } from '../proxy.ts';
import { any, type Row, underLoad } from '../row.ts';

/** The README's promise. */
const READY_AGAIN_MS = 3_000;
const STOPPED_MS = 5_000;

export const backends = underLoad({
  name: 'postgres-backends',
  what: "one of the service's connections to Postgres is terminated",
  count: 1_000,
  pauseMs: 50,
  withinMs: READY_AGAIN_MS,
  async inject({ sql }, random) {
    await sql`
      select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'sameday%'
      order by md5(pid::text || ${String(random())}) limit 1`;
  },
});

export const postgresRestart = underLoad({
  name: 'postgres-restart',
  what: 'Postgres is restarted, every other time as after a crash',
  count: 30,
  withinMs: READY_AGAIN_MS,
  inject: ({ postgres }, random) => postgres.restart(random() < 0.5 ? 'fast' : 'immediate'),
});

export const postgresStopped = underLoad({
  name: 'postgres-stopped',
  what: 'all processes of Postgres stand still for 5 s',
  count: 20,
  // Without this the service is up for half a second in six, which a client that asks each second can miss for
  // its whole minute.
  pauseMs: 2_000,
  withinMs: READY_AGAIN_MS,
  inject: ({ postgres }) => postgres.pause(STOPPED_MS),
});

/** The application name of the connections that commit new orders. */
const COMMITS = 'sameday commits';
const LATEST_MS = 2_000;

export const postgresCut: Row = {
  name: 'postgres-cut',
  what: 'the connection to Postgres is cut after the creating statement was sent, before its reply',
  count: 300,
  async run(count, random, scale) {
    let proxy: (DatabaseProxy & { readonly url: string }) | undefined;
    const way = async (url: string): Promise<string> => {
      proxy = await openProxy(url, COMMITS);
      return proxy.url;
    };
    const row = underLoad({
      ...postgresCut,
      sizes: { way },
      withinMs: READY_AGAIN_MS,
      inject: async () => proxy?.cutNext(any(CUTS, random), random() * LATEST_MS),
    });
    try {
      return await row.run(count, random, scale);
    } finally {
      proxy?.close();
    }
  },
};
