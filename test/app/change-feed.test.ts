import { expect, onTestFinished, test } from 'vitest';
import { followChanges } from '../../src/app/change-feed.ts';
import { Fleet } from '../../src/dispatch/fleet.ts';
import { createGivenOrders, GIVEN_FRESH_MS } from '../../src/dispatch/given-orders.ts';
import { OrderEvents } from '../../src/dispatch/order-events.ts';
import { createPaymentWait } from '../../src/dispatch/payment-wait.ts';
import { UnknownOutcomes } from '../../src/dispatch/unknown-outcomes.ts';
import { newId } from '../../src/domain/ids.ts';
import type { OrderExtras } from '../../src/domain/order.ts';
import { Matcher } from '../../src/matcher/matcher.ts';
import { connect } from '../../src/postgres/connect.ts';
import { StatementGivenUp } from '../../src/postgres/deadline.ts';
import { Closers } from '../../src/runtime/closers.ts';
import type { RetailerKey } from '../../src/store/accounts/retailers.ts';
import type { NewOrder } from '../../src/store/orders/orders-create.ts';
import type { Store } from '../../src/store/store.ts';
import { createLogger } from '../../src/telemetry.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow, draftOrder, NO_EXTRAS, UNSTAMPED } from '../harness/orders.ts';
import { NO_SECRETS } from '../harness/secrets.ts';
import { storeOf } from '../harness/store.ts';
import { openAttempt, openText, recordAttempt, recordText } from '../harness/vendor-rows.ts';
import { gate } from '../http/support.ts';
import { TIERS } from '../matcher/brute-force.ts';

/** Stores and drivers whose keys and tokens the process knows, as a test adds them. */
const STORES = new Set<string>();
const DRIVERS = new Set<string>();
const forgotten = (known: ReadonlySet<string>, holds: (id: string) => boolean) =>
  [...known].filter(holds).map((id) => `forgotten ${id}`);

const logger = createLogger('silent');
const soon = { interval: 10 };
const database = await useFreshDatabase();

/**
 * An API process with a change feed, and a record of its reads, events and matching.
 *
 * @param readsLost number of its first reads that are not answered in time
 */
async function api(secrets = NO_SECRETS, readsLost = 0) {
  const sql = connect({ url: database.url, applicationName: 'api', max: 2 });
  const closers = new Closers(logger);
  onTestFinished(async () => {
    await closers.closeAll();
    await sql.end({ timeout: 1 });
  });
  const seen: string[] = [];
  let lost = readsLost;
  let held = Promise.resolve();
  const tables = {
    areAway: false,
    hasTooManyTiers: false,
    /** Has the rows of reads arrive late, with what they were when the reads began. */
    hold(): () => void {
      const { opened, open } = gate();
      held = opened;
      return open;
    },
  };
  const read = async <T>(what: string, rows: () => Promise<T>): Promise<T> => {
    seen.push(what);
    if (lost-- > 0) throw new StatementGivenUp('DEADLINE_SENT');
    if (tables.areAway) throw new StatementGivenUp('DATABASE_AWAY');
    const found = await rows();
    await held;
    return found;
  };
  const real = storeOf(sql, 'api');
  const store: Store = {
    ...real,
    loadFleet: (ids) => read(`drivers read ${ids ?? 'all'}`, () => real.loadFleet(ids)),
    loadOrderStates: (ids) => read(`orders read ${ids}`, () => real.loadOrderStates(ids)),
    loadPaymentStatuses(ids) {
      seen.push(`payments read ${ids}`);
      return real.loadPaymentStatuses(ids);
    },
  };
  const events = new OrderEvents();
  events.subscribe({
    orderChanged: (orderId, driverId) => seen.push(`page ${orderId} of ${driverId}`),
    detailsChanged: (orderId) => seen.push(`details ${orderId}`),
    paymentRecorded: (orderId) => seen.push(`payment ${orderId}`),
    driverChanged: (driverId) => seen.push(`phone ${driverId}`),
    orderGiven: (driverId) => seen.push(`rung ${driverId}`),
    everythingChanged: () => seen.push('everything changed'),
  });
  const unknownOutcomes = new UnknownOutcomes(60_000, 10, Date.now, events);
  const paymentWait = createPaymentWait(store, 60_000, 10, 10);
  events.subscribe(paymentWait);
  const nothing = async () => undefined;
  const matcher = new Matcher(TIERS);
  const fleet = new Fleet(matcher, store, events);
  const driverAvailable = (driverId: string) => void seen.push(`woken ${driverId}`);
  const times = { aheadMs: 0 };
  const clock = { now: () => Date.now() + times.aheadMs };
  const given = createGivenOrders({ matcher, fleet, redispatch: { driverAvailable }, events, clock });
  await followChanges({
    database: { sql, processId: 'api' },
    fleet,
    given,
    redispatch: { driverAvailable, matchOrder: nothing },
    holds: { reload: nothing, refresh: nothing },
    sweep: { run: nothing },
    unknownOutcomes,
    tiers: {
      reload: async () => (tables.hasTooManyTiers ? Promise.reject(new RangeError('too many tiers')) : undefined),
    },
    credentials: {
      stores: {
        forget: (holds) => seen.push(...forgotten(STORES, (retailerId) => holds({ retailerId } as RetailerKey))),
      },
      organizations: { forget: () => undefined },
      drivers: { forget: (holds) => seen.push(...forgotten(DRIVERS, (driverId) => holds({ driverId }))) },
    },
    secrets,
    paymentWait,
    events,
    logger,
    closers,
  });
  /** Returns once every notice that was sent before has been handled. */
  const handled = async () => {
    const driverId = await addDriverRow(database.sql);
    await expect.poll(() => seen, soon).toContain(`phone ${driverId}`);
    return seen.filter((what) => !what.includes(driverId));
  };
  seen.length = 0;
  return { seen, handled, matcher, fleet, events, times, paymentWait, unknownOutcomes, tables };
}

