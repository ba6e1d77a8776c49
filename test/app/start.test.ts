import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import * as sandbox from '../../src/app/sandbox.ts';
import { startService } from '../../src/app/start.ts';
import { parseConfig } from '../../src/config.ts';
import { hashSecret, newId } from '../../src/domain/ids.ts';
import * as queues from '../../src/queues/queues.ts';
import * as lock from '../../src/runtime/database.ts';
import { QUEUES } from '../../src/store/outbox-rows.ts';
import { openTransport } from '../../src/transport/transport.ts';
import { freshDatabase } from '../harness/database.ts';
import { newDataDir } from '../harness/service.ts';
import { storeOf } from '../harness/store.ts';

test('a service is ready from the end of its start, with the file of the sandbox’s secrets, to its notice of a stop', async () => {
  const { dataDir, remove } = newDataDir();
  const database = await freshDatabase();
  onTestFinished(async () => {
    await database.drop();
    remove();
  });
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
  const config = parseConfig({
    SANDBOX: '1',
    PORT: '0',
    SIMULATED_DRIVERS: '1',
    DATABASE_URL: database.url,
    DATA_DIR: dataDir,
    LOG_LEVEL: 'error',
    STOP_NOTICE_SECONDS: '3',
  });
  const service = await startService(
    config,
    () => {},
    () => {},
  );
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
  const { dataDir, remove } = newDataDir();
  const database = await freshDatabase();
  onTestFinished(async () => {
    await database.drop();
    remove();
  });
  const env = { SANDBOX: '1', PORT: '0', SIMULATED_DRIVERS: '0', STOP_NOTICE_SECONDS: '60', LOG_LEVEL: 'silent' };
  const ended = vi.fn();
  const holds = vi.spyOn(lock, 'holdApiLock');
  onTestFinished(() => holds.mockRestore());
  const config = parseConfig({ ...env, DATABASE_URL: database.url, DATA_DIR: dataDir });
  const service = await startService(config, () => {}, ended);
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
  const { dataDir, remove } = newDataDir();
  const database = await freshDatabase();
  onTestFinished(async () => {
    await database.drop();
    remove();
  });
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
  const env = { SANDBOX: '1', PORT: '0', SIMULATED_DRIVERS: '0', LOG_LEVEL: 'silent' };
  const config = parseConfig({ ...env, DATABASE_URL: database.url, DATA_DIR: dataDir });
  const service = await startService(
    config,
    () => {},
    () => {},
  );
  await service.close();
  expect([...started].sort()).toEqual([...QUEUES].sort());
  expect(closed).toEqual(QUEUES.map(() => started));
});

test('a port that is taken is told before the database is changed', async () => {
  const { dataDir, remove } = newDataDir();
  const database = await freshDatabase({ migrated: false });
  const other = openTransport();
  onTestFinished(async () => {
    other.close();
    await database.drop();
    remove();
  });
  const port = other.listen('127.0.0.1', 0);
  const config = parseConfig({ SANDBOX: '1', PORT: String(port), DATABASE_URL: database.url, DATA_DIR: dataDir });
  const nothing = () => {};
  await expect(startService(config, nothing, nothing)).rejects.toThrow(`Cannot listen on 127.0.0.1:${port}`);
  const tables = await database.sql`select from pg_tables where schemaname = 'public'`;
  expect(tables).toHaveLength(0);
});

test('simulated drivers do not start on a database whose stores no sandbox made, which stays unmigrated', async () => {
  const { dataDir, remove } = newDataDir();
  const database = await freshDatabase();
  onTestFinished(async () => {
    await database.drop();
    remove();
  });
  await storeOf(database.sql, 'test').createRetailer(
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
  const env = { SANDBOX: '1', PORT: '0', DATABASE_URL: database.url, DATA_DIR: dataDir, LOG_LEVEL: 'error' };
  const start = (changes: Record<string, string>) =>
    startService(
      parseConfig({ ...env, ...changes }),
      () => {},
      () => {},
    );
  const newest = () => database.sql`select id, name, sha256 from schema_migrations order by id desc limit 1`;
  const [{ id, name, sha256 }] = (await newest()) as unknown as [{ id: number; name: string; sha256: string }];
  await database.sql`delete from schema_migrations where id = ${id}`;
  await expect(start({})).rejects.toThrow('The database has stores that no sandbox made');
  expect((await newest())[0]?.id).toBeLessThan(id);
  await database.sql`insert into schema_migrations (id, name, sha256) values (${id}, ${name}, ${sha256})`;
  expect(await database.sql`select from drivers`).toHaveLength(0);
  await (await start({ SIMULATED_DRIVERS: '0' })).close();
  await (await start({ SIMULATED_DRIVERS: '1' })).close();
});
