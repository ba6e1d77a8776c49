import { afterAll, beforeAll, expect, it } from 'vitest';
import { createDriverActions, type DriverAction } from '../../src/dispatch/driver-actions.ts';
import { Matcher } from '../../src/matcher/matcher.ts';
import { deliverOrder, findAction, pickUpOrder } from '../../src/store/lifecycle.ts';
import { findOrderState } from '../../src/store/orders.ts';
import { loadTiers } from '../../src/store/tiers.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { addDriverOnDuty, addOrder, addRetailer, everythingOf } from '../lifecycle/orders.ts';

const PHOTO = `${'0'.repeat(32)}.jpg`;
const NO_STAMP = { actionId: null, capturedAt: null };

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database?.drop());

type Meanwhile = (action: DriverAction) => Promise<unknown>;

/** Actions on the real tables, and what happens once, right after a delivery was tried, and after its id was looked up. */
async function actionsWith(action: DriverAction, afterTry: Meanwhile, afterLookUp?: Meanwhile) {
  const left = { afterTry: [afterTry], afterLookUp: afterLookUp ? [afterLookUp] : [] };
  const { sql } = database;
  const none = async () => null;
  return createDriverActions({
    matcher: new Matcher(await loadTiers(sql)),
    now: Date.now,
    store: {
      setDuty: none,
      pickUp: none,
      async deliver(action, photo) {
        const changed = await deliverOrder(sql, action.orderId, action.driverId, photo, action.stamp, 'test');
        await left.afterTry.pop()?.(action);
        return changed;
      },
      release: none,
      undeliverable: none,
      returned: none,
      findState: (orderId) => findOrderState(sql, orderId),
      async findAction(driverId, actionId) {
        const found = await findAction(sql, driverId, actionId);
        await left.afterLookUp.pop()?.(action);
        return found;
      },
    },
    touched: () => undefined,
    changed: () => undefined,
    dutyChanged: () => undefined,
    driverAvailable: () => undefined,
    relay: () => undefined,
    waitsAgain: () => undefined,
  });
}

async function assigned(): Promise<DriverAction> {
  const driverId = await addDriverOnDuty(database.sql);
  const orderId = await addOrder(database.sql, await addRetailer(database.sql), 'driver_assigned', driverId);
  return { driverId, orderId, stamp: { actionId: 'a', capturedAt: null } };
}

const pickUp: Meanwhile = ({ orderId, driverId }) => pickUpOrder(database.sql, orderId, driverId, NO_STAMP, 'test');

it('a delivery that comes while its pick-up is being made is made behind it', async () => {
  const action = await assigned();
  const actions = await actionsWith(action, pickUp);
  expect(await actions.deliver(action, PHOTO)).toMatchObject({ kind: 'done', status: 'delivered', repeated: false });
  const { events } = await everythingOf(database.sql, action.orderId);
  expect(events.map(({ type }) => type)).toEqual(['created', 'picked_up', 'delivered']);
});

it('a delivery whose twin is made between two looks gets the twin’s answer', async () => {
  const action = await assigned();
  const twin: Meanwhile = ({ orderId, driverId, stamp }) =>
    deliverOrder(database.sql, orderId, driverId, PHOTO, stamp, 'test');
  const actions = await actionsWith(action, pickUp, twin);
  expect(await actions.deliver(action, PHOTO)).toMatchObject({ kind: 'done', status: 'delivered', repeated: true });
});
