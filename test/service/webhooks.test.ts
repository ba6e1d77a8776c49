import { afterAll, beforeAll, expect, it } from 'vitest';
import { TEST_CARDS } from '../../src/sandbox/test-cards.ts';
import { OUTBOX_FIRST_LEASE_SECONDS } from '../../src/store/fragments.ts';
import { POLL_MS } from '../harness/patience.ts';
import { jpeg } from '../harness/photo.ts';
import { startServiceHere } from '../harness/service-here.ts';
import { type SeenWebhook, startWebhookReceiver, verifyWebhook, type WebhookReceiver } from '../harness/webhooks.ts';
import type { Store } from './clients.ts';
import { useService } from './world.ts';

const world = useService(startServiceHere, { LOG_LEVEL: 'debug' });
const { addStore, addFreeDriver, place, show, untilOrder, cli, cancel } = world;

type Listed = { delivery_id: string; status: string; type: string; attempts: number; result: string };

let receiver: WebhookReceiver;
let store: Store;
let secret: string;
/** Statuses of the next answers; 204 when there are none. */
const answers: number[] = [];

beforeAll(async () => {
  receiver = await startWebhookReceiver(() => answers.shift() ?? 204);
  ({ store, secret } = await toldStore());
});

/** A store that is told of its orders, far from every driver so far. */
async function toldStore(options: Parameters<typeof addStore>[0] = {}): Promise<{ store: Store; secret: string }> {
  const made = await addStore(options);
  const url = `${receiver.url}/hook?token=hidden`;
  const set = await cli('retailer', 'set-webhook', made.retailerId, '--url', url);
  expect(set).toMatchObject({ webhook_url: url, webhook_secret: expect.stringMatching(/^whsec_/) });
  return { store: made, secret: set.webhook_secret ?? '' };
}

afterAll(async () => {
  receiver?.close();
});

const eventsOf = (orderId: string) => receiver.seen.filter(({ event }) => event.data.order_id === orderId);
const until = (orderId: string, count: number, timeout = POLL_MS) =>
  expect.poll(() => eventsOf(orderId).length, { timeout, interval: 20 }).toBe(count);
/** Who is told later than at once is told when the first lease of the job has ended. */
const AT_ONCE_MS = OUTBOX_FIRST_LEASE_SECONDS * 1_000 - 1_000;

/** The events of an order by name, each verified with the package that its store's engineer would use. */
function told(orderId: string, key = secret): string[] {
  return eventsOf(orderId)
    .map(({ headers, body, event }) => {
      expect(verifyWebhook(key, headers, body)).toEqual(event);
      return event;
    })
    .sort((one, other) => Number(one.data.sequence) - Number(other.data.sequence))
    .map(({ type }) => type.replace(/^order\./, ''));
}

it('tells a store of its order from the assignment to the door, signed', async () => {
  const driver = await addFreeDriver(store.point);
  const { body } = await place(store);
  const { id } = body.order;
  await until(id, 1);
  expect((await driver.pickUp(id)).status).toBe(200);
  await until(id, 2);
  expect((await driver.deliver(id, await jpeg())).status).toBe(200);
  await until(id, 3);
  expect(told(id)).toEqual(['assigned', 'picked_up', 'delivered']);
  const order = await show(store, id);
  for (const { event } of eventsOf(id)) {
    const shown = order.events.find(({ sequence }) => sequence === event.data.sequence);
    expect(new Date(shown?.at ?? 0).toISOString()).toBe(event.timestamp);
  }
  await driver.duty(false);
});

it('tells of a cancellation and of the refund that follows, at once', async () => {
  const driver = await addFreeDriver(store.point);
  const { id } = (await place(store)).body.order;
  await untilOrder(store, id, { payment_status: 'paid' });
  expect((await cancel(store, id, 'customer_request')).status).toBe(200);
  await until(id, 3, AT_ONCE_MS);
  expect(told(id)).toEqual(['assigned', 'cancelled', 'refunded']);
  await driver.duty(false);
});

