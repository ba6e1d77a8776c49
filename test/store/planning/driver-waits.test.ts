import { beforeEach, expect, test } from 'vitest';
import type { IdleWait } from '../../../src/domain/idle-wait.ts';
import type { Lease } from '../../../src/domain/plan.ts';
import { IDLE_WAIT_MS, IDLE_WAIT_PAUSE_MS } from '../../../src/limits.ts';
import { useFreshDatabase } from '../../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow } from '../../harness/orders.ts';
import { storeOf } from '../../harness/store.ts';
import { noticesDuring } from '../transaction.ts';

const PLACE = { lat: 37.76415, lng: -122.41957, name: 'Corner Market' };
const OTHER = { lat: 37.8, lng: -122.4, name: null };

const database = await useFreshDatabase();
const { sql } = database;
let lease: Lease;
let driverId: string;
const store = storeOf(sql, 'me');
beforeEach(async () => {
  driverId = await addDriverRow(sql);
  lease = (await store.takeLease('all', 60_000)) as Lease;
});

const waitAt = async (id = driverId) => (await store.findDriverState(id))?.waitAt;
const asks = (place: IdleWait['place'] = PLACE, id = driverId): IdleWait[] => [{ driverId: id, place }];
/** As if the driver had been asked, and come on duty, earlier. */
const passed = async (ms: number) => {
  const ago = sql`make_interval(secs => ${ms / 1_000})`;
  await sql`update drivers set free_since = free_since - ${ago} where id = ${driverId}`;
  await sql`update driver_waits set asked_at = asked_at - ${ago} where driver_id = ${driverId}`;
};

test('a driver who is asked is told the place, and every process hears it', async () => {
  expect(await waitAt()).toBeNull();
  const notices = await noticesDuring(database, async () => {
    expect(await store.writeWaits(lease, asks(), [])).toEqual([driverId]);
  });
  expect(notices).toEqual([`:driver:${driverId}`]);
  expect(await waitAt()).toEqual(PLACE);
  const rows = (await store.loadWaits()).filter((row) => row.driverId === driverId);
  const { lat, lng } = PLACE;
  expect(rows).toEqual([{ driverId, place: { lat, lng }, askedMs: expect.any(Number), isOver: false }]);
});

test('it ends once, and every process hears that too', async () => {
  await store.writeWaits(lease, asks(), []);
  const notices = await noticesDuring(database, async () => {
    expect(await store.writeWaits(lease, [], [driverId])).toEqual([driverId]);
    expect(await store.writeWaits(lease, [], [driverId])).toEqual([]);
  });
  expect(notices).toEqual([`:driver:${driverId}`]);
  expect(await waitAt()).toBeNull();
  expect((await store.loadWaits()).find((row) => row.driverId === driverId)?.isOver).toBe(true);
});

test('a driver is asked no more often than the pause allows, whether they came or not', async () => {
  await store.writeWaits(lease, asks(), []);
  expect(await store.writeWaits(lease, asks(OTHER), [])).toEqual([]);
  await store.writeWaits(lease, [], [driverId]);
  expect(await store.writeWaits(lease, asks(OTHER), [])).toEqual([]);
  await passed(IDLE_WAIT_PAUSE_MS);
  expect(await store.writeWaits(lease, asks(OTHER), [driverId])).toEqual([driverId]);
  expect(await waitAt()).toEqual(OTHER);
});

test('a process that lost the lease asks nobody, and ends nothing', async () => {
  await store.writeWaits(lease, asks(), []);
  const other = await addDriverRow(sql);
  const notices = await noticesDuring(database, async () => {
    const lost = { ...lease, epoch: lease.epoch - 1 };
    expect(await store.writeWaits(lost, asks(OTHER, other), [driverId])).toBeNull();
    await store.leaveLease(lease);
    expect(await store.writeWaits(lease, asks(OTHER, other), [driverId])).toBeNull();
  });
  expect(notices).toEqual([]);
  expect([await waitAt(), await waitAt(other)]).toEqual([PLACE, null]);
});

test('who is off duty is not asked', async () => {
  await store.setDriverDuty(driverId, false);
  expect(await store.writeWaits(lease, asks(), [])).toEqual([]);
});

test('it does not hold while the driver has an order', async () => {
  await store.writeWaits(lease, asks(), []);
  await addOrder(sql, await addStoreRow(sql), { driverId });
  expect(await store.findDriverState(driverId)).toMatchObject({ orders: [{ id: expect.any(String) }], waitAt: null });
});

test('it ends with the duty, and after a while by itself', async () => {
  await store.writeWaits(lease, asks(), []);
  await store.setDriverDuty(driverId, false);
  expect(await waitAt()).toBeNull();
  await store.setDriverDuty(driverId, true);
  expect(await waitAt()).toBeNull();
  await passed(IDLE_WAIT_PAUSE_MS);
  await store.writeWaits(lease, asks(), []);
  expect(await waitAt()).toEqual(PLACE);
  await passed(IDLE_WAIT_MS);
  expect(await waitAt()).toBeNull();
});
