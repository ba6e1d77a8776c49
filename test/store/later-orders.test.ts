import { describe, expect, it } from 'vitest';
import type { OrderExtras } from '../../src/domain/order.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { addDriverRow, addStoreRow, draftOrder, NO_EXTRAS, orderRow, UNSTAMPED } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const { sql } = await useFreshDatabase();
const store = await addStoreRow(sql);
const me = storeOf(sql, 'me');
const inHours = (hours: number) => new Date(Date.now() + hours * HOUR);

/** Commits an order of that says so much, which is due then. */
async function add(changes: Partial<OrderExtras>, dispatchFromMs?: number, driverId: string | null = null) {
  const draft = await draftOrder(sql, store, { extras: { ...NO_EXTRAS, ...changes }, driverId });
  const committed = (await me.insertOrders([{ ...draft, dispatchFromMs }])).get(draft.id);
  if (!committed) throw new Error('the order was not committed');
  return { id: draft.id, committed, row: await orderRow(sql, draft.id) };
}
/** An order whose parcel is ready in three hours, and which is due in two. */
const addLater = () => add({ readyAt: inHours(3) }, inHours(2).getTime());
const waitingRow = async (id: string) => (await me.loadWaiting(1_000)).find(({ orderId }) => orderId === id);
const assign = async (id: string) => me.assignWaiting(id, { driverId: await addDriverRow(sql), shownMeters: 1 });

describe('the promise of an order', () => {
  it('is the store’s, or its tier’s after the latest of when it comes, is ready and may be handed over', async () => {
    const plain = await me.insertOrders([await draftOrder(sql, store)]);
    const [committed] = [...plain.values()];
    expect(committed?.deliverBy.getTime()).toBe((committed?.createdAt.getTime() ?? 0) + 180 * MINUTE);
    const readyAt = inHours(1);
    const deliverAfter = inHours(2);
    const deliverBy = inHours(5);
    expect((await add({ size: 'large' })).committed.deliverBy).toEqual(expect.any(Date));
    expect((await add({ readyAt })).committed.deliverBy.getTime()).toBe(readyAt.getTime() + 180 * MINUTE);
    const both = await add({ readyAt, deliverAfter });
    expect(both.committed.deliverBy.getTime()).toBe(deliverAfter.getTime() + 180 * MINUTE);
    const full = await add({ readyAt, deliverAfter, deliverBy, size: 'medium' });
    expect(full.committed.deliverBy).toEqual(deliverBy);
    expect(full.row).toMatchObject({
      ready_at: readyAt,
      deliver_after: deliverAfter,
      deliver_by: deliverBy,
      size: 'medium',
      dispatch_from: null,
    });
    const was = await add({ readyAt: inHours(-0.01) });
    expect(was.committed.deliverBy.getTime()).toBe(was.committed.createdAt.getTime() + 180 * MINUTE);
  });

  it('of an order of the build before is its tier’s, wherever it is read', async () => {
    const { id, committed } = await add({});
    await sql`update orders set deliver_by = null, idempotency_key = 'old', request_fingerprint = 'f' where id = ${id}`;
    const promised = new Date(committed.createdAt.getTime() + 180 * MINUTE);
    expect((await waitingRow(id))?.deliverByMs).toBe(promised.getTime());
    expect((await waitingRow(id))?.readyAtMs).toBe(committed.createdAt.getTime());
    expect((await me.findStoreOrder(id, store.retailerId))?.promised_by).toEqual(promised);
    expect((await me.findPlacedByKeys(store.retailerId, ['old'])).get('old')?.order).toMatchObject({
      deliverBy: promised,
      estimatedDelivery: null,
      isForLater: false,
    });
    expect((await me.resolveUnknown([{ id }])).get(id)?.deliverBy).toEqual(promised);
    const filter = { externalId: null, createdAfter: null, createdBefore: null, updatedAfter: null, cursor: null };
    const { orders } = await me.listStoreOrders(store.retailerId, { ...filter, status: null, limit: 100 });
    expect(orders.find((order) => order.id === id)?.times.deliverBy).toEqual(promised);
  });

  it('follows the tier table, and orders that were created keep theirs', async () => {
    const { id, committed } = await add({});
    expect(await me.setTier('standard', { promiseMinutes: 90 })).toBe(true);
    expect((await me.loadTiers()).get('standard')?.promiseMinutes).toBe(90);
    const next = await add({});
    expect(next.committed.deliverBy.getTime() - next.committed.createdAt.getTime()).toBe(90 * MINUTE);
    expect((await waitingRow(id))?.deliverByMs).toBe(committed.deliverBy.getTime());
    await me.setTier('standard', { promiseMinutes: 180 });
  });
});

