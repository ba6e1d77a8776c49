import { connect as dial, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/postgres/connect.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { startPushVendor } from '../harness/push-phone.ts';
import { type FreshRedis, freshRedis, hasRedis } from '../harness/redis.ts';
import { type Environment, newDataDir, type Running, startBuiltService } from '../harness/service.ts';
import { untilBlocked } from '../store/transaction.ts';
import {
  addDriver,
  addFreeDriver,
  addStore,
  ask,
  chargesOf,
  openPhone,
  openSocket,
  orderOf,
  place,
  type Store,
  untilOrder,
} from './clients.ts';

describe.skipIf(!hasRedis())('two API processes and a worker on one Postgres and one Redis', () => {
  let database: FreshDatabase;
  let redis: FreshRedis | undefined;
  let api: Environment;
  let a: Running;
  let b: Running;
  let worker: Running;
  const folders = [newDataDir(), newDataDir()] as const;

  beforeAll(async () => {
    database = await freshDatabase();
    redis = await freshRedis();
    const env = { DATABASE_URL: database.url, REDIS_URL: redis?.url ?? '' };
    const [shared, own] = folders.map((folder) => folder.dataDir) as [string, string];
    api = { ...env, ROLES: 'api', DATA_DIR: shared };
    // Alone at first, so that it is the one that plans.
    a = await startBuiltService({ ...api, STOP_NOTICE_SECONDS: '3' });
    [b, worker] = await Promise.all([
      startBuiltService({ ...api, DATA_DIR: own, LOG_LEVEL: 'info' }),
      startBuiltService({ ...env, ROLES: 'worker', DATA_DIR: shared }),
    ]);
  });
  afterAll(async () => {
    expect(await Promise.all([a, b, worker].map((each) => each?.stop()))).toEqual([0, 0, 0]);
    await redis?.stop();
    await database.drop();
    for (const folder of folders) folder.remove();
  });

  test('a driver who reports to one process gets an order posted to the other, charged in the worker', async () => {
    const store = await addStore(database.sql);
    const driver = await addDriver(a, database.sql);
    await driver.duty(true);
    await driver.at(store.point);
    const order = (await place(b, store)).body.order;
    await untilOrder(b, store, order.id, { status: 'driver_assigned', payment_status: 'paid' });
    expect((await driver.state()).order).toMatchObject({ id: order.id, status: 'driver_assigned' });
    expect(chargesOf(worker.dataDir, order.id)).toHaveLength(1);
  });

  test('of the processes that hear of an assignment the one that made it rings the driver’s phone', async () => {
    const vendor = await startPushVendor();
    onTestFinished(() => vendor.close());
    const store = await addStore(database.sql);
    const driver = await addFreeDriver(a, database.sql, store.point);
    const phone = vendor.subscribe();
    const subscribed = await ask(a, '/driver/push', { method: 'POST', key: driver.token, body: phone.body });
    expect(subscribed.status).toBe(200);
    const told = () => vendor.received.map(({ message }) => message);
    const order = (await place(b, store)).body.order;
    await untilOrder(a, store, order.id, { driver_id: driver.id });
    const live = await openPhone(a, driver.token);
    expect(live.messages.at(-1)).toMatchObject({ order: { id: order.id } });
    await expect.poll(told, { interval: 20 }).toEqual([{ kind: 'given' }]);
    const path = `/orders/${order.id}/cancel`;
    await ask(a, path, { method: 'POST', key: store.apiKey, body: { reason: 'out_of_stock' } });
    await expect.poll(() => told().at(-1), { interval: 20 }).toEqual({ kind: 'taken' });
    await expect.poll(() => live.messages.at(-1), { interval: 20 }).toMatchObject({ order: null });
    expect(told()).toEqual([{ kind: 'given' }, { kind: 'taken' }]);
  });

  test('the reply to an order says that it is paid, though another process charged it', async () => {
    const store = await addStore(database.sql);
    await addFreeDriver(a, database.sql, store.point);
    expect((await place(a, store)).body.order).toMatchObject({ status: 'driver_assigned', payment_status: 'paid' });
  });

  test('a client without a key that leaves while its order is committed gets that order at the other process, once', async () => {
    const store = await addStore(database.sql);
    const body = JSON.stringify(orderOf(store));
    const again = () => ask(b, '/orders/create', { method: 'POST', key: store.apiKey, body: JSON.parse(body) });
    const blocker = connect({ url: database.url, applicationName: 'blocker', max: 1, statementTimeoutMs: 0 });
    onTestFinished(() => blocker.end({ timeout: 1 }));
    // In the middle of the commit: the order's own row is written then.
    await database.sql.unsafe(`
      create function wait_for_test() returns trigger language plpgsql as $$
        begin perform pg_advisory_xact_lock_shared(7); return new; end $$;
      create trigger wait_for_test before insert on customers for each row execute function wait_for_test()`);
    onTestFinished(async () => void (await database.sql.unsafe('drop function wait_for_test cascade')));
    await blocker.unsafe('select pg_advisory_lock(7)').simple();
    const leaver = connectTo(a, store.apiKey, body);
    await untilBlocked(database);
    leaver.destroy();
    const recorded = () => database.sql`select from unheard_requests where abandoned <> '{}'`;
    await expect.poll(async () => (await recorded()).length, { interval: 5 }).toBe(1);
    const second = again();
    await blocker.unsafe('select pg_advisory_unlock(7)').simple();
    const answer = await second;
    expect([answer.status, answer.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
    const orders = () => database.sql`select id from orders where retailer_id = ${store.retailerId}`;
    expect((await orders()).map(({ id }) => id)).toEqual([answer.body.order.id]);
    // Both replies were received, so these are orders of their own.
    expect((await again()).body.order.id).not.toBe(answer.body.order.id);
    expect((await again()).headers.has('idempotent-replayed')).toBe(false);
    expect(await orders()).toHaveLength(3);
  });

  test('a waiting order of one process goes to a driver who comes on duty at the other', async () => {
    const store = await addStore(database.sql);
    const waiting = await place(a, store);
    expect(waiting.body.order.status).toBe('pending_dispatch');
    await addFreeDriver(b, database.sql, store.point);
    await untilOrder(a, store, waiting.body.order.id, { status: 'driver_assigned' });
  });

  test('a page open at one process sees what a driver does at the other, without asking again', async () => {
    const store = await addStore(database.sql);
    const driver = await addFreeDriver(a, database.sql, store.point);
    const order = await untilOrder(a, store, (await place(a, store)).body.order.id, { status: 'driver_assigned' });
    const page = await openSocket(b, `/track/${order.tracking_token}/live`);
    await expect.poll(() => JSON.stringify(page.messages)).toContain('driver_assigned');
    const phone = await openPhone(a, driver.token);
    expect((await driver.pickUp(order.id)).status).toBe(200);
    await expect.poll(() => JSON.stringify(page.messages.at(-1))).toContain('"status":"picked_up"');
    phone.close();
    page.close();
  });

  test('one that is stopped and started again fails no request of a balancer, loses no order, and sends its sockets on', async () => {
    const store = await addStore(database.sql);
    const driver = await addDriver(b, database.sql);
    const { order } = (await place(a, store)).body;
    const live = `/track/${order.tracking_token}/live`;
    const page = await openSocket(a, live);
    const phone = await openPhone(a, driver.token);
    const busy = await addStore(database.sql);
    const traffic = balance(() => [a, b], busy);
    const stopped = a.stop();
    await expect.poll(() => [page.closedWith(), phone.closedWith()], { interval: 20 }).toEqual([1012, 1012]);
    await expect.poll(b.output).toContain('this process plans');
    const [pageAgain, phoneAgain] = [await openSocket(b, live), await openPhone(b, driver.token)];
    expect(await stopped).toBe(0);
    a = await startBuiltService(api);
    await driver.at(store.point);
    await driver.duty(true);
    await untilOrder(a, store, order.id, { status: 'driver_assigned' });
    await expect.poll(() => JSON.stringify(pageAgain.messages.at(-1))).toContain('driver_assigned');
    await expect.poll(() => phoneAgain.messages.at(-1)).toMatchObject({ order: { id: order.id } });
    const { taken, failed } = await traffic.end();
    expect(failed).toEqual([]);
    expect(new Set(taken.map(({ url }) => url)).size).toBeGreaterThan(1);
    const rows = await database.sql`select id from orders where retailer_id = ${busy.retailerId}`;
    expect(rows.map(({ id }) => id).toSorted()).toEqual(taken.map(({ id }) => id).toSorted());
    for (const socket of [pageAgain, phoneAgain]) socket.close();
  });
});

test('without Redis a second API process on the same database refuses to start and says why', async () => {
  const database = await freshDatabase();
  const [first, second] = [newDataDir(), newDataDir()];
  const running = await startBuiltService({ DATABASE_URL: database.url, DATA_DIR: first.dataDir });
  try {
    const env = { DATABASE_URL: database.url, DATA_DIR: second.dataDir };
    await expect(startBuiltService(env)).rejects.toThrow(/Another API process runs on this database\./);
  } finally {
    expect(await running.stop()).toBe(0);
    await database.drop();
    first.remove();
    second.remove();
  }
});

/** Sends 20 orders with keys a second, in turn to the processes that say that they are ready. */
function balance(processes: () => readonly Running[], store: Store) {
  const taken: { readonly url: string; readonly id: string }[] = [];
  const failed: string[] = [];
  const sent: Promise<void>[] = [];
  const isReady = ({ url }: Running) =>
    ask({ url }, '/readyz').then(
      ({ status }) => status === 200,
      () => false,
    );
  async function send(turn: number): Promise<void> {
    const all = processes();
    const one = all[turn % all.length] as Running;
    if (!(await isReady(one))) return;
    const headers = { 'idempotency-key': `deploy ${turn}` };
    const order = { method: 'POST', key: store.apiKey, body: orderOf(store), headers };
    const answer = await ask(one, '/orders/create', order).catch(String);
    if (typeof answer !== 'string' && answer.status === 201) taken.push({ url: one.url, id: answer.body.order.id });
    else failed.push(typeof answer === 'string' ? answer : answer.text);
  }
  const timer = setInterval(() => sent.push(send(sent.length)), 50);
  onTestFinished(() => clearInterval(timer));
  return {
    async end() {
      clearInterval(timer);
      await Promise.all(sent);
      return { taken, failed };
    },
  };
}

/** A connection on which an order was sent. */
function connectTo({ url }: Running, apiKey: string, body: string): Socket {
  const { hostname, port, host } = new URL(url);
  const socket = dial(Number(port), hostname);
  const head = `POST /orders/create HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${apiKey}\r\n`;
  socket.write(`${head}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  socket.on('error', () => undefined);
  return socket;
}
