import { expect, it } from 'vitest';
import { waitOnWire } from '../../src/http/order-times.ts';
import { PLANNER_LOOK_MS } from '../../src/limits.ts';
import type { Store } from '../../src/store/store.ts';
import { storeOf } from '../harness/store.ts';
import type { Command } from './commands.ts';
import { useModelDatabase } from './database.ts';
import { Day } from './day.ts';
import { comes, isOrdered } from './written.ts';

const database = useModelDatabase();
/** Reads beside the statements of the day. */
const reader = (): Store => storeOf(database().sql, 'reader');

/** A driver stands still with a parcel on board, and a second order is planned for them. */
const STALLED: readonly Command[] = [...comes(0, 0), isOrdered(30_000), isOrdered(30_000)];

it('an order that is kept for a driver who stands still is said to be planned until it is given', async () => {
  const said: string[] = [];
  const isFree = ({ processes, town }: Day) =>
    processes.every(({ matcher }) => matcher.driver(town.driverIds[1] as string)?.onDuty);
  const day = new Day({
    database: database(),
    seed: 1,
    async watch(now) {
      const orderId = now.orderIds[1];
      const isGiven = said.at(-1)?.startsWith('driver_assigned');
      if (orderId === undefined || isGiven || !isFree(now)) return;
      database().setNow(now.time.nowMs);
      const order = await reader().findStoreOrder(orderId, now.town.stores[0]?.retailerId as string);
      if (!order) throw new Error('the order is gone');
      const inProcesses = now.processes.map(({ matcher }) => waitOnWire(order, matcher).because);
      const { waiting_because: inTables } = { waiting_because: null, ...(await reader().showOrder(orderId)) };
      said.push(`${order.status}: ${[...inProcesses, inTables].join(', ')}`);
    },
    plant: {
      store: (store) => ({
        ...store,
        // So slowly that plans are noted down in between.
        async assignWaiting(...args) {
          await new Promise<void>((resolve) => day.time.after(2 * PLANNER_LOOK_MS, resolve));
          return store.assignWaiting(...args);
        },
      }),
    },
  });
  expect(await day.run([...STALLED, ...comes(1, 2, 60_000)])).toBeNull();
  const told = said.filter((each) => each.startsWith('pending_dispatch'));
  expect(told.length).toBeGreaterThan(20);
  expect(new Set(told)).toEqual(new Set(['pending_dispatch: planned, planned, planned']));
  expect(said.at(-1)).toMatch(/^driver_assigned/);
});

it('no plan is left of an order that is cancelled while nobody knows who has the right to plan', async () => {
  const day = new Day({ database: database(), seed: 1 });
  const plans = async () => (await database().sql`select count(*)::int as n from plans`)[0]?.n;
  // The replies are lost while the row goes on being renewed, so that it is the same process's all the time.
  const lost: Command = { kind: 'lease', fault: 'lost', ms: 2_700, process: 0, waitMs: 2_600 };
  const cancelled: Command = { kind: 'cancel', order: 0, process: 0, waitMs: 0 };
  expect(await day.run([...STALLED, lost, cancelled, { kind: 'quiet', process: 0, waitMs: 0 }])).toBeNull();
  expect(await plans()).toBe(0);
});