describe('an order for later', () => {
  it('is uncharged, owes nothing but its end, and expires so much later', async () => {
    const { committed, row } = await addLater();
    const { dispatch_from: due } = row as { dispatch_from: Date };
    expect(row).toMatchObject({ status: 'pending_dispatch', payment_status: 'not_charged', driver_id: null });
    expect(committed.expiresAt.getTime()).toBe(due.getTime() + 86_400_000);
    const jobs = committed.outbox.map(({ queue, runAt }) => [queue, runAt]);
    expect(jobs.filter(([queue]) => queue !== 'sms')).toEqual([['redispatch', committed.expiresAt]]);
  });

  it('is read as one that waits for its time, with what the search for a driver needs', async () => {
    const { id, row, committed } = await addLater();
    const due = (row.dispatch_from as Date).getTime();
    expect(await waitingRow(id)).toMatchObject({
      dueMs: due,
      sinceMs: due,
      size: 'small',
      readyAtMs: (row.ready_at as Date).getTime(),
      deliverByMs: committed.deliverBy.getTime(),
      dropoff: null,
    });
    expect((await me.loadOrderStates([id]))[0]?.waiting).toMatchObject({ dueMs: due });
    expect((await me.findMatchable(1_000, 90_000)).orderIds).toContain(id);
  });

  it('is read with its window, once it is due as well', async () => {
    const deliverAfter = inHours(4);
    const deliverBy = inHours(6);
    const { id } = await add({ deliverAfter, deliverBy, size: 'large' }, inHours(3).getTime());
    const window = { deliverAfterMs: deliverAfter.getTime(), deliverByMs: deliverBy.getTime(), size: 'large' };
    expect(await waitingRow(id)).toMatchObject(window);
    await me.makeDue(id);
    expect(await waitingRow(id)).toMatchObject(window);
  });

  it('is given to nobody before its time, and to anybody from then on', async () => {
    const { id } = await addLater();
    expect(await assign(id)).toEqual({ kind: 'order_gone' });
    expect(await orderRow(sql, id)).toMatchObject({ status: 'pending_dispatch', driver_id: null });
    // A second is what the clocks of processes may differ by.
    await sql`update orders set dispatch_from = now() + interval '900 milliseconds' where id = ${id}`;
    expect(await assign(id)).toMatchObject({ kind: 'assigned' });
  });

  it('is due when the sandbox says so, and expires so much earlier', async () => {
    const { id, row } = await addLater();
    expect(await me.makeDue(id)).toBe(true);
    const after = (await orderRow(sql, id)) as { dispatch_from: Date; expires_at: Date };
    expect(after.expires_at.getTime() - after.dispatch_from.getTime()).toBe(86_400_000);
    expect(after.dispatch_from.getTime()).toBeLessThan((row.dispatch_from as Date).getTime());
    expect(await waitingRow(id)).toMatchObject({ sinceMs: after.dispatch_from.getTime() });
    expect(await waitingRow(id)).not.toHaveProperty('dueMs');
    expect(await me.makeDue(id)).toBe(false);
    expect(await assign(id)).toMatchObject({ kind: 'assigned' });
  });

  it('that was given back waits for a driver, and no more for its time', async () => {
    const { id } = await addLater();
    await me.makeDue(id);
    const driverId = await addDriverRow(sql);
    await me.assignWaiting(id, { driverId, shownMeters: 1 });
    expect(await me.releaseOrder(id, driverId, 'vehicle', UNSTAMPED)).not.toBeNull();
    expect(await waitingRow(id)).not.toHaveProperty('dueMs');
    expect(await assign(id)).toMatchObject({ kind: 'assigned' });
  });

  it('is cancelled and expired as any other, and not as surplus of a load test', async () => {
    const [cancelled, expired, kept] = [await addLater(), await addLater(), await addLater()];
    const by = { retailerId: store.retailerId };
    expect((await me.cancelOrder(cancelled.id, by, 'other'))?.status).toBe('cancelled');
    expect(await me.expireOrder(expired.id)).toBeNull();
    await me.endWait(expired.id);
    expect((await me.expireOrder(expired.id))?.status).toBe('expired');
    const surplus = { createdBefore: new Date(Date.now() + MINUTE), keep: 0, keepIds: [], limit: 1_000 };
    const gone = await me.expireSurplus(surplus);
    expect(gone.map(({ id }) => id)).not.toContain(kept.id);
    expect(await waitingRow(kept.id)).toBeDefined();
    expect(await me.readOldestWaiting()).toBe(0);
  });

  it('is shown to the operator with its time', async () => {
    const { id, row } = await addLater();
    expect(await me.showOrder(id)).toMatchObject({ waiting_because: 'not_yet' });
    const search = { status: null, since: null, until: null, text: id, retailerIds: null, driverIds: null };
    const { rows } = await me.listOrders(search, { limit: 10, after: null });
    expect(rows).toMatchObject([{ waiting_because: 'not_yet', dispatch_from: row.dispatch_from }]);
    // Behind those that wait for a driver, though it was created before them.
    const { id: next } = await add({});
    const mine = { ...search, text: null, retailerIds: [store.retailerId], status: 'pending_dispatch' as const };
    const listed = (await me.listOrders(mine, { limit: 100, after: null })).rows.map((each) => each.order_id);
    expect(listed.indexOf(next)).toBeLessThan(listed.indexOf(id));
    expect(await me.nudgeOrder(id)).toBe(false);
    await me.makeDue(id);
    expect(await me.nudgeOrder(id)).toBe(true);
    expect(await me.showOrder(id)).toMatchObject({ waiting_because: expect.stringMatching(/^(no|none|all)_/) });
    expect(await me.readStats()).toMatchObject({ orders_not_yet: expect.any(Number) });
  });
});

