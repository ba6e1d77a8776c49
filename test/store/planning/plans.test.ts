import { beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../../src/domain/ids.ts';
import type { Lease } from '../../../src/domain/plan.ts';
import { useFreshDatabase } from '../../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow, draftOrder, NO_EXTRAS, orderRow } from '../../harness/orders.ts';
import { storeOf } from '../../harness/store.ts';

const MINUTE = 60_000;
const LONG = 10 * MINUTE;

const { sql } = await useFreshDatabase();
const store = await addStoreRow(sql);
beforeEach(async () => {
  await sql`delete from planner_leases`;
  await sql`delete from plans`;
});
const of = (processId: string) => storeOf(sql, processId);
const expire = () => sql`update planner_leases set expires_at = now() - interval '1 second'`;
const take = async (processId: string): Promise<Lease> => {
  const lease = await of(processId).takeLease('all', LONG);
  if (!lease) throw new Error(`${processId} did not get the right to plan`);
  return lease;
};

/** Takes the right when the one before has run out. */
async function takeAfter(processId: string): Promise<Lease> {
  await expire();
  return take(processId);
}

const [one, two, driver] = [newId(), newId(), newId()];
const plan = (orderId: string, doorMs = 2_000) => ({ orderId, driverId: driver, pickupMs: 1_000, doorMs });
const written = async () => {
  const rows = await sql`select order_id, door_at, epoch from plans order by order_id`;
  return new Map(rows.map(({ order_id, door_at, epoch }) => [order_id, [door_at.getTime(), epoch]]));
};

describe('the right to plan', () => {
  it('is one process’s, which renews it at the same epoch', async () => {
    expect(await of('a').takeLease('all', LONG)).toEqual({ region: 'all', epoch: 1 });
    expect(await of('b').takeLease('all', LONG)).toBeNull();
    expect(await of('a').takeLease('all', LONG, 1)).toEqual({ region: 'all', epoch: 1 });
    expect(await of('b').takeLease('another', LONG)).toEqual({ region: 'another', epoch: 1 });
  });

  it('is anyone’s where the clock was set back, so that it would last longer than any does', async () => {
    await take('a');
    expect(await of('b').takeLease('all', LONG)).toBeNull();
    await sql`update planner_leases set expires_at = expires_at + interval '1 hour'`;
    expect(await of('b').takeLease('all', LONG)).toMatchObject({ epoch: 2 });
  });

  it('has a higher epoch for a holder who gave up meanwhile, so that what they noted down before is forgotten', async () => {
    const before = await take('a');
    await of('a').writePlans(before, [plan(one), plan(two)], []);
    expect(await of('a').takeLease('all', LONG, null)).toMatchObject({ epoch: 2 });
    const lease = await of('a').takeLease('all', LONG, 2);
    expect(lease).toMatchObject({ epoch: 2 });
    await of('a').writePlans(lease as Lease, [plan(one)], [], true);
    expect(await written()).toEqual(new Map([[one, [2_000, 2]]]));
  });

  it('goes on behind the epochs of the plans that are left, where its row was lost', async () => {
    await take('a');
    await of('b').writePlans(await takeAfter('b'), [plan(one)], []);
    await sql`delete from planner_leases`;
    const lease = await take('c');
    expect(lease).toMatchObject({ epoch: 3 });
    await of('c').writePlans(lease, [plan(two)], [], true);
    expect([...(await written()).keys()]).toEqual([two]);
  });

  it('has a higher epoch with each holder, also where the one before comes back', async () => {
    await take('a');
    await expire();
    expect(await take('b')).toMatchObject({ epoch: 2 });
    await expire();
    expect(await take('a')).toMatchObject({ epoch: 3 });
    await expire();
    expect(await take('a')).toMatchObject({ epoch: 4 });
  });

  it('goes to one of those who ask at the same moment', async () => {
    const asked = await Promise.all(Array.from({ length: 8 }, (_, n) => of(`p${n}`).takeLease('all', LONG)));
    expect(asked.filter((lease) => lease !== null)).toEqual([{ region: 'all', epoch: 1 }]);
  });

  it('is anyone’s once it was given back, but not by a holder of before', async () => {
    const old = await take('a');
    await of('a').leaveLease(old);
    const lease = await take('b');
    await of('a').leaveLease(old);
    expect(await of('c').takeLease('all', LONG)).toBeNull();
    await of('b').leaveLease(lease);
    expect(await take('c')).toMatchObject({ epoch: 3 });
  });
});

describe('an assignment of the planner', () => {
  const near = (driverId: string) => ({ driverId, shownMeters: 120 });

  it('is refused once another process plans, and leaves no trace', async () => {
    const [{ orderId }, driverId] = [await addOrder(sql, store), await addDriverRow(sql)];
    const old = await take('a');
    await expire();
    await take('b');
    const before = await orderRow(sql, orderId);
    expect(await of('a').assignWaiting(orderId, near(driverId), undefined, old)).toEqual({ kind: 'lease_lost' });
    expect(await orderRow(sql, orderId)).toEqual(before);
  });

  it('is refused once the right has expired, whoever has it next', async () => {
    const [{ orderId }, driverId] = [await addOrder(sql, store), await addDriverRow(sql)];
    const lease = await take('a');
    await expire();
    expect(await of('a').assignWaiting(orderId, near(driverId), undefined, lease)).toEqual({ kind: 'lease_lost' });
  });

  it('goes before the time from which an order would go by itself', async () => {
    const driverId = await addDriverRow(sql);
    const extras = { ...NO_EXTRAS, readyAt: new Date(Date.now() + 3 * 60 * MINUTE) };
    const draft = await draftOrder(sql, store, { extras });
    await of('a').insertOrders([{ ...draft, dispatchFromMs: Date.now() + 2 * 60 * MINUTE }]);
    expect(await of('a').assignWaiting(draft.id, near(driverId))).toEqual({ kind: 'order_gone' });
    const lease = await take('a');
    expect(await of('a').assignWaiting(draft.id, near(driverId), undefined, lease)).toMatchObject({ kind: 'assigned' });
  });
});

describe('what is planned', () => {
  it('is written, changed and forgotten', async () => {
    const lease = await take('a');
    expect(await of('a').writePlans(lease, [plan(one), plan(two)], [])).toBe(true);
    expect(await of('a').writePlans(lease, [plan(one, 3_000)], [two])).toBe(true);
    expect(await written()).toEqual(new Map([[one, [3_000, 1]]]));
    expect(await of('a').writePlans(lease, [], [])).toBe(true);
    expect((await written()).size).toBe(1);
  });

  it('is forgotten with the process that planned it, but for what the next one plans again', async () => {
    await of('a').writePlans(await take('a'), [plan(one), plan(two)], []);
    await expire();
    const lease = await take('b');
    await of('b').writePlans(lease, [plan(one)], []);
    expect((await written()).size).toBe(2);
    await of('b').writePlans(lease, [], [], true);
    expect(await written()).toEqual(new Map([[one, [2_000, 2]]]));
  });

  it('is not written by a process that plans no more', async () => {
    const old = await take('a');
    await of('a').writePlans(old, [plan(one)], []);
    await expire();
    await take('b');
    expect(await of('a').writePlans(old, [plan(two)], [one])).toBe(false);
    expect(await written()).toEqual(new Map([[one, [2_000, 1]]]));
  });
});
