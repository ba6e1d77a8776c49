import { beforeEach, describe, expect, it } from 'vitest';
import type { ActionOutcome, DriverAction } from '../../src/dispatch/driver-actions.ts';
import { newId } from '../../src/domain/ids.ts';
import { canBecome, ORDER_STATUSES, type OrderStatus } from '../../src/domain/order.ts';
import { driverActionRoutes } from '../../src/driver-app/action-routes.ts';
import { createDriverAllowances } from '../../src/driver-app/allowance.ts';
import { PhotoTurns } from '../../src/driver-app/photo-turns.ts';
import type { RequestHead, Route } from '../../src/transport/route.ts';
import { UNSTAMPED } from '../harness/orders.ts';
import { gate } from '../http/support.ts';
import { orderOf } from '../matcher/carrying.ts';
import {
  carrying,
  database,
  dispatch,
  matcher,
  readEverything,
  retailerId,
  startDispatch,
  store,
  useDispatchWorld,
} from './dispatch-world.ts';
import { addDriverOnDuty, addOrder, addRetailer, everythingOf } from './orders.ts';

useDispatchWorld();

const PHOTO = { name: `${'0'.repeat(32)}.jpg`, isBlank: false };

it('a pickup stays in memory, though a read that began before it ends after it', async () => {
  const { orderId, driverId } = await carrying('driver_assigned');
  const held = gate();
  let reads = 0;
  const tables: typeof store = {
    ...store,
    async loadFleet(ids) {
      const rows = await store.loadFleet(ids);
      reads++;
      if (reads === 2) await held.opened;
      return rows;
    },
  };
  const { dispatch: one, matcher: memory } = await startDispatch(tables);
  await one.fleet.rebuild();
  const reading = one.fleet.refreshDrivers([driverId]);
  await expect.poll(() => reads).toBe(2);
  expect(await one.actions.pickUp({ orderId, driverId, stamp: UNSTAMPED })).toMatchObject({ kind: 'done' });
  held.open();
  await reading;
  expect(memory.carriedBy(driverId)).toMatchObject([{ orderId, step: 'on_board' }]);
});

it('a process plans nothing until it is told that it knows what waits', async () => {
  let asked = 0;
  const tables: typeof store = {
    ...store,
    async takeLease(...args) {
      asked++;
      return store.takeLease(...args);
    },
  };
  const { dispatch: one } = await startDispatch(tables);
  await one.fleet.rebuild();
  expect(asked).toBe(0);
  one.startPlanning();
  await expect.poll(() => asked).toBeGreaterThan(0);
  await one.stopPlanning();
});

