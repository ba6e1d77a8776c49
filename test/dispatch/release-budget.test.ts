import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { createReleaseBudget, pauseAfter } from '../../src/dispatch/release-budget.ts';
import { newId } from '../../src/domain/ids.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { storeOf } from '../harness/store.ts';
import { addDriverOnDuty, addOrder, addRetailer } from '../lifecycle/orders.ts';

const HOUR = 3_600;
/** So many releases, a second apart, the last one so many seconds ago; the last one first. */
const burst = (count: number, lastSecondsAgo: number) => Array.from({ length: count }, (_, i) => lastSecondsAgo + i);

describe('the pause after a driver’s releases', () => {
  it('is none for less than the budget, nor for as many over more than an hour', () => {
    expect(pauseAfter([], 10)).toBe(0);
    expect(pauseAfter(burst(9, 0), 10)).toBe(0);
    expect(pauseAfter([...burst(9, 0), HOUR], 10)).toBe(0);
  });

  it('is an hour from the last one after ten within an hour', () => {
    expect(pauseAfter(burst(10, 0), 10)).toBe(HOUR);
    expect(pauseAfter(burst(10, 600), 10)).toBe(HOUR - 600);
    expect(pauseAfter(burst(10, HOUR), 10)).toBe(0);
  });

  it('doubles with each further ten of a day', () => {
    const twice = [...burst(10, 0), ...burst(10, 2 * HOUR)];
    expect(pauseAfter(twice, 10)).toBe(2 * HOUR);
    expect(pauseAfter([...twice, ...burst(10, 5 * HOUR)], 10)).toBe(4 * HOUR);
  });
});

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

test('counts what the driver released in the tables, with an id of the phone or without, and nobody else’s', async () => {
  const { sql } = database;
  const store = storeOf(sql, 'one');
  const [driverId, other] = [await addDriverOnDuty(sql), await addDriverOnDuty(sql)];
  const retailerId = await addRetailer(sql);
  const release = async (actionId: string | null) => {
    const orderId = await addOrder(sql, retailerId, 'driver_assigned', driverId);
    expect(await store.releaseOrder(orderId, driverId, 'too_far', { actionId, capturedAt: null })).not.toBeNull();
  };
  await release(null);
  await release('phone-1');
  const pickedUp = await addOrder(sql, retailerId, 'driver_assigned', driverId);
  await store.pickUpOrder(pickedUp, driverId, { actionId: 'phone-2', capturedAt: null });
  // Another process counts the same.
  expect(await createReleaseBudget(storeOf(sql, 'two'), 3)(driverId)).toBe(0);
  const left = await createReleaseBudget(storeOf(sql, 'two'), 2)(driverId);
  expect(left).toBeGreaterThan(HOUR - 60);
  expect(left).toBeLessThanOrEqual(HOUR);
  expect(await createReleaseBudget(store, 2)(other)).toBe(0);
  expect(await createReleaseBudget(store, 0)(driverId)).toBe(0);
  expect(await createReleaseBudget(store, 1)(newId())).toBe(0);
});
