import { describe, expect, it } from 'vitest';
import { createLocateJob, LOCATE_BUSY_SECONDS, LOCATE_USEFUL_SECONDS } from '../../src/dispatch/locate-job.ts';
import { OrderEvents } from '../../src/dispatch/order-events.ts';
import type { DropoffPoint } from '../../src/domain/dropoff.ts';
import { newId } from '../../src/domain/ids.ts';
import type { RejectedCandidate } from '../../src/domain/rejected-candidate.ts';
import type { NewOrder } from '../../src/store/orders/orders-create.ts';
import type { Geocoder } from '../../src/vendors/geocoder.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { addDriverRow, addStoreRow, draftOrder, UNSTAMPED } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';
import { NO_ZIPS } from '../harness/towns.ts';
import { noticesDuring } from '../store/transaction.ts';

const ORIGIN = 'test';
const BY_ZIP: DropoffPoint = { point: { lat: 37.7, lng: -122.4 }, accuracyMeters: 10_000, source: 'zip_centroid' };
const DOOR: DropoffPoint = { point: { lat: 37.7665, lng: -122.4219 }, accuracyMeters: 12, source: 'geocoder' };

const database = await useFreshDatabase();
const { sql } = database;
const store = await addStoreRow(sql);
const { retailerId } = store;

async function newOrder(changes: Partial<NewOrder> = {}, locate = true) {
  const order = { ...(await draftOrder(sql, store)), ...changes };
  const committed = (await storeOf(sql, ORIGIN).insertOrders([order], { locate, smsDelaySeconds: 0 })).get(order.id);
  const job = committed?.outbox.find(({ queue }) => queue === 'locate');
  return { orderId: order.id, job, outboxId: job?.id ?? 0 };
}

type Answer = Awaited<ReturnType<Geocoder['geocode']>>;
const FOUND: Answer = { kind: 'found', point: DOOR.point, accuracyMeters: DOOR.accuracyMeters };
const NOT_FOUND: Answer = { kind: 'not_found' };
const AWAY: Answer = { kind: 'unavailable' };
const BUSY: Answer = { kind: 'busy' };
let asked: string[];
let told: string[];
/** @param knowsZip whether the table of ZIP codes has the dropoff's */
function runJob(orderId: string, outboxId: number, answer: Answer, knowsZip = false) {
  asked = [];
  told = [];
  const geocoder = {
    async geocode(text: string, caller: string) {
      asked.push(text);
      expect(caller).toBe(retailerId);
      return answer;
    },
  };
  const events = new OrderEvents();
  events.subscribe({ detailsChanged: (id) => void told.push(id) });
  const { point, accuracyMeters } = BY_ZIP;
  const zips = { ...NO_ZIPS, area: () => (knowsZip ? { point, accuracyMeters } : undefined) };
  const deps = { store: storeOf(sql, ORIGIN), places: { geocoder, zips }, events, random: () => 1 };
  return createLocateJob(deps)({ orderId, outboxId });
}
const isDone = async (outboxId: number) =>
  (await sql`select done_at is not null as done from outbox where id = ${outboxId}`)[0]?.done;

/** The dropoff's point on record; null where there is none. */
async function pointOf(orderId: string): Promise<DropoffPoint | null> {
  const order = await storeOf(sql).findStoreOrder(orderId, retailerId);
  const { lat, lng, accuracy_meters, source } = order?.dropoff_point ?? {};
  if (lat == null || lng == null) return null;
  return { point: { lat, lng }, accuracyMeters: accuracy_meters, source } as DropoffPoint;
}

const trackedDropoff = async (orderId: string) =>
  (await storeOf(sql).findTrackedByIds([orderId])).get(orderId)?.dropoff;

