import { Redis } from 'ioredis';
import postgres, { type Sql } from 'postgres';
import { hashSecret } from '../../src/domain/ids.ts';
import type { Point } from '../../src/geo/point.ts';
import { copyRows, type OrderWorld, STORE_ADDRESS } from '../../test/harness/order-world.ts';
import { findPostgis, type Postgis, startPostgis } from '../../test/harness/postgis.ts';
import { type FreshRedis, freshRedis } from '../../test/harness/redis.ts';
import { PLAIN_DRIVER_INDEXES, PLAIN_SCHEMA } from '../peers/plain-schema.ts';
import { type Part, startPart } from './part.ts';
import type { OrderStack } from './peer-rounds.ts';
import { keeper, type Stoppable, stopAll } from './stop-all.ts';

type Shape = { readonly oneStatement: boolean };
export type PlainStack = OrderStack & { use(shape: Shape): void; start(withWorker?: boolean): Promise<string> };

/**
 * The plain service (bench/peers/) with API and worker apart, on its own PostGIS and Redis; undefined where
 * one of them is not available.
 */
export async function startPlainStack(world: OrderWorld, signal?: AbortSignal): Promise<PlainStack | undefined> {
  const redis = findPostgis() === undefined ? undefined : await freshRedis();
  if (!redis) return undefined;
  const opened: Stoppable[] = [redis];
  const keep = keeper(opened, signal);
  try {
    const server = keep((await startPostgis()) as Postgis);
    return { ...(await plainStack(world, server, redis, keep)), close: () => stopAll(opened) };
  } catch (error) {
    await stopAll(opened).catch(() => undefined);
    throw error;
  }
}

async function plainStack(world: OrderWorld, server: Postgis, redis: FreshRedis, keep: ReturnType<typeof keeper>) {
  const sql = postgres(server.url, { max: 2, onnotice: () => undefined });
  keep({ stop: () => sql.end({ timeout: 5 }) });
  const connection = new Redis(redis.url, { maxRetriesPerRequest: null });
  // Redis may be stopped first.
  connection.on('error', () => undefined);
  keep({ stop: async () => connection.disconnect() });
  const env = { DATABASE_URL: server.url, REDIS_URL: redis.url };
  let shape: Shape = { oneStatement: false };
  const parts: Part[] = [];
  const halt = (): Promise<void> => stopAll(parts);
  keep({ stop: halt });
  await fill(sql, world);
  return {
    versions: { postgis: `${server.versions.postgis} on Postgres ${server.versions.postgres}` },
    sql,
    use(wanted: Shape) {
      shape = wanted;
    },
    async start(withWorker = false) {
      await halt();
      await reset(sql);
      await connection.flushdb();
      const api = await startPart('bench/peers/plain-service.ts', {
        ...env,
        ONE_STATEMENT: shape.oneStatement ? '1' : '0',
      });
      parts.push(api);
      if (withWorker) parts.push(await startPart('bench/peers/plain-worker.ts', env));
      return api.said.replace('ready at ', '');
    },
    halt,
  };
}

const placeOf = ({ lat, lng }: Point): string => `SRID=4326;POINT(${lng} ${lat})`;

async function fill(sql: Sql, { stores, drivers }: OrderWorld): Promise<void> {
  await sql.unsafe(PLAIN_SCHEMA);
  // As in the service's own tables.
  await sql`insert into tiers values ('standard', 799, 550, 8000, 86400), ('priority', 1299, 950, 12000, 86400),
    ('scheduled', 599, 450, 8000, 86400)`;
  await copyRows(
    sql,
    'retailers (id, name, address, location)',
    stores.map(({ id, point }) => [id, 'Bench store', STORE_ADDRESS, placeOf(point)]),
  );
  await copyRows(
    sql,
    'api_keys (key_hash, retailer_id)',
    stores.map(({ id, apiKey }) => [hashSecret(apiKey), id]),
  );
  const rows = drivers.map(({ id, point, tierIds }) => {
    const serves = (['standard', 'priority', 'scheduled'] as const).map((tierId) => String(tierIds.includes(tierId)));
    return [id, 'Bench driver', '+14155550177', 'free', ...serves, placeOf(point)];
  });
  await copyRows(
    sql,
    'drivers (id, name, phone, status, serves_standard, serves_priority, serves_scheduled, location)',
    rows,
  );
  for (const index of PLAIN_DRIVER_INDEXES) await sql.unsafe(index);
}

/**
 * Removes every order, frees every driver, and leaves nothing in tables and trees that would slow down the
 * next round.
 */
async function reset(sql: Sql): Promise<void> {
  await sql`truncate orders, order_events, customers, dropoff_addresses`;
  const freed = await sql`update drivers set status = 'free' where status <> 'free'`;
  if (freed.count > 0) {
    await sql`vacuum full drivers`;
  }
  await sql`vacuum analyze`;
  await sql`checkpoint`;
}
