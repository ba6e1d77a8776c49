import { expect, onTestFinished, test } from 'vitest';
import { openQueueBackend } from '../../src/app/queues.ts';
import { Closers } from '../../src/runtime/closers.ts';
import { createLogger } from '../../src/telemetry.ts';
import { freshDatabase } from '../harness/database.ts';

test('Postgres ends a statement of the queues before this process gives its connection up', async () => {
  const database = await freshDatabase();
  const logger = createLogger('silent');
  const closers = new Closers(logger);
  onTestFinished(async () => {
    await closers.closeAll();
    await database.drop();
  });
  const backend = await openQueueBackend({ redisUrl: null }, database, logger, closers);
  if (backend.kind !== 'postgres') throw new Error('not on Postgres');
  const { rows } = await backend.pool.query('show statement_timeout');
  expect(rows).toEqual([{ statement_timeout: '25s' }]);
});