it('tells of what the operator does with a command, and refunds it, at once', async () => {
  const driver = await addFreeDriver(store.point);
  const { id } = (await place(store)).body.order;
  await untilOrder(store, id, { payment_status: 'paid' });
  await cli('order', 'cancel', id, '--yes');
  await until(id, 3, AT_ONCE_MS);
  expect(told(id)).toEqual(['assigned', 'cancelled', 'refunded']);
  await driver.duty(false);
});

it('tells of a charge that failed, at once', async () => {
  const { store: poor, secret: key } = await toldStore({ card: TEST_CARDS.declined });
  await addFreeDriver(poor.point);
  const { id } = (await place(poor)).body.order;
  await until(id, 2, AT_ONCE_MS);
  expect(told(id, key)).toEqual(['assigned', 'payment_failed']);
  expect(eventsOf(id).find(({ event }) => event.type === 'order.payment_failed')?.event.data).toMatchObject({
    payment_status: 'failed',
    code: expect.any(String),
  });
});

it('sends a failed webhook again with the same id and body, and a new time and signature', async () => {
  answers.push(500);
  await addFreeDriver(store.point);
  const { id } = (await place(store)).body.order;
  await until(id, 2);
  const [first, second] = eventsOf(id) as [SeenWebhook, SeenWebhook];
  expect(second.body).toBe(first.body);
  expect(second.headers['webhook-id']).toBe(first.headers['webhook-id']);
  expect(Number(second.headers['webhook-timestamp'])).toBeGreaterThan(Number(first.headers['webhook-timestamp']));
  expect(told(id)).toEqual(['assigned', 'assigned']);
});

it('lists what was told and sends it again when asked', async () => {
  const { store } = await toldStore();
  const { id } = (await place(store)).body.order;
  expect((await cancel(store, id, 'duplicate')).status).toBe(200);
  await until(id, 1);
  const [sent] = eventsOf(id);
  const delivered = () => cli<Listed[]>('webhook', 'list', '--retailer', store.retailerId, '--status', 'delivered');
  const listed = async () => (await delivered()).find((row) => row.delivery_id === sent?.headers['webhook-id']);
  await expect.poll(listed).toMatchObject({ type: 'order.cancelled', attempts: 1, result: '204' });
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
  const { id } = (await place(store)).body.order;
  expect((await cancel(store, id, 'other')).status).toBe(200);
  const shown = () => cli<{ webhook: Record<string, string> }>('retailer', 'show', store.retailerId);
  await expect
    .poll(async () => (await shown()).webhook)
    .toMatchObject({ webhook_disabled_at: expect.any(String), webhook_disabled_because: 'gone' });
  expect(await cli('stats')).toMatchObject({
    webhooks: { set: 4, disabled: [{ retailer_id: store.retailerId }] },
    webhook_deliveries_last_day: { delivered: expect.any(Number) },
  });
  expect(await cli('retailer', 'set-webhook', store.retailerId, '--on')).toMatchObject({ webhook: 'on' });
  expect((await shown()).webhook).toMatchObject({ webhook_disabled_at: null });
  expect(await cli('retailer', 'set-webhook', store.retailerId, '--off')).toMatchObject({ webhook: 'off' });
  expect((await shown()).webhook).toMatchObject({ webhook_disabled_because: 'off' });
  expect(await cli('retailer', 'set-webhook', store.retailerId, '--on')).toMatchObject({ webhook: 'on' });
  expect((await shown()).webhook).toMatchObject({ webhook_disabled_at: null });
  const later = (await place(store)).body.order;
  expect((await cancel(store, later.id, 'other')).status).toBe(200);
  await until(later.id, 1);
});

it('refuses an address that is not public', async () => {
  const set = (url: string) => cli('retailer', 'set-webhook', store.retailerId, '--url', url);
  await expect(set('https://169.254.169.254/latest')).rejects.toThrow(/public Internet/);
  await expect(set('https://0x0a000001/')).rejects.toThrow(/public Internet/);
});
