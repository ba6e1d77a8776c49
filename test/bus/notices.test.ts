import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { listenForNotices, type NoticeHandlers } from '../../src/bus/notices.ts';
import { connect } from '../../src/postgres/connect.ts';
import { createLogger } from '../../src/telemetry.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { addStoreRow, draftOrder } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';
import { openGateway } from './gateway.ts';

const logger = createLogger('silent');
let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

/** A listening process, with what it received and how often it began to listen. */
async function listener(options: { origin?: string; url?: string; changed?: NoticeHandlers['changed'] } = {}) {
  const sql = connect({ url: options.url ?? database.url, applicationName: 'listener', max: 1 });
  onTestFinished(() => sql.end({ timeout: 1 }));
  const heard: string[] = [];
  let began = 0;
  const stop = await listenForNotices(
    sql,
    options.origin ?? 'me',
    {
      changed(notice) {
        const { kind, ids, own, paid } = notice;
        heard.push(`${own ? 'own ' : ''}${kind} ${ids.join('+')}${paid ? ' paid' : ''}`);
        return options.changed?.(notice);
      },
      listening: () => void began++,
    },
    logger,
  );
  return { heard, stop, began: () => began };
}
const say = (payload: string) => database.sql`select pg_notify('sameday', ${payload})`;
/** Number of connections to the port that this process was refused so far. */
function countRefusals(port: number): () => number {
  let refused = 0;
  const watch = (message: unknown) =>
    (message as { socket: Socket }).socket.once('error', (error: Error & { port?: number }) => {
      if (error.port === port) refused++;
    });
  subscribe('net.client.socket', watch);
  onTestFinished(() => void unsubscribe('net.client.socket', watch));
  return () => refused;
}
const soon = { interval: 10 };

test('an order committed by one process is heard by the others, and by itself as its own', async () => {
  const { sql } = database;
  const order = await draftOrder(sql, await addStoreRow(sql));
  const [me, other] = [await listener({ origin: 'me' }), await listener({ origin: 'other' })];
  await storeOf(sql, 'other').insertOrders([order]);
  await expect.poll(() => me.heard, soon).toEqual([`order ${order.id}`]);
  await expect.poll(() => other.heard, soon).toEqual([`own order ${order.id}`]);
});

test('listening has begun, and was reported once, when the call returns', async () => {
  const { heard, began } = await listener();
  expect(began()).toBe(1);
  await say('other:driver:d1');
  await expect.poll(() => heard, soon).toEqual(['driver d1']);
});

test('every kind and every id of a notice is heard, in the order of the commits', async () => {
  const { heard } = await listener();
  const payloads = ['a:order:o1,o2,o3', 'b:driver:d1', 'me:tier:standard', 'w:details:o1', 'w:details:o2:paid'];
  for (const payload of payloads) await say(payload);
  await expect
    .poll(() => heard, soon)
    .toEqual(['order o1+o2+o3', 'driver d1', 'own tier standard', 'details o1', 'details o2 paid']);
});

test('what is no notice of ours is passed over', async () => {
  const { heard } = await listener();
  for (const payload of ['', 'a', 'a:order', 'a:order:', 'a:weather:x', ':::', 'a:driver:d1']) await say(payload);
  await expect.poll(() => heard, soon).toEqual(['driver d1']);
});

test('a notice that could not be handled does not keep the next from being heard', async () => {
  let calls = 0;
  const { heard } = await listener({
    changed() {
      if (calls++ === 0) throw new Error('at once');
      return calls === 2 ? Promise.reject(new Error('later')) : undefined;
    },
  });
  for (const id of ['o1', 'o2', 'o3']) await say(`a:order:${id}`);
  await expect.poll(() => heard, soon).toEqual(['order o1', 'order o2', 'order o3']);
});

test('who stopped listening hears no more', async () => {
  const [gone, here] = [await listener(), await listener()];
  await gone.stop();
  await say('a:order:o1');
  await expect.poll(() => here.heard, soon).toEqual(['order o1']);
  expect(gone.heard).toEqual([]);
});

test('a connection that was ended from outside is made again, and reports that notices may have been missed', async () => {
  const { heard, began } = await listener();
  await database.sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'listener'`;
  await expect.poll(began, soon).toBe(2);
  await say('a:order:o1');
  await expect.poll(() => heard, soon).toEqual(['order o1']);
});

test('a database that was away for a while is listened to again when it is back, each time', async () => {
  const gateway = await openGateway(database.url);
  const { heard, began } = await listener({ url: gateway.url });
  onTestFinished(() => gateway.close());
  const refusals = countRefusals(Number(new URL(gateway.url).port));
  for (const outage of [1, 2]) {
    const before = refusals();
    await gateway.cut();
    await expect.poll(refusals, soon).toBeGreaterThan(before + 1);
    await gateway.restore();
    await expect.poll(began, soon).toBe(outage + 1);
    await say(`a:order:o${outage}`);
    await expect.poll(() => heard.at(-1), soon).toBe(`order o${outage}`);
  }
});
