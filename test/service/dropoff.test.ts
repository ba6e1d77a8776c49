import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { roundedToKilometer, shownMeters } from '../../src/domain/shown-position.ts';
import type { Point } from '../../src/geo/point.ts';
import { jpeg } from '../harness/photo.ts';
import { startServiceHere } from '../harness/service-here.ts';
import { northOf, orderOf, type Store, type WireOrder } from './clients.ts';
import { useService } from './world.ts';

/** A geocoder that knows one street, some 3 km north of the store, and is away until it is told otherwise. */
async function startGeocoder(): Promise<{
  server: Server;
  url: string;
  questions: string[];
  door: { at: Point | null };
}> {
  const door: { at: Point | null } = { at: null };
  const questions: string[] = [];
  const server = createServer((request, response) => {
    const text = new URL(request.url ?? '', 'http://geocoder').searchParams.get('q') ?? '';
    questions.push(text);
    if (!door.at) return void response.writeHead(503).end();
    const { lat, lng } = door.at;
    const near = 0.0002;
    const place = { lat: String(lat), lon: String(lng), boundingbox: [lat - near, lat + near, lng - near, lng + near] };
    response.end(JSON.stringify(text.startsWith('401 Valencia') ? [place] : []));
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, questions, door };
}

const geocoder = await startGeocoder();
afterAll(() => void geocoder.server.close());
const world = useService(startServiceHere, { GEOCODER_URL: geocoder.url });
const { addStore, addFreeDriver, ask, place, show, untilOrder, cli } = world;
let store: Store;
beforeAll(async () => {
  store = await addStore({ point: { lat: 37.76415, lng: -122.41957 } });
});

type Shown = {
  dropoff_point: { lat: number; lng: number; accuracy_meters: number; source: string } | null;
  proof_distance_meters: number | null;
  dispatch: { driver_id: string; distance_meters: number; passed_over: Record<string, number> }[];
  events: WireOrder['events'];
};
const shownOf = async (orderId: string) => (await show(store, orderId)) as unknown as Shown;

describe('where an order goes', () => {
  it('is found by a job, leads to an arrival, and proves the handover', async () => {
    const driver = await addFreeDriver(northOf(store.point, 500));
    const other = await addFreeDriver(northOf(store.point, 900));
    const headers = { 'idempotency-key': 'a door' };
    const create = { method: 'POST', key: store.apiKey, body: orderOf(store), headers };
    const { body } = await ask('/orders/create', create);
    const { id, tracking_token: token } = body.order;
    expect(body.order.status).toBe('driver_assigned');
    // The geocoder is away: what the ZIP tells is known at once, and is not good enough for an arrival.
    expect((await shownOf(id)).dropoff_point).toMatchObject({ source: 'zip_centroid', accuracy_meters: 10_000 });
    const arrival = async () =>
      (await ask<{ order: { arrival: object | null } }>(`/track/${token}/status`)).body.order.arrival;
    expect(await arrival()).toBeNull();

    const door = northOf(store.point, 3_000);
    geocoder.door.at = door;
    await expect.poll(async () => (await shownOf(id)).dropoff_point).toMatchObject({ source: 'geocoder', ...door });
    const again = await ask('/orders/create', create);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.body.order).toEqual({ ...body.order, payment_status: expect.any(String) });
    expect(await arrival()).toMatchObject({ earliest_minutes: expect.any(Number), latest_minutes: expect.any(Number) });

    await driver.pickUp(id);
    await driver.at(northOf(door, 40));
    expect((await driver.deliver(id, await jpeg())).status).toBe(200);
    const delivered = await shownOf(id);
    expect(delivered.proof_distance_meters).toBeGreaterThanOrEqual(39);
    expect(delivered.proof_distance_meters).toBeLessThanOrEqual(41);

    // Whom it went past: in numbers for the store, by name for the operator.
    const shown = Math.round(shownMeters(northOf(store.point, 500), store.point));
    expect(delivered.dispatch).toEqual([
      { at: expect.any(String), driver_id: driver.id, distance_meters: shown, passed_over: { farther: 1 } },
    ]);
    expect(JSON.stringify(delivered)).not.toContain(other.id);
    const full = await cli<object>('order', 'show', id);
    expect(JSON.stringify(full)).toContain(other.id);
    expect(full).toMatchObject({ order: { proof_distance_meters: delivered.proof_distance_meters } });
  });

  it('tells a store of a driver who takes an order no more than the square of 1 km that they are in', async () => {
    const shop = await addStore();
    // Both ways of giving an order: at once, and after it has waited.
    const inSquare = roundedToKilometer(northOf(shop.point, 3_000));
    const spots = [0, 200, 400].map((meters) => northOf(inSquare, meters));
    const told: number[] = [];
    for (const spot of spots) {
      const first = await addFreeDriver(spot);
      const given = (await place(shop)).body.order;
      expect(given.status).toBe('driver_assigned');
      const waiting = (await place(shop)).body.order;
      expect(waiting.status).toBe('pending_dispatch');
      const second = await addFreeDriver(spot);
      await untilOrder(shop, waiting.id, { status: 'driver_assigned' });
      for (const [id, by] of [
        [given.id, first],
        [waiting.id, second],
      ] as const) {
        const { dispatch, events } = (await show(shop, id)) as unknown as Shown;
        expect(dispatch).toMatchObject([{ driver_id: by.id }]);
        const event = events.find(({ type }) => type === 'driver_assigned');
        expect(event?.data).toMatchObject({ distance_meters: dispatch[0]?.distance_meters });
        told.push(dispatch[0]?.distance_meters as number);
      }
    }
    expect(new Set(told)).toEqual(new Set([Math.round(shownMeters(inSquare, shop.point))]));
  });

  it('never holds up an order, whatever the address', async () => {
    const unknown = { line1: 'Nowhere', city: 'Nowhere', state: 'AP', zip: '96699' };
    const { body, status } = await place(store, { dropoff_address: unknown });
    expect(status).toBe(201);
    const source = async () => {
      const [row] = await world.sql`
        select a.point_source from orders o join dropoff_addresses a on a.id = o.dropoff_address_id
        where o.id = ${body.order.id}`;
      return row?.point_source;
    };
    await expect.poll(source).toBe('unknown');
    expect((await untilOrder(store, body.order.id, {})) as object).toMatchObject({ dropoff_point: null });
  });
});