async function assignedOrder() {
  const { sql } = database;
  const driverId = await addDriverRow(sql);
  const { orderId, jobs } = await addOrder(sql, await addStoreRow(sql), { driverId });
  const charge = async (processId: string) => {
    await openAttempt(sql, orderId);
    const result = { status: 'paid', paymentIntentId: 'pi_1' } as const;
    expect(await recordAttempt(sql, { orderId, attempt: 1 }, result, jobs.charge?.id ?? 0, processId)).toBe(true);
  };
  const text = async (processId: string) => {
    await openText(sql, orderId);
    expect(await recordText(sql, orderId, { status: 'sent', sid: 'SM1' }, jobs.sms?.id ?? 0, processId)).toBe(true);
  };
  const pickUp = (processId: string) => storeOf(sql, processId).pickUpOrder(orderId, driverId, UNSTAMPED);
  return { orderId, driverId, charge, text, pickUp };
}

test('a charge and a text of another process go to live pages only: nothing is read or matched', async () => {
  const { orderId, charge, text } = await assignedOrder();
  const { handled } = await api();
  await charge('worker');
  await text('worker');
  expect(await handled()).toEqual([`payment ${orderId}`, `details ${orderId}`]);
});

test('a reply that waits for a charge hears of it, and nothing is read', async () => {
  const { orderId, charge } = await assignedOrder();
  const { seen, paymentWait } = await api();
  const waiting = paymentWait.paymentWithin(orderId);
  await charge('worker');
  expect(await waiting).toBe('paid');
  expect(seen).toEqual([`payment ${orderId}`]);
});

test('after a notice without a result, as of a declined charge, the table is read', async () => {
  const { orderId, charge } = await assignedOrder();
  const { seen, paymentWait } = await api();
  await charge('api');
  const waiting = paymentWait.paymentWithin(orderId);
  await database.sql`select pg_notify('sameday', ${`worker:details:${orderId}`})`;
  expect(await waiting).toBe('paid');
  expect(seen).toEqual([`details ${orderId}`, `payments read ${orderId}`]);
});

const EXTRAS: OrderExtras = {
  ...NO_EXTRAS,
  readyAt: new Date('2026-07-01T12:00:00.123Z'),
  deliverAfter: new Date('2026-07-01T13:00:00Z'),
};
const DROPOFF = {
  point: { lat: 37.7712345678901, lng: -122.4212345678901 },
  accuracyMeters: 20,
  source: 'zip_centroid',
} as const;

/** An order with a free driver, which another process, or the one that is named, is yet to commit. */
async function given(extras: OrderExtras | null = null, dropoff: NewOrder['dropoff'] = DROPOFF) {
  const { sql } = database;
  const driverId = await addDriverRow(sql);
  const options = extras ? { driverId, extras } : { driverId };
  const draft = { ...(await draftOrder(sql, await addStoreRow(sql), options)), dropoff };
  const commit = (processId = 'other') => storeOf(sql, processId).insertOrders([draft]);
  return { driverId, orderId: draft.id, commit };
}