describe('a change of status', () => {
  type Change = {
    readonly to: OrderStatus;
    readonly event: string;
    readonly make: (orderId: string, driverId: string) => Promise<unknown>;
  };
  const CHANGES: readonly Change[] = [
    {
      to: 'driver_assigned',
      event: 'driver_assigned',
      make: async (orderId) => {
        const driver = { driverId: await addDriverOnDuty(database.sql), shownMeters: 10 };
        return (await store.assignWaiting(orderId, driver)).kind === 'assigned' ? {} : null;
      },
    },
    {
      to: 'picked_up',
      event: 'picked_up',
      make: (orderId, driverId) => store.pickUpOrder(orderId, driverId, UNSTAMPED),
    },
    {
      to: 'delivered',
      event: 'delivered',
      make: (orderId, driverId) => store.deliverOrder(orderId, driverId, PHOTO.name, UNSTAMPED),
    },
    {
      to: 'pending_dispatch',
      event: 'released',
      make: (orderId, driverId) => store.releaseOrder(orderId, driverId, 'vehicle', UNSTAMPED),
    },
    {
      to: 'undeliverable',
      event: 'undeliverable',
      make: (orderId, driverId) => store.markUndeliverable(orderId, driverId, 'refused', UNSTAMPED),
    },
    {
      to: 'returned',
      event: 'returned',
      make: (orderId, driverId) => store.returnOrder(orderId, driverId, UNSTAMPED),
    },
    {
      to: 'cancelled',
      event: 'cancelled',
      make: (orderId) => store.cancelOrder(orderId, { retailerId }, 'duplicate'),
    },
    { to: 'expired', event: 'expired', make: (orderId) => store.expireOrder(orderId) },
  ];

  /** An order in a status, with a driver where the status has one. Its time is up if it is to expire. */
  async function orderIn(status: OrderStatus, expired: boolean): Promise<{ orderId: string; driverId: string }> {
    const driverId = await addDriverOnDuty(database.sql);
    const has = !['pending_dispatch', 'expired'].includes(status);
    return { driverId, orderId: await addOrder(database.sql, retailerId, status, has ? driverId : null, { expired }) };
  }

  it.each(ORDER_STATUSES)('from %s is made if the domain allows it, and else nothing is written', async (from) => {
    for (const { to, event, make } of CHANGES) {
      const { orderId, driverId } = await orderIn(from, to === 'expired');
      const before = await everythingOf(database.sql, orderId);
      const made = await make(orderId, driverId);
      const after = await everythingOf(database.sql, orderId);
      if (canBecome(from, to)) {
        expect(made, `${from} to ${to}`).not.toBeNull();
        expect(after.order).toMatchObject({ status: to, sequence: 2 });
        expect(after.events.map(({ type, sequence }) => [sequence, type])).toEqual([
          [1, 'created'],
          [2, event],
        ]);
        expect(after.order.updated_at).not.toEqual(before.order.updated_at);
      } else {
        expect(made, `${from} to ${to}`).toBeNull();
        expect(after).toEqual(before);
      }
    }
  });

  it('is not made by another driver', async () => {
    const other = await addDriverOnDuty(database.sql);
    for (const from of ORDER_STATUSES) {
      const { orderId } = await orderIn(from, false);
      const before = await everythingOf(database.sql, orderId);
      for (const { to, make } of CHANGES) {
        if (['driver_assigned', 'cancelled', 'expired'].includes(to)) continue;
        expect(await make(orderId, other)).toBeNull();
      }
      expect(await everythingOf(database.sql, orderId)).toEqual(before);
    }
  });

  it('is not made by another store', async () => {
    const foreign = await addRetailer(database.sql);
    const { orderId } = await orderIn('driver_assigned', false);
    const before = await everythingOf(database.sql, orderId);
    expect(await store.cancelOrder(orderId, { retailerId: foreign }, 'other')).toBeNull();
    expect(await everythingOf(database.sql, orderId)).toEqual(before);
  });
});

/** The actions of drivers as a phone sends them, and the statuses from which they are legal. */
const ACTIONS: readonly {
  readonly name: string;
  readonly from: OrderStatus;
  readonly to: OrderStatus;
  readonly send: (action: DriverAction) => Promise<ActionOutcome>;
}[] = [
  { name: 'pick-up', from: 'driver_assigned', to: 'picked_up', send: (action) => dispatch.actions.pickUp(action) },
  { name: 'deliver', from: 'picked_up', to: 'delivered', send: (action) => dispatch.actions.deliver(action, PHOTO) },
  {
    name: 'release',
    from: 'driver_assigned',
    to: 'pending_dispatch',
    send: (action) => dispatch.actions.release(action, 'too_far'),
  },
  {
    name: 'undeliverable',
    from: 'picked_up',
    to: 'undeliverable',
    send: (action) => dispatch.actions.undeliverable(action, 'nobody_home'),
  },
  { name: 'return', from: 'undeliverable', to: 'returned', send: (action) => dispatch.actions.returned(action) },
];

