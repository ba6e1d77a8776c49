import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ActionStore, createDriverActions, type DriverAction } from '../../src/dispatch/driver-actions.ts';
import { OrderEvents } from '../../src/dispatch/order-events.ts';
import { UnknownOutcomes } from '../../src/dispatch/unknown-outcomes.ts';
import { Matcher } from '../../src/matcher/matcher.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { UNSTAMPED } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';
import { addDriverOnDuty, addOrder, addRetailer, everythingOf } from '../lifecycle/orders.ts';

const PHOTO = { name: `${'0'.repeat(32)}.jpg`, isBlank: false };

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database?.drop());

type Meanwhile = (action: DriverAction) => Promise<unknown>;

/**
 * Actions on the real tables, and what happens once right after a delivery's write and after its id is looked
 * up.
 */
async function actionsWith(
  action: DriverAction,
  afterTry: Meanwhile,
  afterLookUp?: Meanwhile,
  changes: Partial<ActionStore> = {},
  events = new OrderEvents(),
) {
  const left = { afterTry: [afterTry], afterLookUp: afterLookUp ? [afterLookUp] : [] };
  const tables = storeOf(database.sql);
  const store: ActionStore = {
    ...tables,
    async deliverOrder(...delivery) {
      const changed = await tables.deliverOrder(...delivery);
      await left.afterTry.pop()?.(action);
      return changed;
    },
    async findAction(driverId, actionId) {
      const found = await tables.findAction(driverId, actionId);
      await left.afterLookUp.pop()?.(action);
      return found;
    },
  };
  const nothing = () => undefined;
  return createDriverActions({
    store: { ...store, ...changes },
    matcher: new Matcher(await tables.loadTiers()),
    fleet: { refreshDrivers: async () => undefined, markStale: nothing },
    redispatch: { driverAvailable: nothing, driverFreed: nothing, orderReleased: nothing, recheckDriver: nothing },
    receipts: async () => null,
    releasesPerHour: 0,
    unknownOutcomes: new UnknownOutcomes(60_000, 10, Date.now, events),
    relay: { relay: nothing },
    events,
  });
}

async function assigned(): Promise<DriverAction> {
  const driverId = await addDriverOnDuty(database.sql);
  const orderId = await addOrder(database.sql, await addRetailer(database.sql), 'driver_assigned', driverId);
  return { driverId, orderId, stamp: { actionId: 'a', capturedAt: null } };
}

const pickUp: Meanwhile = ({ orderId, driverId }) =>
  storeOf(database.sql, 'test').pickUpOrder(orderId, driverId, UNSTAMPED);

async function giveBack({ orderId, driverId }: DriverAction): Promise<void> {
  await database.sql`update orders set driver_id = ${driverId}, status = 'driver_assigned' where id = ${orderId}`;
}

async function pickUpAs(action: DriverAction): Promise<void> {
  await giveBack(action);
  await storeOf(database.sql, 'test').pickUpOrder(action.orderId, action.driverId, action.stamp);
}

it('a delivery that arrives while its pickup is being recorded is recorded after it', async () => {
  const action = await assigned();
  const actions = await actionsWith(action, pickUp);
  expect(await actions.deliver(action, PHOTO)).toMatchObject({ kind: 'done', status: 'delivered', repeated: false });
  const { events } = await everythingOf(database.sql, action.orderId);
  expect(events.map(({ type }) => type)).toEqual(['created', 'picked_up', 'delivered']);
});

it('a delivery whose repetition is recorded between two reads gets the same result', async () => {
  const action = await assigned();
  const twin: Meanwhile = ({ orderId, driverId, stamp }) =>
    storeOf(database.sql, 'test').deliverOrder(orderId, driverId, PHOTO.name, stamp);
  const actions = await actionsWith(action, pickUp, twin);
  expect(await actions.deliver(action, PHOTO)).toMatchObject({ kind: 'done', status: 'delivered', repeated: true });
});

it.each([
  ['was done by its repetition', { kind: 'done', status: 'picked_up', repeated: true }, pickUpAs],
  ['became legal', { kind: 'done', status: 'picked_up', repeated: false }, giveBack],
])('a late pickup that changes nothing, as it %s meanwhile, says what is so now', async (_what, answer, meanwhile) => {
  const action = await assigned();
  await database.sql`update orders set driver_id = null, status = 'pending_dispatch' where id = ${action.orderId}`;
  const pickUpLate = async () => {
    await meanwhile(action);
    return null;
  };
  const actions = await actionsWith(action, async () => undefined, undefined, { pickUpLate });
  expect(await actions.pickUp(action)).toMatchObject(answer);
});

it('a duty whose write has no answer is read from the tables', async () => {
  const action = await assigned();
  const events = new OrderEvents();
  const unknown: string[] = [];
  events.subscribe({ driverUnknown: (driverId) => unknown.push(driverId) });
  const setDriverDuty = () => Promise.reject(new Error('no answer'));
  const actions = await actionsWith(action, async () => undefined, undefined, { setDriverDuty }, events);
  await expect(actions.setDuty(action.driverId, true)).rejects.toThrow('no answer');
  expect(unknown).toEqual([action.driverId]);
});
