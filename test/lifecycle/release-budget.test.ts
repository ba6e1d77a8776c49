import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { MAX_DRIVER_CAPACITY } from '../../src/domain/driver.ts';
import { newId } from '../../src/domain/ids.ts';
import { connect } from '../../src/postgres/connect.ts';
import { UNSTAMPED } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';
import { openTransaction, untilBlocked } from '../store/transaction.ts';
import { database, retailerId, startDispatch, store, useDispatchWorld } from './dispatch-world.ts';
import { addDriverOnDuty, addOrder } from './orders.ts';

useDispatchWorld();

const HOUR = 3_600;

let driverId: string;
beforeEach(async () => {
  driverId = await addDriverOnDuty(database.sql);
  await database.sql`update drivers set capacity = ${MAX_DRIVER_CAPACITY} where id = ${driverId}`;
});

/** So many orders that the driver has at once. */
async function carried(count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let slot = 0; slot < count; slot++) {
    const id = await addOrder(database.sql, retailerId, 'pending_dispatch', null);
    await database.sql`
      update orders set status = 'driver_assigned', driver_id = ${driverId}, driver_slot = ${slot} where id = ${id}`;
    ids.push(id);
  }
  return ids;
}

/** A process with connections of its own, so many at once. */
async function startProcess(releasesPerHour: number) {
  const sql = connect({ url: database.url, applicationName: 'process', max: 10 });
  onTestFinished(() => sql.end({ timeout: 1 }));
  const { dispatch } = await startDispatch(storeOf(sql, newId()), releasesPerHour);
  return (orderId: string, actionId: string | null = null) =>
    dispatch.actions.release({ orderId, driverId, stamp: { actionId, capturedAt: null } }, 'vehicle');
}

describe('of 20 orders that a driver gives back at once at two processes, to each as many as it has connections', () => {
  const kindsOf = (outcomes: readonly { readonly kind: string }[]) =>
    Object.fromEntries(
      ['done', 'too_many_releases'].map((kind) => [kind, outcomes.filter((o) => o.kind === kind).length]),
    );
  const left = async () =>
    (await database.sql`select id from orders where driver_id = ${driverId} and status = 'driver_assigned'`).length;

  it.each([
    ['without ids', () => null],
    ['each under an id of its own', () => newId()],
    ['all under one id', () => 'always-the-same'],
  ])('the budget goes and the others stay, %s', async (_what, actionId) => {
    const [one, other] = [await startProcess(3), await startProcess(3)];
    const orders = await carried(20);
    const outcomes = await Promise.all(orders.map((id, i) => (i % 2 ? one : other)(id, actionId())));
    expect(kindsOf(outcomes)).toEqual({ done: 3, too_many_releases: 17 });
    expect(await left()).toBe(17);
    for (const outcome of outcomes) {
      if (outcome.kind !== 'too_many_releases') continue;
      expect(outcome.retryAfterSeconds).toBeGreaterThan(HOUR - 60);
      expect(outcome.retryAfterSeconds).toBeLessThanOrEqual(HOUR);
    }
  });

  it('all go without a budget', async () => {
    const release = await startProcess(0);
    const outcomes = await Promise.all((await carried(20)).map((id) => release(id)));
    expect(kindsOf(outcomes)).toEqual({ done: 20, too_many_releases: 0 });
  });
});

describe('a release beyond the budget', () => {
  it('counts what another process has not committed yet', async () => {
    const [first, second] = (await carried(2)) as [string, string];
    const release = await startProcess(1);
    const theirs = await openTransaction(database);
    await storeOf(theirs.sql, 'other').releaseOrder(first, driverId, 'vehicle', UNSTAMPED, 1);
    const mine = release(second);
    await untilBlocked(database);
    await theirs.commit();
    expect(await mine).toMatchObject({ kind: 'too_many_releases' });
  });

  it('that was done before gets its first answer, and one that cannot be says why', async () => {
    const [orderId, next] = (await carried(2)) as [string, string];
    const release = await startProcess(1);
    const first = await release(orderId, 'phone-1');
    expect(await release(orderId, 'phone-1')).toEqual({ ...first, repeated: true });
    expect(await release(next, 'phone-1')).toMatchObject({ kind: 'too_many_releases' });
    expect(await release(newId())).toEqual({ kind: 'not_found' });
    await database.sql`update orders set status = 'picked_up' where id = ${next}`;
    expect(await release(next)).toEqual({ kind: 'illegal', status: 'picked_up' });
  });
});

describe('the pause after a driver’s releases', () => {
  /** So many releases, a second apart, the last one so many seconds ago. */
  const burst = async (count: number, lastSecondsAgo: number) => {
    await database.sql`
      insert into driver_actions (driver_id, action_id, order_id, type, status, sequence, received_at)
      select ${driverId}, gen_random_uuid(), gen_random_uuid(), 'released', 'pending_dispatch', 2,
        now() - make_interval(secs => ${lastSecondsAgo} + n)
      from generate_series(0, ${count}::int - 1) n`;
  };
  const pause = async (perHour = 10) => {
    const seconds = await store.findReleasePause(driverId, perHour);
    // As long as this test may take.
    return { within: (most: number) => seconds > most - 60 && seconds <= most, seconds };
  };

  it('is none for less than the budget, nor for as many over more than an hour', async () => {
    expect(await pause()).toMatchObject({ seconds: 0 });
    await burst(9, 0);
    expect(await pause()).toMatchObject({ seconds: 0 });
    await burst(1, HOUR + 60);
    expect(await pause()).toMatchObject({ seconds: 0 });
    expect(await pause(0)).toMatchObject({ seconds: 0 });
  });

  it('is an hour from the last one after ten within an hour', async () => {
    await burst(10, 600);
    expect((await pause()).within(HOUR - 600)).toBe(true);
  });

  it('is over an hour after the last one', async () => {
    await burst(10, HOUR);
    expect(await pause()).toMatchObject({ seconds: 0 });
  });

  it('doubles with each further ten of a day, and is a day at most', async () => {
    await burst(10, 0);
    await burst(10, 2 * HOUR);
    expect((await pause()).within(2 * HOUR)).toBe(true);
    await burst(10, 5 * HOUR);
    expect((await pause()).within(4 * HOUR)).toBe(true);
    await burst(2_000, 6 * HOUR);
    expect((await pause(1)).within(24 * HOUR)).toBe(true);
  });

  it('counts what this driver gave back, and nothing else that they did', async () => {
    const [pickedUp, released] = (await carried(2)) as [string, string];
    await store.pickUpOrder(pickedUp, driverId, { actionId: 'phone-2', capturedAt: null });
    expect(await pause(1)).toMatchObject({ seconds: 0 });
    await store.releaseOrder(released, driverId, 'vehicle', UNSTAMPED);
    expect((await pause(1)).within(HOUR)).toBe(true);
    expect(await store.findReleasePause(await addDriverOnDuty(database.sql), 1)).toBe(0);
  });
});