test.each([
  ['an order', null, DROPOFF],
  ['an order with times', EXTRAS, DROPOFF],
  ['an order whose door nobody knows', null, null],
])(
  '%s that another process gave a driver is in memory as a read would bring it, and nothing is read',
  async (...order) => {
    const [, extras, dropoff] = order;
    const { driverId, orderId, commit } = await given(extras, dropoff);
    const { seen, handled, matcher, fleet } = await api();
    await commit();
    expect(await handled()).toEqual([`page ${orderId} of ${driverId}`, `phone ${driverId}`]);
    const told = matcher.driver(driverId);
    expect(told?.carried).toHaveLength(1);
    await fleet.refreshDrivers([driverId]);
    expect(seen).toContain(`drivers read ${driverId}`);
    expect(told).toEqual(matcher.driver(driverId));
  },
);

test('a read that began before an order was given is repeated', async () => {
  const { driverId, orderId, commit } = await given();
  const { seen, handled, matcher, fleet, tables } = await api();
  const release = tables.hold();
  const reading = fleet.refreshDrivers([driverId]);
  await expect.poll(() => seen, soon).toContain(`drivers read ${driverId}`);
  await commit();
  await expect.poll(() => matcher.holderOf(orderId), soon).toBe(driverId);
  release();
  await reading;
  expect(matcher.holderOf(orderId)).toBe(driverId);
  expect((await handled()).filter((what) => what === `drivers read ${driverId}`)).toHaveLength(2);
});

test('a new order that waits is read', async () => {
  const { sql } = database;
  const { handled, matcher } = await api();
  const { orderId } = await addOrder(sql, await addStoreRow(sql));
  await expect.poll(handled, soon).toContain(`orders read ${orderId}`);
  await expect.poll(() => matcher.isWaiting(orderId), soon).toBe(true);
});

test('an order that this process heard of before its notice is read', async () => {
  const { driverId, orderId, commit } = await given();
  const { handled, matcher, events } = await api();
  events.orderChanged(orderId, driverId);
  await commit();
  await expect.poll(handled, soon).toContain(`orders read ${orderId}`);
  await expect.poll(() => matcher.holderOf(orderId), soon).toBe(driverId);
});

test('an order whose notice is old is read, whichever clock is wrong', async () => {
  for (const aheadMs of [GIVEN_FRESH_MS + 1_000, -GIVEN_FRESH_MS - 1_000]) {
    const { orderId, commit } = await given();
    const { handled, times } = await api();
    times.aheadMs = aheadMs;
    await commit();
    await expect.poll(handled, soon).toContain(`orders read ${orderId}`);
  }
});

test('an order with a write of unknown outcome is read, whatever its notice tells', async () => {
  const { orderId, commit } = await given();
  const { seen, handled, unknownOutcomes } = await api();
  unknownOutcomes.add(orderId);
  await expect.poll(() => seen, soon).toContain(`orders read ${orderId}`);
  seen.length = 0;
  await commit();
  await expect.poll(handled, soon).toContain(`orders read ${orderId}`);
});

test.each(['no word of it', 'its claim', 'the order, by a read'])(
  'a driver whom this process gave an order without an answer is rung, once, where memory has %s',
  async (known) => {
    const { driverId, orderId, commit } = await given();
    const { seen, handled, matcher, fleet, unknownOutcomes } = await api();
    const isLate = known === 'no word of it';
    if (known === 'its claim') matcher.claim(driverId, orderId);
    if (!isLate) await commit('api');
    if (known === 'the order, by a read') await fleet.rebuild();
    unknownOutcomes.add(orderId, driverId);
    if (isLate) await commit('api');
    await expect.poll(handled, soon).toContain(`rung ${driverId}`);
    seen.length = 0;
    unknownOutcomes.add(orderId);
    await expect.poll(handled, soon).toContain(`woken ${driverId}`);
    expect(seen).not.toContain(`rung ${driverId}`);
  },
);

test('a driver is rung for a gift whose notice was missed, once everything is read', async () => {
  const { driverId, orderId, commit } = await given();
  const { seen, handled, unknownOutcomes } = await api();
  unknownOutcomes.add(orderId, driverId);
  await expect.poll(() => seen, soon).toContain(`orders read ${orderId}`);
  // The next read begins when what followed that one is over.
  const [next = '', ...others] = Array.from({ length: 10 }, newId);
  unknownOutcomes.add(next);
  await expect.poll(() => seen, soon).toContain(`orders read ${next}`);
  // The process remembers ten: its own notice of the gift counts no more.
  for (const id of others) unknownOutcomes.add(id);
  await commit('api');
  expect(await handled()).not.toContain(`rung ${driverId}`);
  await database.sql`select pg_notify('sameday', 'other:everything:orders')`;
  await expect.poll(() => seen, soon).toContain(`rung ${driverId}`);
});

