import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { DEMO_STORE } from '../../src/sandbox/demo.ts';
import { startSimulatedDrivers } from '../../src/sandbox/simulated-drivers.ts';
import { createLogger } from '../../src/telemetry.ts';
import { orderBody, startBuiltService } from '../harness/service.ts';
import { storeOf } from '../harness/store.ts';
import { driverOf } from './clients.ts';
import { useService } from './world.ts';

const world = useService(startBuiltService, { SIMULATED_DRIVERS: '1' });
const { addDriver, ask, cli } = world;

type Demo = { retailerId: string; apiKey: string; yourDriverToken: string };
type Shown = {
  readonly status: string;
  readonly proof_distance_meters: number | null;
  readonly dropoff_point: { readonly source: string };
  readonly events: readonly { readonly type: string }[];
};
type Status = { readonly order: { readonly status: string; readonly arrival: object | null } };

let demo: Demo;
/** Of the address in every test's order, as the demonstration's geocoder has it. */
const DOOR = { lat: 37.76655, lng: -122.42185 };
const quiet = createLogger('silent');

beforeAll(async () => {
  demo = JSON.parse(readFileSync(join(world.dataDir, 'sandbox.json'), 'utf8'));
});

test('the demonstration has deliveries, an order given back, one that returns, and a store that is told of all', async () => {
  // The demonstration's own driver, who would go on duty again, makes way for others who are in a hurry.
  const [own] = await world.sql`select id from drivers where name like '%simulated%'`;
  await storeOf(world.sql, 'test').deactivateDriver(own?.id);
  const tokens = await Promise.all(Array.from({ length: 10 }, async () => (await addDriver()).token));
  const settings = {
    baseUrl: world.url,
    home: DEMO_STORE.point,
    locate: async () => DOOR,
    scenarioOf: async () => null,
    logger: quiet,
  };
  const drivers = await startSimulatedDrivers({ ...settings, tickMs: 50, haste: 20 }, tokens);
  try {
    const { retailerId, apiKey } = demo;
    const orders: { id: string; token: string }[] = [];
    for (let index = 0; index < 8; index++) {
      const body = orderBody(retailerId);
      const answer = await ask('/orders/create', { method: 'POST', key: apiKey, body });
      expect(answer.status, answer.text).toBe(201);
      orders.push({ id: answer.body.order.id, token: answer.body.order.tracking_token });
    }
    const arrivals = new Set<string>();
    const look = async () => {
      for (const { token } of orders) {
        const { order } = (await ask<Status>(`/track/${token}/status`)).body;
        if (order.arrival) arrivals.add(token);
      }
      const rows = await world.sql`select status from orders where retailer_id = ${retailerId}`;
      return rows.filter(({ status }) => status === 'delivered' || status === 'returned').length;
    };
    await expect.poll(look, { interval: 50 }).toBe(orders.length);
    expect(arrivals.size).toBeGreaterThan(0);
    const shown = await Promise.all(
      orders.map(async ({ id }) => (await ask<{ order: Shown }>(`/orders/${id}`, { key: apiKey })).body.order),
    );
    const types = shown.flatMap(({ events }) => events.map(({ type }) => type));
    expect(types).toEqual(expect.arrayContaining(['released', 'undeliverable', 'returned']));
    expect(shown.map(({ dropoff_point: { source } }) => source)).toEqual(orders.map(() => 'geocoder'));
    expect(shown.some(({ proof_distance_meters: meters }) => meters !== null && meters <= 30)).toBe(true);
    const told = () => cli<{ status: string; type: string }[]>('webhook', 'list');
    const webhooks = [
      'order.assigned',
      'order.released',
      'order.picked_up',
      'order.delivered',
      'order.undeliverable',
      'order.returned',
    ];
    // Each is there once its event has its number.
    await expect
      .poll(async () => new Set((await told()).map(({ type }) => type)), { interval: 200 })
      .toEqual(new Set(webhooks));
    await expect
      .poll(async () => (await told()).filter(({ status }) => status !== 'delivered'), { interval: 200 })
      .toEqual([]);
  } finally {
    drivers.close();
  }
});

test('the printed token opens the driver’s API', async () => {
  expect(world.output()).toContain(`${world.url}/driver, sign in with ${demo.yourDriverToken}`);
  expect(await driverOf(world.service, '', demo.yourDriverToken).state()).toMatchObject({
    on_duty: false,
    order: null,
  });
});

test('a webhook that somebody set for the demo store survives a start, the demo’s own follows its receiver', async () => {
  const urlOf = async () => (await cli<{ webhook: { url: string } }>('retailer', 'show', demo.retailerId)).webhook.url;
  const before = await urlOf();
  expect(before).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/demo-store$/);
  await world.restart();
  const after = await urlOf();
  expect((await fetch(after, { method: 'POST', body: '{}' })).status).toBe(401);
  await cli('retailer', 'set-webhook', demo.retailerId, '--url', 'http://127.0.0.1:9/mine', '--yes');
  await world.restart();
  expect(await urlOf()).toBe('http://127.0.0.1:9/mine');
});

test('the example of /docs is an order of the demo store, and is created as it stands', async () => {
  type Post = { requestBody: { content: { 'application/json': { example: object } } } };
  const { paths } = (await ask<{ paths: Record<string, { post: Post }> }>('/openapi.json')).body;
  const body = paths['/orders/create']?.post.requestBody.content['application/json'].example;
  const answer = await ask('/orders/create', { method: 'POST', key: demo.apiKey, body });
  expect(answer.status, answer.text).toBe(201);
});
