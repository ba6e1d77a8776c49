import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { TrackedOrder } from '../../src/domain/tracked.ts';
import { POSITION_FRESH_MS } from '../../src/limits.ts';
import { LIVE_READ_RETRY_MS, MAX_LIVE_READS } from '../../src/pages/latest-reader.ts';
import {
  createTracking,
  MAX_SOCKETS_PER_ORDER,
  MAX_TRACKING_LOOKUPS_PER_ADDRESS,
  POSITION_PUBLISH_MS,
  ROUTE_READ_MS,
  type Tracking,
} from '../../src/tracking/live.ts';
import type { TrackingView } from '../../src/tracking/tracking-view.ts';
import { ViewerPlaces } from '../../src/tracking/viewer-places.ts';
import type { Viewer } from '../../src/tracking/watched.ts';
import { gate } from '../http/support.ts';
import { assigned, behind, DRIVER_ID, delivered, matcherAt, NOW_MS, pickedUp, TOKEN, trackedOrder } from './orders.ts';
import { fakeClock, MemorySocket, pass, publisher, settle } from './sockets.ts';

/** Places of all pages, and enough orders for them. */
const PLACES = 1_000;
const ORDERS = (2 * PLACES) / MAX_SOCKETS_PER_ORDER;
const ORDER_ID = trackedOrder().orderId;
let order: TrackedOrder | null;
let position: { lat: number; lng: number; atMs: number } | null;
let sockets: MemorySocket<Viewer>[];
let failures: unknown[];
let tracking: Tracking;
const findByToken = vi.fn<(token: string) => Promise<TrackedOrder | null>>();
const findById = vi.fn<(orderId: string) => Promise<TrackedOrder | null>>();

beforeEach(() => {
  fakeClock(NOW_MS);
  order = trackedOrder();
  position = null;
  sockets = [];
  failures = [];
  findByToken.mockReset().mockImplementation(async (token) => (token === TOKEN ? order : null));
  findById.mockReset().mockImplementation(async () => order);
  tracking = createTracking({
    store: {
      findTrackedByToken: findByToken,
      async findTrackedByIds(ids) {
        const found = await Promise.all(ids.map(findById));
        return new Map(found.flatMap((each, index) => (each ? [[ids[index] as string, each]] : [])));
      },
    },
    matcher: { driver: (id) => matcherAt(position).driver(id) },
    transport: { publish: (topic, text) => publisher(sockets)(topic, text) },
    now: Date.now,
    failed: (error) => failures.push(error),
    places: new ViewerPlaces(PLACES),
  });
});
afterEach(() => {
  tracking.close();
  vi.useRealTimers();
});

/** A page that opens; pushed before it is opened, as a transport knows a socket before its behaviour does. */
async function open(orderId?: string, network = ''): Promise<MemorySocket<Viewer>> {
  const data = orderId
    ? { orderId, network, watching: false, lastPingMs: 0 }
    : await tracking.behaviour.accept({ params: [TOKEN], remoteAddress: network });
  if ('refuse' in data) throw new Error(`refused with ${data.refuse}`);
  const socket = new MemorySocket(tracking.behaviour, data);
  sockets.push(socket);
  return socket;
}
/** The same once it has its snapshot. */
async function opened(orderId?: string, network = ''): Promise<MemorySocket<Viewer>> {
  const socket = await open(orderId, network);
  await settle();
  return socket;
}
const sequences = (socket: MemorySocket<Viewer>) =>
  socket.ofType('order').map((message) => (message.order as { sequence: number }).sequence);

const otherDoor = (lat: number) => ({ lat, lng: -73.98765, accuracyMeters: 20 });

