import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import type { StoreEvent } from '../../src/domain/store-event.ts';
import { WEBHOOK_TESTS_PER_MINUTE } from '../../src/events/webhook-test.ts';
import { MAX_WEBHOOKS_SET } from '../../src/limits.ts';
import { startServiceHere } from '../harness/service-here.ts';
import { type SeenWebhook, startWebhookReceiver, verifyWebhook, type WebhookReceiver } from '../harness/webhooks.ts';
import type { Body, Store } from './clients.ts';
import { useService } from './world.ts';

const world = useService(startServiceHere, { LOG_LEVEL: 'debug' });
const { addStore, addFreeDriver, ask, place, untilOrder, cli } = world;

type Webhook = { readonly id: string; readonly secret?: string } & Readonly<Record<string, unknown>>;
type Delivery = { readonly id: string; readonly type: string; readonly order_id: string; readonly status: string };
type WebhookBody = Body & {
  readonly webhook: Webhook;
  readonly webhooks: readonly Webhook[];
  readonly test: { readonly event_id: string; readonly delivered: boolean; readonly result: string };
  readonly deliveries: readonly Delivery[];
  readonly next_cursor: string | null;
};

let receiver: WebhookReceiver;
/** What the receiver answers at a path, where that is not 204; null never answers. */
const answers = new Map<string, number | null>();

beforeAll(async () => {
  receiver = await startWebhookReceiver(({ path }) => (answers.has(path) ? (answers.get(path) ?? null) : 204));
});
afterAll(async () => {
  receiver?.close();
});

const call = world.send<WebhookBody>;

/** A path of the receiver that no other test has. */
const newPath = () => `/${newId()}`;
const seenAt = (path: string): SeenWebhook[] => receiver.seen.filter((each) => each.path === path);
const typesAt = (path: string) => seenAt(path).map(({ event }) => event.type);
const untilSeen = (path: string, type: string) => expect.poll(() => typesAt(path), { interval: 20 }).toContain(type);

/** Adds a webhook with the store's key. */
async function add(store: Store, path: string, eventTypes?: readonly string[]): Promise<Webhook & { secret: string }> {
  const body = { url: receiver.url + path, ...(eventTypes ? { event_types: eventTypes } : {}) };
  const answer = await call(store, 'POST', '/webhooks', body);
  expect(answer.status).toBe(201);
  expect(answer.body.webhook.secret).toMatch(/^whsec_/);
  return answer.body.webhook as Webhook & { secret: string };
}

const cancel = (store: Store, orderId: string) => call(store, 'POST', `/orders/${orderId}/cancel`, { reason: 'other' });
const deliveriesOf = async (store: Store, id: string, query = '') =>
  (await call(store, 'GET', `/webhooks/${id}/deliveries${query}`)).body.deliveries;

