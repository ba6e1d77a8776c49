import { chmodSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { hashSecret } from '../../src/domain/ids.ts';
import { startEmbeddedPostgres } from '../../src/sandbox/postgres.ts';
import { connect, type Sql } from '../../src/store/connect.ts';
import { migrateDatabase } from '../../src/store/migrate.ts';
import { freshRedis } from '../../test/support/redis.ts';
import { newDataDir, startBuiltService } from '../../test/support/service.ts';
import { copyRows, type OrderWorld, STORE_ADDRESS } from './order-world.ts';
import { startPart } from './part.ts';
import type { OrderStack } from './peer-stack.ts';

const MIGRATIONS = fileURLToPath(new URL('../../migrations/', import.meta.url));
const STATEMENT_MS = 120_000;

/**
 * The built service, its API apart from a worker whose handlers only write the row, on its embedded Postgres and a Redis of
 * its own. Undefined where Redis is not at hand.
 */
export async function startOurStack(world: OrderWorld): Promise<OrderStack | undefined> {
  const redis = await freshRedis();
  if (redis === undefined) return undefined;
  const folder = newDataDir();
  // Root's Postgres runs as another user, which must get in.
  chmodSync(folder.dataDir, 0o755);
  const { dataDir } = folder;
  const server = await startEmbeddedPostgres({ dataDir, log: () => undefined });
  const { folder: cluster } = JSON.parse(readFileSync(join(dataDir, 'postgres.json'), 'utf8')) as { folder: string };
  await migrateDatabase({ url: server.url, dir: MIGRATIONS });
  const bounds = { statementTimeoutMs: STATEMENT_MS, deadlineMs: STATEMENT_MS };
  const sql = connect({ url: server.url, applicationName: 'bench', max: 2, ...bounds });
  await fill(sql, world);
  const connection = new Redis(redis.url);
  const env = { DATABASE_URL: server.url, REDIS_URL: redis.url };
  const parts: { stop(): Promise<unknown> }[] = [];
  const halt = async (): Promise<void> => {
    await Promise.all(parts.splice(0).map((part) => part.stop()));
  };
  const [version] = await sql`select current_setting('server_version') as version`;
  return {
    name: 'ours',
    versions: { postgres: version?.version },
    sql,
    async start(worker) {
      await halt();
      await reset(sql);
      await connection.flushdb();
      const settings = { DATA_DIR: dataDir, ROLES: 'api', PAYMENT_WAIT_MS: '0', LOG_LEVEL: 'warn' };
      const api = await startBuiltService({ ...env, ...settings });
      parts.push(api);
      if (worker) parts.push(await startPart('bench/peers/row-worker.ts', env));
      return api.url;
    },
    halt,
    async backlog() {
      const [row] = await sql`select count(*)::int as owed from outbox where done_at is null and queue <> 'redispatch'`;
      return row?.owed as number;
    },
    async close() {
      await halt();
      connection.disconnect();
      await sql.end({ timeout: 5 });
      await Promise.all([server.stop(), redis.stop()]);
      rmSync(resolve(dataDir, cluster), { recursive: true, force: true });
      folder.remove();
    },
  };
}

async function fill(sql: Sql, { stores, drivers }: OrderWorld): Promise<void> {
  await copyRows(
    sql,
    'retailers (id, name, address, lat, lng)',
    stores.map(({ id, point }) => [id, 'Bench store', STORE_ADDRESS, point.lat, point.lng]),
  );
  await copyRows(
    sql,
    'api_keys (id, retailer_id, key_hash)',
    stores.map(({ id, apiKey }) => [id, id, hashSecret(apiKey)]),
  );
  await copyRows(
    sql,
    'drivers (id, name, phone, token_hash, tiers, on_duty)',
    drivers.map(({ id, tierIds }) => [id, 'Bench driver', '+14155550177', hashSecret(id), `{${tierIds}}`, 'true']),
  );
  // Nobody moves here, so the positions stay fresh for a day by their own clock.
  const until = new Date(Date.now() + 86_400_000).toISOString();
  await copyRows(
    sql,
    'driver_positions (driver_id, lat, lng, captured_at)',
    drivers.map(({ id, point }) => [id, point.lat, point.lng, until]),
  );
}

async function reset(sql: Sql): Promise<void> {
  await sql`truncate orders, order_events, customers, dropoff_addresses, payments, messages, outbox`;
  await sql`vacuum analyze`;
  await sql`checkpoint`;
}
