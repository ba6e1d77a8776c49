import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type FreshDatabase, freshDatabase } from '../support/database.ts';
import { newDataDir, type Running, runCli, startBuiltService } from '../support/service.ts';
import { verifyWebhook } from '../support/webhooks.ts';
import { addFreeDriver, addStore, ask, place, type Store, show } from './clients.ts';

type Event = { type: string; timestamp: string; data: Record<string, unknown> };
type Seen = { readonly headers: IncomingHttpHeaders; readonly body: string; readonly event: Event };
type Listed = { delivery_id: string; status: string; type: string; attempts: number; result: string };

let database: FreshDatabase;
let service: Running;
let store: Store;
let secret: string;
let cli: <Result = Record<string, string>>(...args: string[]) => Promise<Result>;
const data = newDataDir();
const seen: Seen[] = [];
/** Statuses of the next answers; 204 when there are none. */
const answers: number[] = [];
const sockets = new Set<Socket>();
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks).toString('utf8');
    seen.push({ headers: request.headers, body, event: JSON.parse(body) });
    response.writeHead(answers.shift() ?? 204).end();
  });
});
server.on('connection', (socket) => sockets.add(socket));

beforeAll(async () => {
  database = await freshDatabase();
  const env = { DATABASE_URL: database.url, DATA_DIR: data.dataDir, SANDBOX: '1', LOG_LEVEL: 'debug' };
  cli = (...args) => runCli(env, ...args);
  service = await startBuiltService(env);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ({ store, secret } = await toldStore());
});

/** A store that is told of its orders, far from every driver so far. */
async function toldStore(): Promise<{ store: Store; secret: string }> {
  const made = await addStore(database.sql);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?token=hidden`;
  const set = await cli('retailer', 'set-webhook', made.retailerId, '--url', url);
  expect(set).toMatchObject({ webhook_url: url, webhook_secret: expect.stringMatching(/^whsec_/) });
  return { store: made, secret: set.webhook_secret ?? '' };
}

afterAll(async () => {
  await service?.stop();
  for (const socket of sockets) socket.destroy();
  server.close();
  await database?.drop();
  data.remove();
});

const eventsOf = (orderId: string) => seen.filter(({ event }) => event.data.order_id === orderId);
const until = (orderId: string, count: number, timeout = 15_000) =>
  expect.poll(() => eventsOf(orderId).length, { timeout, interval: 20 }).toBe(count);

it('tells a store of its order from the assignment to the door, signed', async () => {
  const driver = await addFreeDriver(service, database.sql, store.point);
  const { body } = await place(service, store);
  const { id } = body.order;
  await until(id, 1);
  expect((await driver.pickUp(id)).status).toBe(200);
  await until(id, 2);
  const photo = await sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } })
    .jpeg()
    .toBuffer();
  expect((await driver.deliver(id, photo)).status).toBe(200);
  await until(id, 3);
  for (const { headers, body: text, event } of eventsOf(id)) {
    expect(await verifyWebhook(secret, headers, text)).toEqual(event);
    await expect(verifyWebhook(secret, headers, text.replace(id, store.retailerId))).rejects.toThrow();
  }
  const events = eventsOf(id).map(({ event }) => event);
  expect(events.map(({ type }) => type)).toEqual(['order.assigned', 'order.picked_up', 'order.delivered']);
  const order = await show(service, store, id);
  for (const { data: told, timestamp } of events) {
    const event = order.events.find(({ sequence }) => sequence === told.sequence);
    expect(new Date(event?.at ?? 0).toISOString()).toBe(timestamp);
  }
});

it('sends a failed webhook again with the same id and body, and a new time and signature', async () => {
  answers.push(500);
  await addFreeDriver(service, database.sql, store.point);
  const { id } = (await place(service, store)).body.order;
  await until(id, 2);
  const [first, second] = eventsOf(id) as [Seen, Seen];
  expect(second.body).toBe(first.body);
  expect(second.headers['webhook-id']).toBe(first.headers['webhook-id']);
  expect(Number(second.headers['webhook-timestamp'])).toBeGreaterThan(Number(first.headers['webhook-timestamp']));
  await verifyWebhook(secret, second.headers, second.body);
});

it('lists what was told and sends it again when asked', async () => {
  const { store } = await toldStore();
  const { id } = (await place(service, store)).body.order;
  const cancel = { method: 'POST', key: store.apiKey, body: { reason: 'duplicate' } };
  expect((await ask(service, `/orders/${id}/cancel`, cancel)).status).toBe(200);
  await until(id, 1);
  const [sent] = eventsOf(id);
  const delivered = () => cli<Listed[]>('webhook', 'list', '--retailer', store.retailerId, '--status', 'delivered');
  const listed = async () => (await delivered()).find((row) => row.delivery_id === sent?.headers['webhook-id']);
  await expect.poll(listed, { timeout: 5_000 }).toMatchObject({ type: 'order.cancelled', attempts: 1, result: '204' });
  expect(await cli('webhook', 'replay', String(sent?.headers['webhook-id']))).toMatchObject({ status: 'pending' });
  await until(id, 2);
  expect(eventsOf(id).at(-1)).toMatchObject({
    body: sent?.body,
    headers: { 'webhook-id': sent?.headers['webhook-id'] },
  });
});

it('disables an endpoint that says it is gone, and shows it to the operator', async () => {
  const { store } = await toldStore();
  answers.push(410);
  const { id } = (await place(service, store)).body.order;
  await ask(service, `/orders/${id}/cancel`, { method: 'POST', key: store.apiKey, body: { reason: 'other' } });
  const shown = () => cli<{ webhook: Record<string, string> }>('retailer', 'show', store.retailerId);
  await expect
    .poll(async () => (await shown()).webhook, { timeout: 10_000 })
    .toMatchObject({ webhook_disabled_at: expect.any(String), webhook_disabled_because: 'gone' });
  expect(await cli('stats')).toMatchObject({
    webhooks: { set: 3, disabled: [{ retailer_id: store.retailerId }] },
    webhook_deliveries_last_day: { delivered: expect.any(Number) },
  });
  expect(await cli('retailer', 'set-webhook', store.retailerId, '--on')).toMatchObject({ webhook: 'on' });
  expect((await shown()).webhook).toMatchObject({ webhook_disabled_at: null });
  expect(await cli('retailer', 'set-webhook', store.retailerId, '--off')).toMatchObject({ webhook: 'off' });
  expect((await shown()).webhook).toBeNull();
});

it('refuses an address that is not public', async () => {
  const set = (url: string) => cli('retailer', 'set-webhook', store.retailerId, '--url', url);
  await expect(set('https://169.254.169.254/latest')).rejects.toThrow(/public Internet/);
  await expect(set('https://0x0a000001/')).rejects.toThrow(/public Internet/);
});

it('writes neither secret nor URL to its log', () => {
  expect(service.output()).toContain('a webhook failed');
  expect(service.output()).not.toMatch(/whsec_|hidden|\/hook/);
  expect(service.output()).not.toContain(secret.slice(6));
});
