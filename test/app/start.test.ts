import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import * as sandbox from '../../src/app/sandbox.ts';
import { startService } from '../../src/app/start.ts';
import { parseConfig } from '../../src/config.ts';
import { hashSecret, newId } from '../../src/domain/ids.ts';
import * as queues from '../../src/queues/queues.ts';
import { Closers } from '../../src/runtime/closers.ts';
import * as lock from '../../src/runtime/database.ts';
import { QUEUES } from '../../src/store/outbox-rows.ts';
import { createLogger } from '../../src/telemetry.ts';
import { openTransport } from '../../src/transport/transport.ts';
import { closedAfterTest } from '../harness/closed-after-test.ts';
import { freshDatabase } from '../harness/database.ts';
import { newDataDir } from '../harness/service.ts';
import { storeOf } from '../harness/store.ts';

/** Starts services on a database of the running test and a folder of its own, with these settings. */
async function world(settings: Record<string, string>, database: Parameters<typeof freshDatabase>[0] = {}) {
  const { dataDir, remove } = newDataDir();
  const { url, sql, drop } = await freshDatabase(database);
  onTestFinished(async () => {
    await drop();
    remove();
  });
  const own = { SANDBOX: '1', PORT: '0', SIMULATED_DRIVERS: '0', LOG_LEVEL: 'silent', ...settings };
  const start = (changes: Record<string, string> = {}, ended: (reason: string) => void = () => {}) =>
    startService(parseConfig({ ...own, ...changes, DATABASE_URL: url, DATA_DIR: dataDir }), () => {}, ended);
  return { dataDir, sql, start, url };
}

test('a service is ready from the end of its start, with the file of the sandbox’s secrets, to its notice of a stop', async () => {
  const { dataDir, start } = await world({ SIMULATED_DRIVERS: '1', STOP_NOTICE_SECONDS: '3' });
  const seen: unknown[] = [];
  const look = async (url: string) => {
    const isThere = existsSync(join(dataDir, 'sandbox.json'));
    const [readyz, healthz] = await Promise.all(['/readyz', '/healthz'].map((path) => fetch(url + path)));
    seen.push({ readyz: readyz?.status, healthz: healthz?.status, isThere });
  };
  const { openSandbox } = sandbox;
  const opens = vi.spyOn(sandbox, 'openSandbox').mockImplementation(async (own, db, url, ...rest) => {
    await look(url);
    return openSandbox(own, db, url, ...rest);
  });
  onTestFinished(() => opens.mockRestore());
  const service = await start();
  onTestFinished(() => service.close());
  await look(service.url ?? '');
  const closed = service.close();
  await look(service.url ?? '');
  await closed;
  await expect(look(service.url ?? '')).rejects.toThrow();
  expect(seen).toEqual([
    { readyz: 503, healthz: 200, isThere: false },
    { readyz: 200, healthz: 200, isThere: true },
    // Nothing is refused yet.
    { readyz: 503, healthz: 200, isThere: true },
  ]);
});

test('a process whose API lock another one took refuses all at once, and stops without the notice', async () => {
  const { start } = await world({ STOP_NOTICE_SECONDS: '60' });
  const ended = vi.fn();
  const holds = vi.spyOn(lock, 'holdApiLock');
  onTestFinished(() => holds.mockRestore());
  const service = await start({}, ended);
  onTestFinished(() => service.close());
  const post = () => fetch(`${service.url}/orders/create`, { method: 'POST' });
  expect((await post()).status).toBe(401);
  const [, , , lose] = holds.mock.lastCall ?? [];
  lose?.();
  expect(ended).toHaveBeenCalledExactlyOnceWith('another API process took over');
  const refused = await post();
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
  // Not after the notice of a minute.
  await service.close();
});

test('a process of both roles closes its workers side by side, each with the whole time for its jobs', async () => {
  const { start } = await world({});
  const { startWorker } = queues;
  const started: string[] = [];
  const closing: string[] = [];
  const closed: string[][] = [];
  const starts = vi.spyOn(queues, 'startWorker').mockImplementation((name, ...rest) => {
    started.push(name);
    const worker = startWorker(name, ...rest);
    return {
      async close() {
        closing.push(name);
        await worker.close();
        closed.push([...closing]);
      },
    };
  });
  onTestFinished(() => starts.mockRestore());
  await (await start()).close();
  expect([...started].sort()).toEqual([...QUEUES].sort());
  expect(closed).toEqual(QUEUES.map(() => started));
});

test('a port that is taken is told before the database is changed', async () => {
  const other = closedAfterTest(openTransport());
  const port = other.listen('127.0.0.1', 0);
  const { start, sql } = await world({ PORT: String(port) }, { migrated: false });
  await expect(start()).rejects.toThrow(`Cannot listen on 127.0.0.1:${port}`);
  const tables = await sql`select from pg_tables where schemaname = 'public'`;
  expect(tables).toHaveLength(0);
});

test('an API process beside another one without Redis does not start, and leaves the database unmigrated', async () => {
  const { start, sql, url } = await world({}, { migrated: false });
  const logger = createLogger('silent');
  const first = new Closers(logger);
  onTestFinished(() => first.closeAll());
  await lock.holdApiLock({ url, processId: 'first', hasRedis: false }, logger, first, () => {});
  await expect(start()).rejects.toThrow('Another API process runs on this database');
  expect(await sql`select from pg_tables where schemaname = 'public'`).toHaveLength(0);
});

test('simulated drivers do not start on a database whose stores no sandbox made, which stays unmigrated', async () => {
  const { start, sql } = await world({ SIMULATED_DRIVERS: '20' });
  await storeOf(sql, 'test').createRetailer(
    {
      id: newId(),
      name: 'Corner Shop',
      address: '1 Main St, Reno, NV 89501',
      point: { lat: 39.52, lng: -119.81 },
      stripeCustomerId: null,
      stripePaymentMethodId: null,
    },
    { id: newId(), keyHash: hashSecret('key') },
  );
  const newest = () => sql`select id, name, sha256 from schema_migrations order by id desc limit 1`;
  const [{ id, name, sha256 }] = (await newest()) as unknown as [{ id: number; name: string; sha256: string }];
  await sql`delete from schema_migrations where id = ${id}`;
  await expect(start()).rejects.toThrow('The database has stores that no sandbox made');
  expect((await newest())[0]?.id).toBeLessThan(id);
  await sql`insert into schema_migrations (id, name, sha256) values (${id}, ${name}, ${sha256})`;
  expect(await sql`select from drivers`).toHaveLength(0);
  await (await start({ SIMULATED_DRIVERS: '0' })).close();
  await (await start({ SIMULATED_DRIVERS: '1' })).close();
});