describe('events', () => {
  it('have the promise, and the window of an order that waits for its time', async () => {
    await sql`truncate unnumbered_events, store_events`;
    const later = await addLater();
    const { committed } = await add({}, undefined, await addDriverRow(sql));
    while ((await me.numberEvents()).isMore);
    const { events } = await me.readEvents(store.retailerId, null, 100);
    const of = (id: string) => events.filter(({ data }) => data.order_id === id).map(({ data }) => data);
    expect(of(later.id)).toMatchObject([
      {
        status: 'pending_dispatch',
        deliver_by: later.committed.deliverBy.toISOString(),
        estimated_delivery: {
          from: (later.row.ready_at as Date).toISOString(),
          to: later.committed.deliverBy.toISOString(),
        },
      },
    ]);
    // The same as the API says, once the door is found.
    await sql`
      update dropoff_addresses a set lat = o.pickup_lat + 0.05, lng = o.pickup_lng - 0.01, accuracy_meters = 20,
        point_source = 'geocoder'
      from orders o where o.id = ${later.id} and a.id = o.dropoff_address_id`;
    const { events: again } = await me.readEvents(store.retailerId, null, 100);
    const [found] = again.filter(({ data }) => data.order_id === later.id).map(({ data }) => data);
    const [tracked] = (await me.findTrackedByIds([later.id])).values();
    expect(found?.estimated_delivery).toEqual(tracked?.planned);
    const [from, readyAt] = [tracked?.planned?.from ?? '', later.row.ready_at as Date];
    // 5.6 km by roads at 40 km/h: 689 s.
    expect((Date.parse(from) - readyAt.getTime()) / 1_000).toBe(689);
    const gone = { deliver_by: committed.deliverBy.toISOString(), estimated_delivery: null };
    expect(of(committed.id)).toMatchObject([gone, gone]);
  });
});