test('nobody is rung for an order that ended, nor a driver whom another process gave it', async () => {
  const [ended, other] = [await assignedOrder(), await assignedOrder()];
  await database.sql`update orders set status = 'cancelled' where id = ${ended.orderId}`;
  const { seen, unknownOutcomes } = await api();
  unknownOutcomes.add(ended.orderId, ended.driverId);
  unknownOutcomes.add(other.orderId, ended.driverId);
  await expect.poll(() => seen, soon).toContain(`woken ${other.driverId}`);
  expect(seen).toContain(`page ${ended.orderId} of ${ended.driverId}`);
  expect(seen.filter((what) => what.startsWith('rung'))).toEqual([]);
});

test('an order for a driver who has another one here is read with the driver', async () => {
  const { driverId, orderId, commit } = await given();
  const { handled, matcher } = await api();
  matcher.claim(driverId, 'claimed here');
  await commit();
  await expect.poll(handled, soon).toContain(`orders read ${orderId}`);
  const carried = () => matcher.carriedBy(driverId);
  await expect.poll(carried, soon).toEqual([expect.objectContaining({ orderId })]);
});

test('a step of an order is read with its driver, who is matched and told', async () => {
  const { orderId, driverId, pickUp } = await assignedOrder();
  const { seen } = await api();
  await pickUp('other');
  await expect.poll(() => seen.at(-1), soon).toBe(`woken ${driverId}`);
  expect(seen).toEqual([
    `orders read ${orderId}`,
    `drivers read ${driverId}`,
    `page ${orderId} of ${driverId}`,
    `phone ${driverId}`,
    `woken ${driverId}`,
  ]);
});

test('what a process changed of an order is in its memory already, and is not read for its own notice', async () => {
  const { charge, pickUp } = await assignedOrder();
  const { handled } = await api();
  await charge('api');
  await pickUp('api');
  expect(await handled()).toEqual([]);
});

test.each(['api', 'worker'])(
  'the door of an order that waits, found by %s, is where memory has it',
  async (processId) => {
    const { sql } = database;
    const { orderId } = await addOrder(sql, await addStoreRow(sql));
    const { matcher } = await api();
    const found = { point: { lat: 40.7501, lng: -73.9902 }, accuracyMeters: 20, source: 'geocoder' } as const;
    expect(matcher.waitingOrder(orderId)?.dropoff).not.toEqual(found.point);
    await storeOf(sql, processId).recordDropoffs([{ orderId, dropoff: found, outboxId: 0 }]);
    await expect.poll(() => matcher.waitingOrder(orderId)?.dropoff, soon).toEqual(found.point);
  },
);

test.each(['api', 'worker'])(
  'the door of an order on its way, found by %s, is on its driver’s route',
  async (processId) => {
    const { orderId, driverId } = await assignedOrder();
    const { seen, matcher } = await api();
    const found = { point: { lat: 40.7501, lng: -73.9902 }, accuracyMeters: 20, source: 'geocoder' } as const;
    await storeOf(database.sql, processId).recordDropoffs([{ orderId, dropoff: found, outboxId: 0 }]);
    await expect.poll(() => matcher.carriedBy(driverId)[0]?.dropoff, soon).toEqual(found.point);
    await expect.poll(() => seen, soon).toContain(`phone ${driverId}`);
  },
);

test('a door that is where it was known to be is read by nobody', async () => {
  const { orderId } = await assignedOrder();
  const { handled } = await api();
  const [row] = await database.sql`
    select a.lat, a.lng from orders o join dropoff_addresses a on a.id = o.dropoff_address_id where o.id = ${orderId}`;
  const point = row?.lat === null ? null : { lat: row?.lat, lng: row?.lng };
  const dropoff = point && ({ point, accuracyMeters: 20, source: 'geocoder' } as const);
  await storeOf(database.sql, 'worker').recordDropoffs([{ orderId, dropoff, outboxId: 0 }]);
  expect(await handled()).toEqual([`details ${orderId}`]);
});

test('a duty without an answer is read at once, and again with the late notice of its commit', async () => {
  const driverId = await addDriverRow(database.sql);
  const { seen, matcher, unknownOutcomes } = await api();
  const onDuty = !matcher.driver(driverId)?.onDuty;
  unknownOutcomes.addDriver(driverId);
  await expect.poll(() => seen, soon).toContain(`woken ${driverId}`);
  seen.length = 0;
  await storeOf(database.sql, 'api').setDriverDuty(driverId, onDuty);
  await expect.poll(() => matcher.driver(driverId)?.onDuty, soon).toBe(onDuty);
  await expect.poll(() => seen, soon).toContain(`woken ${driverId}`);
});