describe('a store’s webhook', () => {
  it('is added, shown without its secret, changed and removed with the store’s key', async () => {
    const store = await addStore();
    expect((await call(store, 'GET', '/webhooks')).body).toEqual({ success: true, webhooks: [] });
    const path = newPath();
    const { secret, ...added } = await add(store, path, ['order.paid']);
    expect(added).toMatchObject({
      url: receiver.url + path,
      event_types: ['order.paid'],
      enabled: true,
      disabled_because: null,
      failing_since: null,
      old_secret_until: null,
      set_by: 'key',
    });
    const list = await call(store, 'GET', '/webhooks');
    expect(list.body.webhooks).toEqual([added]);
    expect(list.text).not.toContain(secret);
    expect((await call(store, 'GET', `/webhooks/${added.id}`)).body.webhook).toEqual(added);
    const changed = await call(store, 'PATCH', `/webhooks/${added.id}`, { event_types: ['*'], enabled: false });
    expect(changed.body.webhook).toMatchObject({ event_types: ['*'], enabled: false, disabled_because: 'off' });
    expect((await call(store, 'DELETE', `/webhooks/${added.id}`)).status).toBe(200);
    expect((await call(store, 'DELETE', `/webhooks/${added.id}`)).status).toBe(404);
    expect((await call(store, 'GET', '/webhooks')).body.webhooks).toEqual([]);
  });

  it('is told of what its filter has, signed with its own secret, and of nothing else', async () => {
    const store = await addStore();
    const [all, some, none] = [newPath(), newPath(), newPath()];
    const first = await add(store, all);
    const second = await add(store, some, ['order.cancelled', 'order.paid']);
    const third = await add(store, none, ['order.returned']);
    const driver = await addFreeDriver(store.point);
    const { id } = (await place(store)).body.order;
    await untilOrder(store, id, { payment_status: 'paid' });
    expect((await cancel(store, id)).status).toBe(200);
    await untilSeen(all, 'order.refunded');
    await untilSeen(some, 'order.cancelled');
    await expect
      .poll(() => typesAt(all).toSorted())
      .toEqual(['order.assigned', 'order.cancelled', 'order.created', 'order.paid', 'order.refunded']);
    await expect.poll(() => typesAt(some).toSorted()).toEqual(['order.cancelled', 'order.paid']);
    // The deliveries of an event are made together, so that by now none is missing.
    expect(await deliveriesOf(store, third.id)).toEqual([]);
    for (const [path, { secret }] of [[all, first] as const, [some, second] as const]) {
      for (const { headers, body, event } of seenAt(path)) expect(verifyWebhook(secret, headers, body)).toEqual(event);
    }
    const ids = [...seenAt(all), ...seenAt(some)].map(({ headers }) => headers['webhook-id']);
    expect(new Set(ids).size).toBe(ids.length);
    await driver.duty(false);
  });

  it('that is down does not hold back the other one, and its deliveries say why', async () => {
    const store = await addStore();
    const [down, up] = [newPath(), newPath()];
    answers.set(down, 503);
    const broken = await add(store, down, ['order.cancelled']);
    await add(store, up, ['order.cancelled']);
    const { id } = (await place(store)).body.order;
    await cancel(store, id);
    await untilSeen(up, 'order.cancelled');
    await expect
      .poll(() => deliveriesOf(store, broken.id))
      .toMatchObject([{ type: 'order.cancelled', order_id: id, status: 'pending', result: '503' }]);
    const shown = (await call(store, 'GET', '/webhooks')).body.webhooks;
    expect(shown.map(({ failing_since }) => failing_since !== null)).toEqual([true, false]);
    answers.delete(down);
    // Its next try is due at once.
    expect((await call(store, 'PATCH', `/webhooks/${broken.id}`, { enabled: true })).status).toBe(200);
    await expect.poll(() => deliveriesOf(store, broken.id)).toMatchObject([{ status: 'delivered' }]);
  });

  it('whose secret is rotated is signed by both secrets, and says until when', async () => {
    const store = await addStore();
    const path = newPath();
    const { id, secret: old } = await add(store, path);
    const { webhook } = (await call(store, 'POST', `/webhooks/${id}/rotate-secret`)).body;
    expect(webhook).toMatchObject({ id, old_secret_until: expect.any(String) });
    expect(webhook.secret).not.toBe(old);
    expect((await call(store, 'POST', `/webhooks/${id}/test`)).body.test.delivered).toBe(true);
    const { headers, body } = seenAt(path).at(-1) as SeenWebhook;
    for (const key of [old, webhook.secret ?? '']) expect(() => verifyWebhook(key, headers, body)).not.toThrow();
  });

  it('is one of five at most, the operator’s included', async () => {
    const store = await addStore();
    await cli('retailer', 'set-webhook', store.retailerId, '--url', `${receiver.url}${newPath()}`);
    for (let i = 1; i < MAX_WEBHOOKS_SET; i++) await add(store, newPath());
    const refused = await call(store, 'POST', '/webhooks', { url: receiver.url });
    expect([refused.status, refused.body.error.code]).toEqual([409, 'illegal_transition']);
  });
});