describe('opening', () => {
  it('refuses an unknown token, a malformed one and an order long over', async () => {
    const accept = (token: string) => tracking.behaviour.accept({ params: [token], remoteAddress: '' });
    expect(await accept('x'.repeat(24))).toEqual({ refuse: 404 });
    expect(await accept('../../etc')).toEqual({ refuse: 404 });
    order = delivered({ deliveredAt: '2025-01-01T00:00:00.000Z' });
    expect(await accept(TOKEN)).toEqual({ refuse: 410 });
  });

  it('refuses an order that ended over an hour ago, unless it may still change', async () => {
    const accept = () => tracking.behaviour.accept({ params: [TOKEN], remoteAddress: '' });
    const [before, within] = ['2026-03-02T13:59:59.000Z', '2026-03-02T14:00:00.000Z'];
    order = delivered({ deliveredAt: before });
    expect(await accept()).toEqual({ refuse: 410 });
    for (const open of [delivered({ deliveredAt: within }), pickedUp({ status: 'undeliverable', endedAt: before })]) {
      order = open;
      expect(await accept()).toMatchObject({ orderId: ORDER_ID });
    }
  });

  it('looks up so many links from one address at once, and others’ meanwhile', async () => {
    const slow = gate<TrackedOrder | null>();
    const accept = (remoteAddress: string) => tracking.behaviour.accept({ params: [TOKEN], remoteAddress });
    findByToken.mockReturnValue(slow.opened);
    const flood = Array.from({ length: MAX_TRACKING_LOOKUPS_PER_ADDRESS }, (_, index) =>
      accept(`2001:db8:0:1::${index.toString(16)}`),
    );
    expect(await accept('2001:db8:0:1::ffff')).toEqual({ refuse: 503 });
    const other = accept('198.51.100.7');
    slow.open(order);
    expect(await other).toMatchObject({ orderId: ORDER_ID });
    await Promise.all(flood);
    expect(await accept('2001:db8:0:1::ffff')).toMatchObject({ orderId: ORDER_ID });
  });

  it('sends the snapshot', async () => {
    const socket = await opened();
    expect(socket.ofType('order')).toHaveLength(1);
    expect(socket.received[0]).toMatchObject({ order: { sequence: 1, status: 'pending_dispatch' } });
  });

  it('sends a later page its own snapshot and the first one nothing again', async () => {
    const first = await opened();
    const second = await opened();
    expect(sequences(first)).toEqual([1]);
    expect(sequences(second)).toEqual([1]);
  });

  it('reaches a socket with a change that falls between its subscription and its snapshot', async () => {
    const slow = gate<TrackedOrder>();
    findById.mockReturnValueOnce(slow.opened);
    const socket = await opened();
    // The read of the snapshot is under way and will return what was true before the change.
    order = assigned();
    const told = tracking.orderChanged(ORDER_ID);
    slow.open(trackedOrder());
    await told;
    expect(sequences(socket)).toEqual([1, 2]);
  });

  it('closes the socket of an order that is no longer there', async () => {
    order = null;
    const socket = await opened(ORDER_ID);
    expect(socket.closed).toEqual({ code: 4404, reason: 'unknown order' });
    expect(tracking.watched()).toEqual({ orders: 0, sockets: 0 });
  });

  it('refuses one socket too many on one order and leaves the others alone', async () => {
    for (let count = 0; count < MAX_SOCKETS_PER_ORDER; count += 1) await open();
    const surplus = await open();
    expect(surplus.closed?.code).toBe(1013);
    await settle();
    expect(tracking.watched()).toEqual({ orders: 1, sockets: MAX_SOCKETS_PER_ORDER });
    expect(sockets.slice(0, -1).every((socket) => sequences(socket).length === 1)).toBe(true);
  });

  it('takes a place of the network with the most for a page from elsewhere once all are taken', async () => {
    for (let index = 0; index < PLACES; index += 1) await open(`order ${index % ORDERS}`, 'flood');
    const [first, second] = sockets;
    const accepted = (remoteAddress: string) => tracking.behaviour.accept({ params: [TOKEN], remoteAddress });
    expect(await accepted('flood')).toEqual({ refuse: 503 });
    expect(findByToken).not.toHaveBeenCalled();
    const page = await opened(undefined, 'elsewhere');
    expect(sequences(page)).toEqual([1]);
    expect([first?.closed?.code, second?.closed]).toEqual([1013, null]);
    // One that was accepted while a place was free.
    expect((await open('order 0', 'flood')).closed?.code).toBe(1013);
    expect(second?.closed).toBeNull();
    expect(tracking.watched()).toEqual({ orders: ORDERS + 1, sockets: PLACES });
  });

  it('leaves networks alone that have about as many pages as the one of a new page', async () => {
    for (let index = 0; index < PLACES; index += 1) await open(`order ${index % ORDERS}`, `network ${index}`);
    expect(await tracking.behaviour.accept({ params: [TOKEN], remoteAddress: 'network 0' })).toEqual({ refuse: 503 });
    expect((await open('order 0', 'one more')).closed?.code).toBe(1013);
    expect(tracking.watched().sockets).toBe(PLACES);
  });
});