describe.each(ACTIONS)('the action $name', ({ from, to, send }) => {
  const action = (orderId: string, driverId: string, actionId: string | null = newId()): DriverAction => ({
    orderId,
    driverId,
    stamp: { actionId, capturedAt: new Date('2026-01-02T03:04:05.678Z') },
  });

  it('sent again by its id gets the same answer and changes nothing', async () => {
    const { orderId, driverId } = await carrying(from);
    await readEverything();
    const tap = action(orderId, driverId);
    const first = await send(tap);
    expect(first).toEqual({ kind: 'done', status: to, sequence: 2, repeated: false });
    const after = await everythingOf(database.sql, orderId);
    for (let again = 0; again < 3; again++) expect(await send(tap)).toEqual({ ...first, repeated: true });
    expect(await everythingOf(database.sql, orderId)).toEqual(after);
    expect(after.actions).toHaveLength(1);
  });

  it('sent eight times at once is done once, and every request gets the same answer', async () => {
    const { orderId, driverId } = await carrying(from);
    await readEverything();
    const tap = action(orderId, driverId);
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => send(tap)));
    for (const outcome of outcomes) expect(outcome).toMatchObject({ kind: 'done', status: to, sequence: 2 });
    expect(outcomes.filter((outcome) => outcome.kind === 'done' && !outcome.repeated)).toHaveLength(1);
    const { events } = await everythingOf(database.sql, orderId);
    expect(events).toHaveLength(2);
  });

  it('without an id is done once; a second one gets the order’s present status', async () => {
    const { orderId, driverId } = await carrying(from);
    await readEverything();
    const tap = { orderId, driverId, stamp: UNSTAMPED };
    expect(await send(tap)).toMatchObject({ kind: 'done' });
    expect(await send(tap)).toEqual(
      to === 'pending_dispatch' ? { kind: 'not_found' } : { kind: 'illegal', status: to },
    );
  });

  it('keeps the time when it happened beside the time when it arrived', async () => {
    const { orderId, driverId } = await carrying(from);
    await send(action(orderId, driverId));
    const { events, actions } = await everythingOf(database.sql, orderId);
    expect(events[1]?.data).toMatchObject({ captured_at: '2026-01-02T03:04:05.678Z' });
    expect(actions[0]).toMatchObject({ captured_at: new Date('2026-01-02T03:04:05.678Z') });
    const receivedAt = actions[0]?.received_at;
    expect(receivedAt).toBeInstanceOf(Date);
    expect(Math.abs(Number(receivedAt) - Date.now())).toBeLessThan(60_000);
  });

  it('that comes too early or too late is refused with the status, and not recorded', async () => {
    for (const status of ORDER_STATUSES) {
      if (status === from || ['pending_dispatch', 'expired'].includes(status)) continue;
      const { orderId, driverId } = await carrying(status);
      const before = await everythingOf(database.sql, orderId);
      const tap = action(orderId, driverId);
      expect(await send(tap)).toEqual({ kind: 'illegal', status });
      expect(await everythingOf(database.sql, orderId)).toEqual(before);
    }
  });

  it("on another driver's order, a waiting one or an unknown one is not found", async () => {
    const { orderId } = await carrying(from);
    const driverId = await addDriverOnDuty(database.sql);
    const waiting = await addOrder(database.sql, retailerId, 'pending_dispatch', null);
    for (const id of [orderId, waiting, newId()])
      expect(await send(action(id, driverId))).toEqual({ kind: 'not_found' });
  });

  it("with an id that another driver's phone has used is a separate action", async () => {
    const [one, other] = [await carrying(from), await carrying(from)];
    const actionId = newId();
    expect(await send(action(one.orderId, one.driverId, actionId))).toMatchObject({ repeated: false });
    expect(await send(action(other.orderId, other.driverId, actionId))).toMatchObject({ repeated: false });
  });
});

describe('actions that a phone kept in a dead zone', () => {
  it('are done in the order they are sent, and change nothing when they are sent again', async () => {
    const { orderId, driverId } = await carrying('driver_assigned');
    await readEverything();
    const at = (name: string) => ({
      orderId,
      driverId,
      stamp: { actionId: name, capturedAt: new Date('2026-01-02T03:04:05Z') },
    });
    const [pickUp, , , undeliverable, returned] = ACTIONS;
    for (const round of [false, true]) {
      expect(await pickUp?.send(at('a'))).toEqual({ kind: 'done', status: 'picked_up', sequence: 2, repeated: round });
      expect(await undeliverable?.send(at('b'))).toMatchObject({
        status: 'undeliverable',
        sequence: 3,
        repeated: round,
      });
      expect(await returned?.send(at('c'))).toMatchObject({ status: 'returned', sequence: 4, repeated: round });
    }
    const { events } = await everythingOf(database.sql, orderId);
    expect(events.map(({ type }) => type)).toEqual(['created', 'picked_up', 'undeliverable', 'returned']);
  });

  it('of an order that was cancelled meanwhile are refused, and the driver is free', async () => {
    const { orderId, driverId } = await carrying('driver_assigned');
    await readEverything();
    expect(await dispatch.cancelOrder(orderId, retailerId, 'out_of_stock')).toEqual({ kind: 'cancelled' });
    const tap = { orderId, driverId, stamp: { actionId: 'late', capturedAt: null } };
    expect(await dispatch.actions.pickUp(tap)).toEqual({ kind: 'illegal', status: 'cancelled' });
    expect(orderOf(matcher.driver(driverId))).toBeNull();
  });

  it('with one id for two different steps are not both taken for done', async () => {
    const { orderId, driverId } = await carrying('driver_assigned');
    const tap = { orderId, driverId, stamp: { actionId: 'same', capturedAt: null } };
    expect(await dispatch.actions.pickUp(tap)).toMatchObject({ status: 'picked_up' });
    expect(await dispatch.actions.foreseeDelivery(tap)).toBeNull();
    expect(await dispatch.actions.deliver(tap, PHOTO)).toMatchObject({ status: 'delivered', repeated: false });
  });
});

