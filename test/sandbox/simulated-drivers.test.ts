import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import { WebSocketServer } from 'ws';
import { newId } from '../../src/domain/ids.ts';
import { MIN_DELIVERY_MS, PLAUSIBLE_METERS_PER_SECOND } from '../../src/domain/payout.ts';
import { distanceMeters, type Point } from '../../src/geo/point.ts';
import { startSimulatedDrivers } from '../../src/sandbox/simulated-drivers.ts';
import { createLogger } from '../../src/telemetry.ts';
import { displaced } from '../geo/places.ts';
import { closedAfterTest, listenInTest } from '../harness/closed-after-test.ts';
import { gate } from '../http/support.ts';

const HOME: Point = { lat: 37.76415, lng: -122.41957 };
/** A tick of a simulated second. */
const TICK_MS = 4;

type Seen = { readonly positions: Point[]; readonly steps: Record<string, number> };

/**
 * A service that gives its one driver an order at their first position, and counts their seconds by reports.
 *
 * @param answer what its answers wait for
 */
async function serve(pickup: Point, seen: Seen, waitAt?: Point, answer = Promise.resolve()): Promise<string> {
  const order = {
    id: newId(),
    status: 'driver_assigned',
    pickup,
    dropoff: { line1: '', city: '', state: '', zip: '' },
  };
  const http = createServer((request, response) => {
    const [, step = ''] = /\/driver\/orders\/[^/]+\/([a-z-]+)/.exec(request.url ?? '') ?? [];
    seen.steps[step] ??= seen.positions.length;
    order.status = { 'pick-up': 'picked_up', undeliverable: 'undeliverable' }[step] ?? 'delivered';
    request.resume().on('end', () => void answer.then(() => response.end('{}')));
    tell();
  });
  const sockets = new WebSocketServer({ server: http, path: '/driver/live' });
  const state = () => {
    const isGiven = seen.positions.length > 0 && !waitAt;
    return JSON.stringify({ type: 'state', on_duty: true, order: isGiven ? order : null, wait_at: waitAt });
  };
  const tell = () => {
    for (const socket of sockets.clients) socket.send(state());
  };
  sockets.on('connection', (socket) => {
    socket.on('message', (data) => {
      const message = JSON.parse(String(data)) as Point & { type: string };
      if (message.type === 'hello') socket.send(state());
      if (message.type !== 'position') return;
      seen.positions.push({ lat: message.lat, lng: message.lng });
      if (seen.positions.length === 1) socket.send(state());
    });
  });
  return (await listenInTest(http)).url;
}

/** Starts one driver, whose seconds are ticks. */
async function drive(world: { baseUrl: string; home: Point; locate: () => Promise<Point | null> }): Promise<void> {
  const rest = { scenarioOf: async () => null, logger: createLogger('silent'), tickMs: TICK_MS };
  closedAfterTest(await startSimulatedDrivers({ ...world, ...rest, haste: 1_000 / TICK_MS }, ['token']));
}

describe('a simulated driver', () => {
  it('goes where they are asked to wait, and stays', async () => {
    const seen: Seen = { positions: [], steps: {} };
    const store = displaced(HOME, 1_000, 500);
    const world = { baseUrl: await serve(store, seen, store), home: HOME, locate: async () => null };
    await drive(world);
    const isThere = (at: Point | undefined) => at !== undefined && distanceMeters(at, store) < 1;
    await expect.poll(() => seen.positions.findIndex(isThere), { interval: 10 }).toBeGreaterThan(0);
    const came = seen.positions.findIndex(isThere);
    await expect.poll(() => seen.positions.length, { interval: 10 }).toBeGreaterThan(came + 50);
    expect(seen.positions.slice(came).every(isThere)).toBe(true);
    // They drive there, and do not stroll.
    expect(came).toBeLessThanOrEqual(180);
  });

  it.each([
    ['next door', 50, 100],
    ['in the neighbourhood', 900, 1_500],
    ['across the town', 3_000, 9_000],
  ])('delivers at a plausible speed, and no later than that needs: %s', async (_what, toStore, toDoor) => {
    const seen: Seen = { positions: [], steps: {} };
    const pickup = displaced(HOME, toStore, 0);
    const door = displaced(pickup, toDoor, 0);
    const baseUrl = await serve(pickup, seen);
    await drive({ baseUrl, home: HOME, locate: async () => door });
    await expect.poll(() => seen.steps.deliver, { interval: 10 }).toBeDefined();
    const [start] = seen.positions as [Point];
    const wayMeters = distanceMeters(start, pickup) + distanceMeters(pickup, door);
    const seconds = (seen.steps.deliver ?? 0) - 1;
    expect(seconds * 1_000).toBeGreaterThanOrEqual(MIN_DELIVERY_MS);
    expect(wayMeters / seconds).toBeLessThanOrEqual(PLAUSIBLE_METERS_PER_SECOND);
    // A demonstration stays one to look at.
    expect(seconds).toBeLessThanOrEqual(Math.max(120, wayMeters / 30));
    const fastest = Math.max(...seen.positions.slice(1).map((to, i) => distanceMeters(seen.positions[i] as Point, to)));
    expect(fastest).toBeLessThanOrEqual(PLAUSIBLE_METERS_PER_SECOND);
  });

  it('delivers though their pickup is answered when they stand at the door', async () => {
    const seen: Seen = { positions: [], steps: {} };
    const late = gate();
    await drive({ baseUrl: await serve(HOME, seen, undefined, late.opened), home: HOME, locate: async () => HOME });
    const sincePickUp = () => seen.positions.length - (seen.steps['pick-up'] ?? Number.POSITIVE_INFINITY);
    await expect.poll(sincePickUp, { interval: 10 }).toBeGreaterThan(60);
    late.open();
    await expect.poll(() => seen.steps.deliver, { interval: 10 }).toBeDefined();
  });
});
