import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SCENARIO_CARDS } from '../../src/domain/scenario.ts';
import type { StoreEvent } from '../../src/domain/store-event.ts';
import { newWebhookSecret } from '../../src/events/webhook-signature.ts';
import { blocks } from '../docs/markdown.ts';
import { startBuiltService } from '../harness/service.ts';
import { storeOf } from '../harness/store.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../harness/webhooks.ts';
import type { Store } from './clients.ts';
import { useService } from './world.ts';

const world = useService(startBuiltService);
const { addStore, addFreeDriver, ask, place } = world;

type Page = { readonly events: readonly StoreEvent[]; readonly next_cursor: string };

let receiver: WebhookReceiver;
let store: Store;

beforeAll(async () => {
  receiver = await startWebhookReceiver(() => 204);
  store = await addStore();
  await storeOf(world.sql).setWebhook(store.retailerId, `${receiver.url}/hook`, newWebhookSecret());
});
afterAll(() => receiver?.close());

const read = async (query = '', by = store) => (await ask<Page>(`/events?${query}`, { key: by.apiKey })).body;
/** Reads until this many events are there. */
async function follow(count: number, from = '0'): Promise<StoreEvent[]> {
  const found: StoreEvent[] = [];
  for (let cursor = from; found.length < count; ) {
    const page = await read(`after=${cursor}&wait=10`);
    expect(page.events.length).toBeGreaterThan(0);
    found.push(...page.events);
    cursor = page.next_cursor;
  }
  return found;
}

it('shows a reader who waits what happens to an order, as the webhooks say it', async () => {
  const driver = await addFreeDriver(store.point);
  const following = follow(4);
  const { id } = (await place(store)).body.order;
  expect((await driver.pickUp(id)).status).toBe(200);
  const events = await following;
  expect(events.map(({ type }) => type).toSorted()).toEqual([
    'order.assigned',
    'order.created',
    'order.paid',
    'order.picked_up',
  ]);
  const sequences = events.map((event) => Number(event.data.sequence));
  expect(sequences).toEqual(sequences.toSorted((a, b) => a - b));
  await expect.poll(() => receiver.seen.length).toBe(2);
  for (const { event } of receiver.seen) {
    const { cursor, ...same } = events.find(({ type }) => type === event.type) as StoreEvent;
    expect(cursor).toMatch(/^[\w-]{22}$/);
    expect(same).toEqual(event);
  }
  await driver.duty(false);
});

it('feeds the program of the page for stores, which goes on where it was', async () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/integrate.md'), 'utf8');
  const code = blocks(page, 'js').find((block) => block.startsWith('// follow-events.mjs')) ?? '';
  const file = join(world.dataDir, 'follow-events.mjs');
  writeFileSync(file, code);
  const { events } = await read();
  /** Starts the program and stops it after so many events. */
  const run = async (count: number): Promise<StoreEvent[]> => {
    const env = { ...process.env, BASE: world.url, API_KEY: store.apiKey, CURSOR_FILE: join(world.dataDir, 'cursor') };
    const child = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    const lines = () => output.split('\n').filter((line) => line !== '');
    try {
      await expect.poll(() => lines().length, { interval: 20 }).toBe(count);
      // It stores its cursor after its work.
      const isStored = async () =>
        existsSync(env.CURSOR_FILE) &&
        (await read(`after=${readFileSync(env.CURSOR_FILE, 'utf8')}`)).events.length === 0;
      await expect.poll(isStored).toBe(true);
    } finally {
      child.kill();
    }
    return lines().map((line) => JSON.parse(line));
  };
  expect(await run(events.length)).toEqual(events);
  const { id } = (await place(store)).body.order;
  expect(await run(1)).toMatchObject([{ type: 'order.created', data: { order_id: id } }]);
});

it('shows a store nothing of another one, and a wrong key nothing at all', async () => {
  const other = await addStore();
  expect(await read('', other)).toMatchObject({ events: [], next_cursor: expect.stringMatching(/^[\w-]{22}$/) });
  expect((await ask('/events', { key: `${store.apiKey}x` })).status).toBe(401);
});

it('gives a store no cursor by which it could see what happens at another one', async () => {
  const quiet = await addStore();
  const cursors = new Set<string>();
  for (let i = 0; i < 5; i++) {
    cursors.add((await read('', quiet)).next_cursor);
    if (i === 2) {
      const { id } = (await place(store)).body.order;
      await expect.poll(async () => (await read('limit=100')).events.at(-1)?.data.order_id).toBe(id);
    }
  }
  // They differ whether anything happened or not, and none is a number.
  expect(cursors.size).toBe(5);
  expect([...cursors].filter((cursor) => /^\d+$/.test(cursor))).toEqual([]);
  for (const cursor of cursors) expect(await read(`after=${cursor}`, quiet)).toMatchObject({ events: [] });
  const [{ number } = {}] = await world.sql`select number::int from event_head`;
  for (const after of [1, number, number + 1]) {
    expect((await ask(`/events?after=${after}`, { key: quiet.apiKey })).status).toBe(400);
  }
});

it('goes on from every cursor, after a restart too', async () => {
  const all = (await read()).events;
  const [first, ...rest] = all as [StoreEvent, ...StoreEvent[]];
  expect((await read(`after=${first.cursor}`)).events).toEqual(rest);
  await world.restart((running) => running.stop('SIGKILL'));
  expect((await read(`after=${first.cursor}`)).events).toEqual(rest);
});

it('answers who waits when it stops, for events or for a charge, at once', async () => {
  const { next_cursor: cursor } = await read('limit=100');
  const waiting = read(`after=${cursor}&wait=20`);
  const slow = await addStore({ card: { customer: 'cus_slow', paymentMethod: SCENARIO_CARDS.time_out } });
  await addFreeDriver(slow.point);
  const placing = place(slow);
  const sent = async () => {
    const rows = await world.sql`
      select from payments p join orders o on o.id = p.order_id where o.retailer_id = ${slow.retailerId}`;
    return rows.length;
  };
  await expect.poll(sent).toBe(1);
  await expect.poll(async () => (await ask('/metrics')).text).toMatch(/^sameday_http_in_flight 3$/m);
  expect(await world.service.stop()).toBe(0);
  expect(await waiting).toMatchObject({ success: true, events: [] });
  expect((await placing).body.order).toMatchObject({ status: 'driver_assigned', payment_status: 'processing' });
});