describe('a delivery over HTTP', () => {
  let photos: Set<string>;
  let route: Route<{ driverId: string }>;
  beforeEach(() => {
    photos = new Set();
    let names = 0;
    const routes = driverActionRoutes({
      drivers: { authenticate: async () => ({ driverId: '' }) },
      actions: dispatch.actions,
      photos: {
        async store() {
          const name = `${String(names++).padStart(32, '0')}.jpg`;
          photos.add(name);
          return { kind: 'stored', name, isBlank: false };
        },
        discard: async (name) => void photos.delete(name),
        failureCause: () => null,
      },
      allowances: createDriverAllowances(Date.now),
      photoTurns: new PhotoTurns(Date.now),
    });
    route = routes.find(({ pattern }) => pattern.endsWith('/deliver')) as Route<{ driverId: string }>;
  });
  const entryOf = (orderId: string, driverId: string, actionId: string) => ({
    head: { params: [orderId], query: new URLSearchParams({ action_id: actionId }) } as unknown as RequestHead,
    principal: { driverId },
  });
  /** What is answered before the photo comes; null where it may come. */
  const admit = async (orderId: string, driverId: string, actionId: string) => {
    const ends: (() => void)[] = [];
    const whenOver = (end: () => void) => void ends.push(end);
    try {
      return await route.admit?.({ ...entryOf(orderId, driverId, actionId), whenOver });
    } finally {
      for (const end of ends) end();
    }
  };
  const send = async (orderId: string, driverId: string, actionId: string) =>
    route.handle({
      ...entryOf(orderId, driverId, actionId),
      body: Buffer.from('photo'),
      signal: { aborted: false, onAbort: () => undefined },
      alwaysReplyWith: () => undefined,
    });

  it('sent six times at once and once more keeps one photo and gets the same answers', async () => {
    const { orderId, driverId } = await carrying('picked_up');
    const replies = await Promise.all(Array.from({ length: 6 }, () => send(orderId, driverId, 'tap')));
    replies.push(await send(orderId, driverId, 'tap'));
    expect(new Set(replies.map(({ status, body }) => `${status} ${body}`)).size).toBe(1);
    expect(replies[0]?.status).toBe(200);
    const { order, events } = await everythingOf(database.sql, orderId);
    expect([...photos]).toEqual([order.photo_name]);
    expect(events).toHaveLength(2);
    expect(await admit(orderId, driverId, 'tap')).toEqual(replies[0]);
  });

  it('of an order that the driver may not deliver is refused before its photo comes, and keeps none', async () => {
    const { orderId, driverId } = await carrying('driver_assigned');
    for (const attempt of [admit, send]) {
      await expect(attempt(orderId, driverId, 'early')).rejects.toMatchObject({ code: 'illegal_transition' });
      await expect(attempt(newId(), driverId, 'none')).rejects.toMatchObject({ code: 'not_found' });
    }
    await expect(admit(orderId, newId(), 'early')).rejects.toMatchObject({ code: 'not_found' });
    expect([...photos]).toEqual([]);
    const carried = await carrying('picked_up');
    expect(await admit(carried.orderId, carried.driverId, 'now')).toBeNull();
  });
});
