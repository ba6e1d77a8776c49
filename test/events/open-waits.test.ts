import { expect, onTestFinished, test } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import { openEventWaits } from '../../src/events/open-waits.ts';
import { Closers } from '../../src/runtime/closers.ts';
import { createLogger } from '../../src/telemetry.ts';
import { AbortNotice } from '../../src/transport/signal.ts';
import { freshDatabase } from '../harness/database.ts';
import { addStoreRow } from '../harness/orders.ts';
import { TEST_MS } from '../harness/patience.ts';
import { storeOf } from '../harness/store.ts';

test('who waits for the events of a chain is answered when a store joins it, to ask again with that store', async () => {
  const database = await freshDatabase();
  const logger = createLogger('silent');
  const closers = new Closers(logger);
  onTestFinished(async () => {
    await closers.closeAll();
    await database.drop();
  });
  const { sql } = database;
  const store = storeOf(sql, 'api');
  const waits = await openEventWaits({ database: { sql, processId: 'api' }, store, logger, closers });
  const [organizationId, { retailerId }] = [newId(), await addStoreRow(sql)];
  await store.addOrganization(organizationId, 'Chain');
  const waiter = { holderId: organizationId, retailerIds: [], waitMs: 2 * TEST_MS, signal: new AbortNotice() };
  const waiting = waits.untilFound(
    waiter,
    async () => null,
    () => false,
  );
  expect(await storeOf(sql, 'cli').joinOrganization(organizationId, retailerId)).toBe('joined');
  expect(await waiting).toBeNull();
});