describe('the job that finds a dropoff', () => {
  it('is written by the insert of the order if there is a geocoder', async () => {
    expect((await newOrder()).job).toBeDefined();
    expect((await newOrder({}, false)).job).toBeUndefined();
  });

  it('reads the address, records the point, ends, and updates the pages', async () => {
    const { orderId, outboxId } = await newOrder({ dropoff: BY_ZIP });
    expect(await pointOf(orderId)).toEqual(BY_ZIP);
    const heard = await noticesDuring(database, async () => {
      expect(await runJob(orderId, outboxId, FOUND)).toEqual({ kind: 'done' });
    });
    expect(heard.sort()).toEqual([`${ORIGIN}:details:${orderId}`, `${ORIGIN}:door:${orderId}`]);
    expect(asked).toEqual(['401 Valencia St, San Francisco, CA 94103']);
    expect(await pointOf(orderId)).toEqual(DOOR);
    expect(await isDone(outboxId)).toBe(true);
    expect(told).toEqual([orderId]);
    expect(await trackedDropoff(orderId)).toEqual({ ...DOOR.point, accuracyMeters: 12 });
  });

  it('changes nothing about the order itself', async () => {
    const { orderId, outboxId } = await newOrder();
    const read = () => sql`select * from orders where id = ${orderId}`;
    const [before] = await read();
    await runJob(orderId, outboxId, FOUND);
    expect((await read())[0]).toEqual(before);
  });

  it('records that an address is unknown, apart from one that was not looked up', async () => {
    const { orderId, outboxId } = await newOrder();
    const source = async () =>
      (await storeOf(sql).findStoreOrder(orderId, retailerId))?.dropoff_point.source ?? 'not looked';
    expect(await source()).toBe('not looked');
    await runJob(orderId, outboxId, NOT_FOUND);
    expect(await source()).toBe('unknown');
    expect(await pointOf(orderId)).toBeNull();
    expect(await trackedDropoff(orderId)).toBeNull();
  });

  it('retries while the geocoder is away, and in the end keeps the ZIP code’s point', async () => {
    const { orderId, outboxId } = await newOrder();
    expect(await runJob(orderId, outboxId, AWAY, true)).toMatchObject({ kind: 'retry' });
    expect(await isDone(outboxId)).toBe(false);
    await sql`
      update orders set created_at = now() - make_interval(secs => ${LOCATE_USEFUL_SECONDS + 1}) where id = ${orderId}`;
    expect(await runJob(orderId, outboxId, AWAY, true)).toEqual({ kind: 'done' });
    expect(await pointOf(orderId)).toEqual(BY_ZIP);
  });

  it('goes back to the queue, without an attempt, while its store asks for too many, and ever longer', async () => {
    const { orderId, outboxId } = await newOrder();
    const wait = async () => {
      const result = await runJob(orderId, outboxId, BUSY, true);
      return result.kind === 'wait' ? result.forMs / 1_000 : result.kind;
    };
    expect(await wait()).toBeLessThan(LOCATE_BUSY_SECONDS + 2);
    expect(await isDone(outboxId)).toBe(false);
    await sql`update orders set created_at = now() - interval '1 hour' where id = ${orderId}`;
    expect(await wait()).toBeGreaterThan(1_800);
    await sql`
      update orders set created_at = now() - make_interval(secs => ${LOCATE_USEFUL_SECONDS + 1}) where id = ${orderId}`;
    expect(await wait()).toBe('done');
  });

  it('asks no geocoder for an order that has ended', async () => {
    const { orderId, outboxId } = await newOrder();
    await sql`update orders set status = 'cancelled' where id = ${orderId}`;
    expect(await runJob(orderId, outboxId, FOUND)).toEqual({ kind: 'done' });
    expect(asked).toEqual([]);
    expect(await isDone(outboxId)).toBe(true);
  });

  it('may run twice, and asks no geocoder once the order is located', async () => {
    const { orderId, outboxId } = await newOrder();
    await runJob(orderId, outboxId, FOUND);
    expect(await runJob(orderId, outboxId, NOT_FOUND)).toEqual({ kind: 'done' });
    expect(asked).toEqual([]);
    expect(await pointOf(orderId)).toEqual(DOOR);
  });
});

describe('an order has on record', () => {
  const rejectedCandidates: RejectedCandidate[] = [
    { driverId: newId(), distanceMeters: 812.4, reason: 'busy' },
    { driverId: newId(), distanceMeters: 900, reason: 'busy' },
    { driverId: newId(), distanceMeters: null, reason: 'excluded' },
  ];
  const onWire = rejectedCandidates.map(({ driverId, distanceMeters, reason }) => ({
    driver_id: driverId,
    distance_meters: distanceMeters === null ? null : Math.round(distanceMeters),
    reason,
  }));
  const eventsShown = async (orderId: string) =>
    (await storeOf(sql).showOrder(orderId))?.events as { type: string; considered?: unknown; data: unknown }[];

  it('the rejected candidates of an assignment at its creation', async () => {
    const driverId = await addDriverRow(sql);
    const { orderId } = await newOrder({ driver: { driverId, shownMeters: 950, rejectedCandidates } });
    const [created, given] = await eventsShown(orderId);
    expect(created).not.toHaveProperty('considered');
    expect(given).toMatchObject({ type: 'driver_assigned', considered: onWire });
    expect(given?.data).toEqual({ driver_id: driverId, distance_meters: 950 });
  });

  it('the rejected candidates of every assignment after a wait', async () => {
    const { orderId } = await newOrder();
    const [first, second] = [await addDriverRow(sql), await addDriverRow(sql)];
    await storeOf(sql, ORIGIN).assignWaiting(orderId, { driverId: first, shownMeters: 10, rejectedCandidates });
    await storeOf(sql, ORIGIN).releaseOrder(orderId, first, 'vehicle', UNSTAMPED);
    await storeOf(sql, ORIGIN).assignWaiting(orderId, { driverId: second, shownMeters: 20, rejectedCandidates: [] });
    const given = (await eventsShown(orderId)).filter(({ type }) => type === 'driver_assigned');
    expect(given.map((event) => event.considered)).toEqual([onWire, undefined]);
  });

  it('the distance at the handover, also in its event', async () => {
    const driverId = await addDriverRow(sql);
    const { orderId } = await newOrder({ driver: { driverId, shownMeters: 5 } });
    await storeOf(sql, ORIGIN).pickUpOrder(orderId, driverId, UNSTAMPED);
    const positionAt = new Date('2026-03-02T15:00:00.000Z');
    const proof = { distanceMeters: 34, positionAt };
    const receipt = { distanceMeters: 900, positionAt, stampIsPlausible: true, doubts: [], proof, pickedUpAt: null };
    await storeOf(sql, ORIGIN).deliverOrder(orderId, driverId, 'photo.jpg', UNSTAMPED, receipt);
    const order = await storeOf(sql).findStoreOrder(orderId, retailerId);
    expect(order?.proof_distance_meters).toBe(34);
    expect(order?.events.at(-1)).toMatchObject({
      type: 'delivered',
      data: { proof_distance_meters: 34, position_at: '2026-03-02T15:00:00.000Z' },
    });
  });
});