describe('a test of a webhook', () => {
  it('is sent at once, signed, and says what the receiver answered; it is not kept', async () => {
    const store = await addStore();
    const path = newPath();
    const { id, secret } = await add(store, path, ['order.paid']);
    const { status, body } = await call(store, 'POST', `/webhooks/${id}/test`);
    expect([status, body.test]).toMatchObject([200, { delivered: true, result: '204' }]);
    const [seen] = seenAt(path) as [SeenWebhook];
    expect(seen.headers['webhook-id']).toBe(body.test.event_id);
    expect(verifyWebhook(secret, seen.headers, seen.body)).toEqual({
      type: 'webhook.test',
      timestamp: expect.stringMatching(/Z$/),
      data: { webhook_id: id, retailer_id: store.retailerId },
    });
    for (const answer of [500, 301, 410]) {
      answers.set(path, answer);
      const failed = (await call(store, 'POST', `/webhooks/${id}/test`)).body.test;
      expect(failed).toMatchObject({ delivered: false, result: String(answer) });
    }
    expect(await deliveriesOf(store, id)).toEqual([]);
    const shown = (await call(store, 'GET', `/webhooks/${id}`)).body.webhook;
    expect(shown).toMatchObject({ enabled: true, failing_since: null });
  });

  it('says one word where no server answers, whether the address exists or not', async () => {
    const store = await addStore();
    const { id } = await add(store, newPath());
    for (const url of ['https://no-such-host.invalid/', 'http://127.0.0.1:1/']) {
      await world.sql`update webhooks set url = ${url} where id = ${id}`;
      expect((await call(store, 'POST', `/webhooks/${id}/test`)).body.test.result).toBe('unreachable');
    }
    await world.sql`update webhooks set url = 'http://10.0.0.1/' where id = ${id}`;
    expect((await call(store, 'POST', `/webhooks/${id}/test`)).body.test.result).toBe('unreachable');
  });

  it('ends within its time-out, and a second one meanwhile is refused', async () => {
    const store = await addStore();
    const path = newPath();
    answers.set(path, null);
    const { id } = await add(store, path);
    const first = call(store, 'POST', `/webhooks/${id}/test`);
    await expect.poll(() => seenAt(path).length).toBe(1);
    const second = await call(store, 'POST', `/webhooks/${id}/test`);
    expect([second.status, second.body.error.code]).toEqual([429, 'rate_limited']);
    expect((await first).body.test).toMatchObject({ delivered: false, result: 'timeout' });
  });

  it('is made so often a minute, and no more', async () => {
    const store = await addStore();
    const { id } = await add(store, newPath());
    for (let i = 0; i < WEBHOOK_TESTS_PER_MINUTE; i++) {
      expect((await call(store, 'POST', `/webhooks/${id}/test`)).status).toBe(200);
    }
    const refused = await call(store, 'POST', `/webhooks/${id}/test`);
    expect([refused.status, refused.body.error.code]).toEqual([429, 'rate_limited']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  });
});

describe('a delivery', () => {
  it('is listed with what the receiver answered, and replayed with the same id and body', async () => {
    const store = await addStore();
    const path = newPath();
    const { id } = await add(store, path, ['order.created', 'order.cancelled']);
    const order = (await place(store)).body.order;
    await cancel(store, order.id);
    await untilSeen(path, 'order.cancelled');
    await expect
      .poll(() => deliveriesOf(store, id, '?status=delivered'))
      .toMatchObject([
        { type: 'order.cancelled', order_id: order.id, attempts: 1, result: '204', next_try_at: null },
        { type: 'order.created', order_id: order.id, attempts: 1, result: '204', tried_at: expect.any(String) },
      ]);
    const page = await call(store, 'GET', `/webhooks/${id}/deliveries?limit=1`);
    const next = await call(store, 'GET', `/webhooks/${id}/deliveries?limit=1&cursor=${page.body.next_cursor}`);
    expect([page, next].map(({ body }) => body.deliveries.map(({ type }) => type))).toEqual([
      ['order.cancelled'],
      ['order.created'],
    ]);
    const [last] = page.body.deliveries as [Delivery];
    const again = await call(store, 'POST', `/webhooks/${id}/deliveries/${last.id}/replay`);
    expect([again.status, again.body]).toMatchObject([200, { delivery: { id: last.id, status: 'pending' } }]);
    await expect.poll(() => seenAt(path).length).toBe(3);
    const [first, second] = seenAt(path).filter(({ event }) => event.type === 'order.cancelled') as [
      SeenWebhook,
      SeenWebhook,
    ];
    expect([second.body, second.headers['webhook-id']]).toEqual([first.body, first.headers['webhook-id']]);
  });
});

describe('the operator’s webhook', () => {
  it('is told of what it was before, is the store’s to see and to change, and is listed by a command', async () => {
    const store = await addStore();
    const path = newPath();
    await cli('retailer', 'set-webhook', store.retailerId, '--url', receiver.url + path);
    const own = await add(store, newPath(), ['order.paid']);
    const order = (await place(store)).body.order;
    await cancel(store, order.id);
    await untilSeen(path, 'order.cancelled');
    expect(typesAt(path)).toEqual(['order.cancelled']);
    const [shown] = (await call(store, 'GET', '/webhooks')).body.webhooks;
    expect(shown).toMatchObject({ id: store.retailerId, set_by: 'operator', url: receiver.url + path });
    expect(shown?.event_types).not.toContain('order.created');
    expect(await cli('retailer', 'set-webhook', store.retailerId, '--events', 'all')).toMatchObject({
      event_types: ['*'],
    });
    expect(await cli('webhook', 'endpoints', store.retailerId)).toMatchObject([
      { webhook_id: store.retailerId, set_by: 'operator', event_types: '*' },
      { webhook_id: own.id, set_by: 'key', event_types: 'order.paid' },
    ]);
    expect(await deliveriesOf(store, store.retailerId)).toMatchObject([{ type: 'order.cancelled' }]);
    await expect(cli('retailer', 'set-webhook', store.retailerId, '--events', 'order.eaten')).rejects.toThrow(/events/);
  });
});

describe('a key', () => {
  it('finds nothing of another store’s webhooks', async () => {
    const [store, stranger] = [await addStore(), await addStore()];
    const path = newPath();
    const { id } = await add(store, path, ['order.cancelled']);
    await cancel(store, (await place(store)).body.order.id);
    await untilSeen(path, 'order.cancelled');
    const [delivery] = await deliveriesOf(store, id);
    const own = await add(stranger, newPath());
    const before = await world.sql`select * from webhooks order by id`;
    const requests: [string, string, object?][] = [
      ['GET', `/webhooks/${id}`],
      ['PATCH', `/webhooks/${id}`, { enabled: false }],
      ['DELETE', `/webhooks/${id}`],
      ['POST', `/webhooks/${id}/test`],
      ['POST', `/webhooks/${id}/rotate-secret`],
      ['GET', `/webhooks/${id}/deliveries`],
      ['POST', `/webhooks/${id}/deliveries/${delivery?.id}/replay`],
      ['POST', `/webhooks/${own.id}/deliveries/${delivery?.id}/replay`],
    ];
    for (const [method, address, body] of requests) {
      const foreign = await call(stranger, method, address, body);
      const missing = await call(
        stranger,
        method,
        address.replace(id, newId()).replace(String(delivery?.id), newId()),
        body,
      );
      expect([foreign.status, foreign.body.message, foreign.body.error.code]).toEqual([
        404,
        missing.body.message,
        'not_found',
      ]);
      expect((await call(stranger, method, address.replace(id, 'x').replace(own.id, 'x'), body)).status).toBe(404);
    }
    expect(await world.sql`select * from webhooks order by id`).toEqual(before);
    expect(await ask('/webhooks')).toMatchObject({ status: 401 });
  });

  it('hears by name what is wrong with a webhook', async () => {
    const store = await addStore();
    const refused = async (method: string, path: string, body: object) => {
      const { status, body: told } = await call(store, method, path, body);
      return [status, ...told.error.fields.map(({ field }) => field)];
    };
    expect(await refused('POST', '/webhooks', {})).toEqual([400, 'url']);
    const bad = { url: 'http://10.0.0.1/', event_types: ['order.eaten'] };
    expect(await refused('POST', '/webhooks', bad)).toEqual([400, 'event_types[0]']);
    expect(await refused('POST', '/webhooks', { url: 'http://10.0.0.1/' })).toEqual([400, 'url']);
    const { id } = await add(store, newPath());
    expect(await refused('PATCH', `/webhooks/${id}`, { secret: 'x', enabled: 1 })).toEqual([400, 'secret', 'enabled']);
    for (const action of ['test', 'rotate-secret', `deliveries/${newId()}/replay`]) {
      expect(await refused('POST', `/webhooks/${id}/${action}`, { url: 'https://x.test' })).toEqual([400, 'url']);
    }
    const list = await call(store, 'GET', `/webhooks/${id}/deliveries?limit=0&status=lost&page=2&cursor=%20`);
    expect(list.body.error.fields.map(({ field }) => field).toSorted()).toEqual(['cursor', 'limit', 'page', 'status']);
    const wrong = await call(store, 'PUT', `/webhooks/${id}`);
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD, PATCH, DELETE']);
  });
});

it('writes neither secret nor URL to its log', () => {
  expect(world.output()).toContain('a webhook failed');
  expect(world.output()).not.toMatch(/whsec_/);
  for (const { path } of receiver.seen) expect(world.output()).not.toContain(path);
});

describe('an organization’s webhook', () => {
  it('is told of all its stores and of no other, and no store’s key knows it', async () => {
    const [own, other] = [await addStore(), await addStore()];
    const { organization_id: chain = '' } = await cli('organization', 'add', 'Corner Markets');
    const { api_key: apiKey = '' } = await cli('organization', 'create-key', chain);
    await cli('organization', 'add-store', chain, own.retailerId);
    const path = newPath();
    const { id, secret } = await add({ ...own, apiKey }, path, ['order.cancelled']);
    for (const store of [own, other]) await cancel(store, (await place(store)).body.order.id);
    await untilSeen(path, 'order.cancelled');
    expect(seenAt(path).map(({ event }) => event.data.retailer_id)).toEqual([own.retailerId]);
    for (const { headers, body, event } of seenAt(path)) expect(verifyWebhook(secret, headers, body)).toEqual(event);
    expect((await call(own, 'GET', `/webhooks/${id}`)).status).toBe(404);
    // A store that has left is not told of, and nothing of it is listed.
    await cli('organization', 'remove-store', chain, own.retailerId, '--yes');
    const { id: last } = (await place(own)).body.order;
    await cancel(own, last);
    const events = async () =>
      (await ask<{ events: StoreEvent[] }>('/events?limit=100', { key: own.apiKey })).body.events;
    const told = { type: 'order.cancelled', data: expect.objectContaining({ order_id: last }) };
    await expect.poll(events).toContainEqual(expect.objectContaining(told));
    expect(await deliveriesOf({ ...own, apiKey }, id)).toEqual([]);
    expect(seenAt(path)).toHaveLength(1);
  });
});