test('an order with a write of unknown outcome is read at once, and again on its late notice', async () => {
  const { orderId, driverId, charge, text, pickUp } = await assignedOrder();
  const { seen, handled, unknownOutcomes } = await api();
  unknownOutcomes.add(orderId);
  await expect.poll(() => seen, soon).toContain(`woken ${driverId}`);
  expect(seen).toContain(`page ${orderId} of ${driverId}`);
  seen.length = 0;
  await charge('api');
  expect(await handled()).toEqual([]);
  await pickUp('api');
  await text('api');
  expect((await handled()).filter((what) => what.startsWith('orders read'))).toEqual([`orders read ${orderId}`]);
});

test('a notice whose rows cannot be read while the database is away is handled when it is back', async () => {
  const { orderId, driverId, pickUp } = await assignedOrder();
  const { seen, tables } = await api();
  tables.areAway = true;
  await pickUp('other');
  await expect.poll(() => seen.filter((what) => what === `orders read ${orderId}`).length, soon).toBeGreaterThan(1);
  expect(seen).not.toContain(`page ${orderId} of ${driverId}`);
  tables.areAway = false;
  await expect.poll(() => seen, soon).toContain(`woken ${driverId}`);
  expect(seen).toContain(`page ${orderId} of ${driverId}`);
  expect(seen).toContain(`phone ${driverId}`);
});

test('a start whose first reads are late reads again', async () => {
  const { driverId } = await assignedOrder();
  const { matcher } = await api(NO_SECRETS, 2);
  expect(matcher.driver(driverId)).toBeDefined();
});

test('if listening begins again before reads succeed, everything is read as soon as they do', async () => {
  const { seen, tables } = await api();
  tables.areAway = true;
  await database.sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'api' and datname = current_database()`;
  await expect.poll(() => seen.filter((what) => what === 'drivers read all').length, soon).toBeGreaterThan(1);
  expect(seen).not.toContain('everything changed');
  tables.areAway = false;
  await expect.poll(() => seen, soon).toContain('everything changed');
});

test('a notice that everything changed has everything read anew', async () => {
  const { orderId } = await assignedOrder();
  const { seen } = await api();
  await storeOf(database.sql, 'cli').removeAllOrders();
  await expect.poll(() => seen, soon).toContain('everything changed');
  expect(seen).toContain('drivers read all');
  expect(seen).not.toContain(`orders read ${orderId}`);
});

test('a table of tiers with too many rows keeps nothing else from being read', async () => {
  const { seen, tables } = await api();
  tables.hasTooManyTiers = true;
  await storeOf(database.sql, 'cli').removeAllOrders();
  await expect.poll(() => seen, soon).toContain('everything changed');
  expect(seen).toContain('drivers read all');
});

test('the keys of a store that a command changed, and the token of a driver, are looked up again', async () => {
  const { sql } = database;
  const [store, other] = [await addStoreRow(sql), await addStoreRow(sql)];
  const driverId = await addDriverRow(sql);
  for (const id of [store.retailerId, other.retailerId]) STORES.add(id);
  DRIVERS.add(driverId);
  const { seen } = await api();
  const cli = storeOf(sql, 'cli');
  const changes = [
    () => cli.setRetailerStatus(store.retailerId, 'suspended'),
    () => cli.setRetailerStatus(store.retailerId, 'active'),
    () => cli.setOrdersPerSecond(store.retailerId, 5),
    () => cli.setCard(store.retailerId, 'cus_1', 'pm_1'),
  ];
  for (const change of changes) {
    seen.length = 0;
    await change();
    // By the notice of the change, and for what a process keeps by that of the table, too.
    await expect.poll(() => [...new Set(seen)], soon).toEqual([`forgotten ${store.retailerId}`]);
  }
  await cli.deactivateDriver(driverId);
  await expect.poll(() => seen, soon).toContain(`phone ${driverId}`);
  expect(seen).toContain(`forgotten ${driverId}`);
});

test('jobs that a command owes are no matter of the change feed', async () => {
  const { orderId } = await assignedOrder();
  const { handled } = await api();
  const [row] = await database.sql`select id from outbox where order_id = ${orderId}`;
  await storeOf(database.sql, 'cli').leaveToSweepers([row?.id]);
  expect(await handled()).toEqual([]);
});
