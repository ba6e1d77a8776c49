import { Socket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openQueueBackend } from '../../src/app/queues.ts';
import { Closers } from '../../src/runtime/closers.ts';
import { StartError } from '../../src/runtime/start-error.ts';
import { createLogger } from '../../src/telemetry.ts';
import { freshDatabase } from '../harness/database.ts';
import { openTlsFront } from '../harness/tls-front.ts';

test('a silent connection of the queues is tried after 10 s, and a statement ends before it is given up', async () => {
  const keptAlive = vi.spyOn(Socket.prototype, 'setKeepAlive');
  const database = await freshDatabase();
  const logger = createLogger('silent');
  const closers = new Closers(logger);
  onTestFinished(async () => {
    keptAlive.mockRestore();
    await closers.closeAll();
    await database.drop();
  });
  const backend = await openQueueBackend({ redisUrl: null }, database, logger, closers);
  if (backend.kind !== 'postgres') throw new Error('not on Postgres');
  const { rows } = await backend.pool.query('show statement_timeout');
  expect(rows).toEqual([{ statement_timeout: '25s' }]);
  expect(keptAlive).toHaveBeenCalledWith(true, 10_000);
});

test('a start whose queues cannot reach Postgres says what to do about it', async () => {
  const front = await openTlsFront('postgres://u:p@127.0.0.1:1/d');
  const [logger, closers] = [createLogger('silent'), new Closers(createLogger('silent'))];
  onTestFinished(() => front.close());
  const opening = openQueueBackend({ redisUrl: null }, { url: `${front.url}?sslmode=verify-full` }, logger, closers);
  await expect(opening).rejects.toThrow(StartError);
  await expect(opening).rejects.toThrow('The certificate of Postgres is not trusted');
});
