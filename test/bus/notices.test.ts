import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { type GivenOrder, listenForNotices, type NoticeHandlers } from '../../src/bus/notices.ts';
import { newId, newTrackingToken } from '../../src/domain/ids.ts';
import { MAX_COMMIT_BATCH } from '../../src/limits.ts';
import { connect } from '../../src/postgres/connect.ts';
import type { CommittedOrder, NewOrder } from '../../src/store/orders/orders-create.ts';
import { createLogger } from '../../src/telemetry.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { addDriverRow, addStoreRow, draftOrder, PICKUP } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';
import { openGateway } from './gateway.ts';

const logger = createLogger('silent');
const database = await useFreshDatabase();
const { sql } = database;

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
const say = (payload: string) => sql`select pg_notify('sameday', ${payload})`;
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
  const order = await draftOrder(sql, await addStoreRow(sql));
  const [me, other] = [await listener({ origin: 'me' }), await listener({ origin: 'other' })];
  await storeOf(sql, 'other').insertOrders([order]);
  await expect.poll(() => me.heard, soon).toEqual([`order ${order.id}`]);
  await expect.poll(() => other.heard, soon).toEqual([`own order ${order.id}`]);
});

test('the notice of orders with drivers tells the others of each, and the build before reads its ids', async () => {
  const store = await addStoreRow(sql);
  const drafts: NewOrder[] = [];
  for (const point of [{ lat: 1.2345678901234568e-5, lng: -122.4194155 }, null]) {
    const driverId = await addDriverRow(sql);
    const dropoff = point && ({ point, accuracyMeters: 20, source: 'zip_centroid' } as const);
    drafts.push({ ...(await draftOrder(sql, store, { driverId })), pickup: point ?? PICKUP, dropoff });
  }
  drafts.push(await draftOrder(sql, store));
  const given = new Map<string, GivenOrder>();
  const { heard } = await listener({
    changed: (notice) => {
      for (const [id, order] of notice.given) given.set(id, order);
    },
  });
  const payloads: string[] = [];
  const raw = await sql.listen('sameday', (payload) => void payloads.push(payload));
  onTestFinished(() => raw.unlisten());
  const committed = await storeOf(sql, 'other').insertOrders(drafts);
  await expect.poll(() => heard.length + payloads.length, soon).toBe(2);
  const [, kind, ids, paid] = (payloads[0] as string).split(':');
  expect([kind, ids?.split(',').toSorted(), paid]).toEqual(['order', drafts.map(({ id }) => id).toSorted(), '']);
  for (const { id, driver, pickup, dropoff } of drafts) {
    const { createdAt, deliverBy } = committed.get(id) as CommittedOrder;
    const place = { retailerId: store.retailerId, slot: 0, step: 'to_fetch', pickup, dropoff: dropoff?.point ?? null };
    const times = { readyAtMs: createdAt.getTime(), deliverByMs: deliverBy.getTime() };
    const order = driver && {
      driverId: driver.driverId,
      atMs: createdAt.getTime(),
      carried: { orderId: id, ...place, ...times },
    };
    expect(given.get(id)).toEqual(order ?? undefined);
  }
});

test('the notices of the largest commit hold all of its orders, however long their numbers are', async () => {
  const [store, driverId] = [await addStoreRow(sql), await addDriverRow(sql)];
  await sql`update drivers set capacity = 8 where id = ${driverId}`;
  await sql`alter table orders disable trigger user`;
  await sql`drop index orders_driver_slot`;
  const longest = { lat: -1.2345678901234568e-5, lng: -1.2345678901234568e-5 };
  const draft = await draftOrder(sql, store, { driverId });
  const dropoff = { point: longest, accuracyMeters: 20, source: 'zip_centroid' } as const;
  const drafts = Array.from({ length: MAX_COMMIT_BATCH }, () => {
    const ids = { id: newId(), customerId: newId(), dropoffAddressId: newId(), trackingToken: newTrackingToken() };
    return { ...draft, ...ids, pickup: longest, dropoff };
  });
  const given = new Set<string>();
  await listener({
    changed: (notice) => {
      for (const id of notice.given.keys()) given.add(id);
    },
  });
  await storeOf(sql, 'other').insertOrders(drafts);
  await expect.poll(() => given.size, soon).toBe(MAX_COMMIT_BATCH);
});

test.each(['x', '{}', '[1]', '[[1],null]', '[["d"]]'])(
  'a notice that tells %s of an order tells nothing',
  async (facts) => {
    const given: unknown[] = [];
    const { heard } = await listener({ changed: (notice) => void given.push(...notice.given.keys()) });
    await say(`other:order:o1,o2::${facts}`);
    await expect.poll(() => heard, soon).toEqual(['order o1+o2']);
    expect(given).toEqual([]);
  },
);

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
  await sql`
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