describe('changes', () => {
  it('cost no read while nobody watches', async () => {
    await tracking.orderChanged(ORDER_ID);
    tracking.driverMoved(ORDER_ID, { driverId: DRIVER_ID, lat: 1, lng: 2, atMs: NOW_MS });
    const socket = await opened();
    socket.close(1000, '');
    findById.mockClear();
    await tracking.orderChanged(ORDER_ID);
    tracking.everythingChanged();
    expect(findById).not.toHaveBeenCalled();
    expect(tracking.watched()).toEqual({ orders: 0, sockets: 0 });
  });

  it('of one order share one more read while a read is under way', async () => {
    const socket = await opened();
    findById.mockClear();
    const slow = gate<TrackedOrder>();
    findById.mockReturnValueOnce(slow.opened);
    const first = tracking.orderChanged(ORDER_ID);
    await settle();
    order = pickedUp();
    const others = [1, 2, 3, 4, 5].map(() => tracking.orderChanged(ORDER_ID));
    await settle();
    expect(findById).toHaveBeenCalledTimes(1);
    slow.open(assigned());
    await Promise.all([first, ...others]);
    expect(findById).toHaveBeenCalledTimes(2);
    expect(sequences(socket)).toEqual([1, 2, 3]);
  });

  it('that are told of an order and of its driver cost one read', async () => {
    order = assigned();
    await opened();
    findById.mockClear();
    order = pickedUp();
    void tracking.orderChanged(ORDER_ID);
    tracking.driverChanged(DRIVER_ID);
    await settle();
    expect(findById).toHaveBeenCalledTimes(1);
  });

  it('of a plan reach the pages, though no event of the order happened, and a plan that rests is not sent again', async () => {
    const planned = (minutes: number) => ({
      from: new Date(NOW_MS + minutes * 60_000).toISOString(),
      to: new Date(NOW_MS + (minutes + 10) * 60_000).toISOString(),
    });
    const socket = await opened();
    for (const minutes of [20, 20, 35]) {
      order = trackedOrder({ planned: planned(minutes) });
      await tracking.orderChanged(ORDER_ID);
      await settle();
    }
    order = trackedOrder();
    await tracking.orderChanged(ORDER_ID);
    await settle();
    expect(socket.ofType('order').map((message) => message.order)).toMatchObject([
      { is_planned: false, arrival: null },
      { is_planned: true, arrival: { earliest_minutes: 20, latest_minutes: 30 } },
      { is_planned: true, arrival: { earliest_minutes: 35, latest_minutes: 45 } },
      { is_planned: false, arrival: null },
    ]);
  });

  it('of a driver’s other orders reach the pages of this one, though no event of it happened', async () => {
    order = pickedUp({ onRoute: behind(2) });
    const socket = await opened();
    tracking.driverChanged('01900000-0000-7000-8000-0000000000d2');
    await settle();
    expect(findById).toHaveBeenCalledTimes(1);
    order = pickedUp({ onRoute: behind(1) });
    tracking.driverChanged(DRIVER_ID);
    await settle();
    tracking.driverChanged(DRIVER_ID);
    await settle();
    const left = socket.ofType('order').map(({ order }) => (order as { stops_before: number }).stops_before);
    expect(left).toEqual([2, 1]);
    order = delivered();
    await tracking.orderChanged(ORDER_ID);
    findById.mockClear();
    tracking.driverChanged(DRIVER_ID);
    await settle();
    expect(findById).not.toHaveBeenCalled();
  });

  it('are read again when the database failed, and nobody is sent anything wrong meanwhile', async () => {
    const socket = await opened();
    order = assigned();
    findById.mockRejectedValueOnce(new Error('gone')).mockRejectedValueOnce(new Error('gone'));
    await tracking.orderChanged(ORDER_ID);
    expect(failures).toHaveLength(1);
    await pass(LIVE_READ_RETRY_MS);
    expect(failures).toHaveLength(2);
    await pass(2 * LIVE_READ_RETRY_MS);
    expect(sequences(socket)).toEqual([1, 2]);
  });

  it('are not read again for pages that closed', async () => {
    const socket = await open();
    findById.mockRejectedValueOnce(new Error('gone'));
    await settle();
    socket.close(1001, '');
    findById.mockClear();
    await pass(60_000);
    expect(findById).not.toHaveBeenCalled();
  });

  it('of every order at once are read a bounded number at a time', async () => {
    let now = 0;
    let most = 0;
    findById.mockImplementation(async (orderId) => {
      now += 1;
      most = Math.max(most, now);
      await new Promise((done) => setTimeout(done, 5));
      now -= 1;
      return assigned({ orderId });
    });
    for (let index = 0; index < 2 * MAX_LIVE_READS; index += 1) await open(`order-${index}`);
    tracking.everythingChanged();
    // One round after the other, each of 5 ms.
    for (let round = 0; round < 10; round += 1) await pass(5);
    expect(most).toBe(MAX_LIVE_READS);
    expect(sockets.every((socket) => sequences(socket).includes(2))).toBe(true);
  });
});

describe('positions', () => {
  const at = (lat: number, driverId = DRIVER_ID) => ({ driverId, lat, lng: -73.98765, atMs: Date.now() });
  const lats = (socket: MemorySocket<Viewer>) =>
    socket.ofType('position').map((message) => (message.position as { lat: number }).lat);

  async function watching(state: TrackedOrder): Promise<MemorySocket<Viewer>> {
    order = state;
    return opened();
  }

  it('are published at most once a second, the newest last', async () => {
    const socket = await watching(pickedUp());
    await pass(POSITION_PUBLISH_MS);
    for (let step = 0; step < 30; step += 1) {
      tracking.driverMoved(ORDER_ID, at(40 + step / 1_000));
      await pass(100);
    }
    await pass(POSITION_PUBLISH_MS);
    expect(lats(socket)).toEqual([40, 40.009, 40.019, 40.029]);
  });

  it('are rounded before pickup and carry the sequence they belong to', async () => {
    const socket = await watching(assigned());
    await pass(POSITION_PUBLISH_MS);
    tracking.driverMoved(ORDER_ID, at(40.74567));
    expect(socket.ofType('position')[0]).toMatchObject({
      sequence: 2,
      position: { lat: 40.75, precision: 'approximate', age_ms: 0 },
    });
  });

  it('are published once no other door comes first, and not before', async () => {
    const socket = await watching(pickedUp({ onRoute: behind(1) }));
    position = { lat: 40.1, lng: -73.98765, atMs: NOW_MS };
    await pass(POSITION_PUBLISH_MS);
    tracking.driverMoved(ORDER_ID, at(40.1));
    await pass(2 * POSITION_PUBLISH_MS);
    expect(JSON.stringify(socket.received)).not.toContain('40.1,');
    order = pickedUp({ onRoute: behind(0) });
    tracking.driverChanged(DRIVER_ID);
    await settle();
    await pass(POSITION_PUBLISH_MS);
    tracking.driverMoved(ORDER_ID, at(40.2));
    expect(lats(socket)).toEqual([40.2]);
  });

  it('of a driver at the door of another parcel on board are not published, and the page is told so once', async () => {
    const onRoute = {
      stopsBefore: 0,
      isNext: true,
      doorInMinutes: 20,
      door: { lat: 40.9, lng: -73.98765 },
      otherDoors: [otherDoor(40.5)],
    };
    const socket = await watching(pickedUp({ onRoute }));
    const places = () =>
      socket.ofType('position').map(({ position }) => (position as { lat: number } | null)?.lat ?? null);
    for (const lat of [40.49, 40.499, 40.5, 40.501, 40.51]) {
      await pass(POSITION_PUBLISH_MS);
      tracking.driverMoved(ORDER_ID, at(lat));
    }
    expect(places()).toEqual([40.49, null, 40.51]);
    expect(socket.ofType('position')[1]).toMatchObject({ arrival: null });
  });

  it('are judged by the parcels on board of now, though another one of them is no event of the order', async () => {
    const first = pickedUp();
    const socket = await watching(first);
    const place = { stopsBefore: 0, isNext: true, doorInMinutes: 20, door: null };
    order = { ...first, onRoute: { ...place, otherDoors: [otherDoor(40.5)] } };
    tracking.driverChanged(DRIVER_ID);
    await settle();
    await pass(POSITION_PUBLISH_MS);
    tracking.driverMoved(ORDER_ID, at(40.5));
    expect(socket.ofType('position').map(({ position }) => position)).toEqual([null]);
  });

  it('have an order behind other doors read again after a while, as its estimate grows old without an event', async () => {
    const dropoff = { lat: 40.9, lng: -73.98765, accuracyMeters: 20 };
    const socket = await watching(pickedUp({ dropoff, onRoute: behind(1, 20) }));
    const minutes = () =>
      socket.ofType('order').map((message) => (message.order as TrackingView).arrival?.latest_minutes);
    const first = minutes();
    order = pickedUp({ dropoff, onRoute: behind(1, 60) });
    await pass(ROUTE_READ_MS - 1);
    tracking.driverMoved(ORDER_ID, at(40.1));
    await settle();
    expect(minutes()).toEqual(first);
    await pass(1);
    tracking.driverMoved(ORDER_ID, at(40.1));
    await settle();
    expect(minutes()).toHaveLength(2);
    expect(minutes()[1]).toBeGreaterThan(first[0] as number);
  });

  it('that no longer come end the arrival of an order behind other doors, and bring it back', async () => {
    const dropoff = { lat: 40.9, lng: -73.98765, accuracyMeters: 20 };
    position = { lat: 40.7, lng: -73.98765, atMs: NOW_MS - 60_000 };
    const socket = await watching(pickedUp({ dropoff, onRoute: behind(1, 20) }));
    const isThere = () => socket.ofType('order').map(({ order: view }) => (view as TrackingView).arrival !== null);
    order = pickedUp({ dropoff, onRoute: behind(1, null) });
    await pass(POSITION_FRESH_MS - 60_000);
    expect(isThere()).toEqual([true]);
    await pass(2_000);
    expect(isThere()).toEqual([true, false]);
    order = pickedUp({ dropoff, onRoute: behind(1, 20) });
    await pass(POSITION_PUBLISH_MS);
    tracking.driverMoved(ORDER_ID, { ...at(40.1), atMs: Date.now() - POSITION_FRESH_MS });
    await settle();
    expect(isThere()).toEqual([true, false]);
    tracking.driverMoved(ORDER_ID, at(40.1));
    await settle();
    expect(isThere()).toEqual([true, false, true]);
  });

  it('of a driver who gave the order back are published no more, though memory still holds them as its driver', async () => {
    const other = '01900000-0000-7000-8000-0000000000d2';
    const socket = await watching(assigned());
    await pass(POSITION_PUBLISH_MS);
    order = trackedOrder({ sequence: 3, wasReleased: true });
    await tracking.orderChanged(ORDER_ID);
    tracking.driverMoved(ORDER_ID, at(40.1));
    await pass(2 * POSITION_PUBLISH_MS);
    order = assigned({ sequence: 4, driverId: other, driverFirstName: 'Bo' });
    await tracking.orderChanged(ORDER_ID);
    tracking.driverMoved(ORDER_ID, at(40.2));
    await pass(2 * POSITION_PUBLISH_MS);
    order = pickedUp({ sequence: 5, driverId: other, driverFirstName: 'Bo' });
    await tracking.orderChanged(ORDER_ID);
    tracking.driverMoved(ORDER_ID, at(40.3));
    await pass(2 * POSITION_PUBLISH_MS);
    tracking.driverMoved(ORDER_ID, at(41.4, other));
    expect(lats(socket)).toEqual([41.4]);
  });

  it.each(['pending_dispatch', 'delivered', 'cancelled', 'expired', 'undeliverable', 'returned'] as const)(
    'are in no message of an order that is %s, its snapshot included',
    async (status) => {
      position = { lat: 40.7, lng: -73.98765, atMs: NOW_MS };
      const socket = await watching(pickedUp({ status, sequence: 7 }));
      tracking.driverMoved(ORDER_ID, at(40.7));
      await pass(3 * POSITION_PUBLISH_MS);
      expect(socket.ofType('order')).toHaveLength(1);
      expect(socket.received).toHaveLength(1);
      expect(JSON.stringify(socket.received)).not.toMatch(/40\.7[,}]/);
    },
  );

  it('wait while a change is unread, so that nothing leaks after the delivery', async () => {
    const socket = await watching(pickedUp());
    await pass(POSITION_PUBLISH_MS);
    const slow = gate<TrackedOrder>();
    findById.mockReturnValueOnce(slow.opened);
    const told = tracking.orderChanged(ORDER_ID);
    tracking.driverMoved(ORDER_ID, at(40.7));
    await pass(3 * POSITION_PUBLISH_MS);
    slow.open(delivered());
    await told;
    await pass(3 * POSITION_PUBLISH_MS);
    expect(lats(socket)).toEqual([]);
    expect(JSON.stringify(socket.received)).not.toContain('40.7,');
  });
});

it('answers pings though the database clock is set back between them', async () => {
  const socket = await opened();
  socket.say('ping');
  vi.setSystemTime(Date.now() - 3_600_000);
  socket.say('ping');
  expect([socket.received.filter(({ type }) => type === 'pong').length, socket.closed]).toEqual([2, null]);
});

it('answers a ping and closes a page that says anything else or too much', async () => {
  const socket = await opened();
  socket.say('ping');
  expect(socket.received.at(-1)).toEqual({ type: 'pong' });
  socket.say('ping');
  expect(socket.closed?.code).toBe(1008);
  const other = await open();
  other.say('{"type":"position"}');
  expect(other.closed?.code).toBe(1008);
});
