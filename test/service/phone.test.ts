import { renderUnicodeCompact } from 'uqr';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TRACKER_INTERVAL_SECONDS } from '../../src/commands/driver-phone.ts';
import { newId, newSecret } from '../../src/domain/ids.ts';
import type { Point } from '../../src/geo/point.ts';
import { runCli } from '../harness/command-line.ts';
import { claimsOf, type PushVendor, startPushVendor } from '../harness/push-phone.ts';
import { runCliAsText } from '../harness/service.ts';
import { startServiceHere } from '../harness/service-here.ts';
import { storeOf } from '../harness/store.ts';
import { type Driver, northOf } from './clients.ts';
import { useService } from './world.ts';

let vendor: PushVendor;
/** Everything that must be in no log. */
const secrets: string[] = [];

beforeAll(async () => {
  vendor = await startPushVendor();
});
afterAll(async () => {
  const output = world.output();
  expect(output).toContain('/driver/traccar');
  for (const secret of secrets) expect(output).not.toContain(secret);
  await vendor?.close();
});
const world = useService(startServiceHere, { REQUEST_LOG: 'all' });
const { addStore, addDriver, addFreeDriver, ask, place, show, untilOrder, openPhone } = world;

const cli = <Result = Record<string, string>>(...args: string[]) =>
  runCli<Result>({ DATABASE_URL: world.databaseUrl, BASE_URL: 'https://delivery.example.com', SANDBOX: '1' }, ...args);
const soon = { interval: 30 };

describe('Traccar Client', () => {
  /** Sets up a driver's phone by the link of the command line, as the app reads it. */
  async function trackerOf(driverId: string) {
    const made = await cli('driver', 'traccar-link', driverId, '--yes');
    const link = new URL(made.link ?? '');
    const settings = Object.fromEntries(link.searchParams);
    secrets.push(settings.id ?? '');
    return { made, link, id: settings.id ?? '', settings };
  }
  const asForm = (id: string, { lat, lng }: Point, at: Date = new Date()) => ({
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8' },
    body: String(
      new URLSearchParams({ id, lat: String(lat), lon: String(lng), timestamp: String(Math.floor(+at / 1_000)) }),
    ),
  });
  const asJson = (id: string, { lat, lng }: Point) => ({
    method: 'POST',
    body: {
      location: { timestamp: new Date().toISOString(), coords: { latitude: lat, longitude: lng, accuracy: 8 } },
      device_id: id,
    },
  });
  const asQuery = (id: string, { lat, lng }: Point) =>
    `/driver/traccar?${new URLSearchParams({ id, lat: String(lat), lon: String(lng), timestamp: String(Date.now()) })}`;
  const send = async (sent: object, path = '/driver/traccar') => {
    const { status, body } = await ask<{ taken?: boolean; error?: { code: string } }>(path, sent);
    return [status, body.taken ?? body.error?.code];
  };
  const heardMsAgo = async (driverId: string): Promise<number> => {
    const [row] = await world.sql`
      select extract(epoch from now() - received_at) * 1000 as ms from driver_positions where driver_id = ${driverId}`;
    return Number(row?.ms);
  };

  test('is set up by one link that has the address, the secret, and reports often enough', async () => {
    const driver = await addDriver();
    const { made, link, settings } = await trackerOf(driver.id);
    expect(link.protocol).toBe('org.traccar.client:');
    expect(settings).toMatchObject({
      url: 'https://delivery.example.com/driver/traccar',
      interval: String(TRACKER_INTERVAL_SECONDS),
      stop_detection: 'false',
    });
    expect(made).toMatchObject({ driver_id: driver.id, server_url: settings.url, device_identifier: settings.id });
  });

  test.each([
    ['the query', (id: string, at: Point) => send({ method: 'POST' }, asQuery(id, at))],
    ['a form', (id: string, at: Point) => send(asForm(id, at))],
    ['JSON', (id: string, at: Point) => send(asJson(id, at))],
  ])('keeps a driver’s order by %s while the page is closed', async (_form, report) => {
    const store = await addStore();
    const driver = await addFreeDriver(store.point);
    const { id } = await trackerOf(driver.id);
    const order = (await place(store)).body.order;
    await untilOrder(store, order.id, { status: 'driver_assigned', driver_id: driver.id });
    // The page has been silent since the assignment, for longer than the statement below allows.
    await expect.poll(() => heardMsAgo(driver.id), soon).toBeGreaterThanOrEqual(0);
    await world.sql`
      update driver_positions set received_at = now() - interval '11 minutes', captured_at = now() - interval '11 minutes'
      where driver_id = ${driver.id}`;
    await world.sql`update orders set assigned_at = now() - interval '11 minutes' where id = ${order.id}`;

    expect(await report(id, northOf(store.point, 100))).toEqual([200, true]);
    await expect.poll(() => heardMsAgo(driver.id), soon).toBeLessThan(600_000);
    const release = () => storeOf(world.sql, 'test').releaseFromSilent(order.id, driver.id, 600_000);
    expect(await release()).toBeNull();
    expect(await show(store, order.id)).toMatchObject({ status: 'driver_assigned', driver_id: driver.id });
    // Without it they would have lost the order.
    await world.sql`
      update driver_positions set received_at = now() - interval '11 minutes' where driver_id = ${driver.id}`;
    expect(await release()).toMatchObject({ status: 'pending_dispatch' });
    await driver.duty(false);
  });

  test('makes a driver on duty near enough for a new order', async () => {
    const store = await addStore();
    const driver = await addDriver();
    const { id } = await trackerOf(driver.id);
    await driver.duty(true);
    expect(await send(asForm(id, store.point))).toEqual([200, true]);
    const order = (await place(store)).body.order;
    await untilOrder(store, order.id, { driver_id: driver.id });
  });

  test('has the page show the customer once the driver is at the store', async () => {
    const store = await addStore();
    const driver = await addFreeDriver(northOf(store.point, 400));
    const { id } = await trackerOf(driver.id);
    const page = await openPhone(driver.token);
    const order = (await place(store)).body.order;
    const shown = (name: unknown) => ({ order: { id: order.id, dropoff: { name } } });
    await expect.poll(() => page.messages.at(-1), soon).toMatchObject(shown(null));
    expect(await send(asForm(id, store.point))).toEqual([200, true]);
    await expect.poll(() => page.messages.at(-1), soon).toMatchObject(shown(expect.any(String)));
    page.close();
    await driver.duty(false);
  });

  test('is newer than what the page said before in that second, though its time has whole seconds', async () => {
    const driver = await addDriver();
    const { id } = await trackerOf(driver.id);
    await driver.duty(true);
    const at = { lat: 37.7, lng: -122.4 };
    const secondMs = Math.floor(Date.now() / 1_000) * 1_000 - 5_000;
    const body = { ...at, captured_at: new Date(secondMs + 500).toISOString() };
    const onPage = () => ask('/driver/location', { method: 'POST', key: driver.token, body });
    await expect.poll(async () => (await onPage()).status, soon).toBe(200);
    expect(await send(asForm(id, northOf(at, 100), new Date(secondMs + 900)))).toEqual([200, true]);
    expect(await send(asForm(id, at, new Date(secondMs - 100)))).toEqual([200, false]);
  });

  test('is answered 200 with what is old, of no use or of a driver off duty, and that is not kept', async () => {
    const driver = await addDriver();
    const { id } = await trackerOf(driver.id);
    const at = { lat: 37.7, lng: -122.4 };
    // A driver who was added by the tables is known a moment later.
    await expect.poll(() => send(asForm(id, at)), soon).toEqual([200, false]);
    await driver.duty(true);
    expect(await send(asForm(id, at))).toEqual([200, true]);
    expect(await send(asForm(id, northOf(at, 500), new Date(Date.now() - 3_600_000)))).toEqual([200, false]);
    expect(await send(asForm(id, { lat: 91, lng: 0 }))).toEqual([200, false]);
    expect(await send({ method: 'GET' }, `/driver/traccar?id=${id}`)).toEqual([200, false]);
    await expect.poll(() => heardMsAgo(driver.id), soon).toBeGreaterThanOrEqual(0);
    const [row] = await world.sql`select lat from driver_positions where driver_id = ${driver.id}`;
    expect(row?.lat).toBe(at.lat);
  });

  test('opens nothing else by its secret, and nothing at all once it is replaced or revoked', async () => {
    const driver = await addDriver();
    const { id } = await trackerOf(driver.id);
    const at = { lat: 37.7, lng: -122.4 };
    expect((await ask('/driver/orders', { key: id })).status).toBe(401);
    expect(await send(asForm(driver.token, at))).toEqual([401, 'unauthorized']);
    expect(await send(asForm(newSecret('tracker'), at))).toEqual([401, 'unauthorized']);
    await expect.poll(async () => (await send(asForm(id, at)))[0], soon).toBe(200);
    const next = await trackerOf(driver.id);
    expect((await send(asForm(next.id, at)))[0]).toBe(200);
    await expect.poll(async () => (await send(asForm(id, at)))[0], soon).toBe(401);
    const revoke = ['driver', 'traccar-link', driver.id, '--revoke'];
    await expect(cli(...revoke)).rejects.toThrow('Add --yes to do it.');
    expect(await cli(...revoke, '--yes')).toMatchObject({ device_identifier: null });
    await expect.poll(async () => (await send(asForm(next.id, at)))[0], soon).toBe(401);
  });
});

describe('Web Push', () => {
  const push = (driver: Driver, method: string, body?: object) =>
    ask<{ public_key: string; error: { fields: { field: string }[] } }>('/driver/push', {
      method,
      key: driver.token,
      ...(body ? { body } : {}),
    });
  const to = (path: string) => vendor.received.filter((each) => each.path === path).map(({ message }) => message);

  async function ringing(driver: Driver) {
    const phone = vendor.subscribe();
    expect((await push(driver, 'POST', phone.body)).status).toBe(200);
    secrets.push(phone.body.endpoint, phone.body.keys.auth);
    return phone;
  }

  test('rings for a new order, once, sealed and signed, and says nothing of it', async () => {
    const store = await addStore();
    const driver = await addFreeDriver(store.point);
    const phone = await ringing(driver);
    const { body } = await push(driver, 'GET');
    const order = (await place(store)).body.order;
    await untilOrder(store, order.id, { driver_id: driver.id });
    await expect.poll(() => to(phone.path), soon).toEqual([{ kind: 'given' }]);
    const [received] = vendor.received.filter(({ path }) => path === phone.path);
    expect(received?.headers).toMatchObject({ urgency: 'high', ttl: '120' });
    expect(claimsOf(received?.headers.authorization, body.public_key)).toMatchObject({
      aud: new URL(phone.body.endpoint).origin,
      sub: 'mailto:support@localhost',
    });
    // The driver's own steps ring nothing.
    expect((await driver.pickUp(order.id)).status).toBe(200);
    const metrics = async () => (await ask('/metrics')).text;
    await expect.poll(metrics, soon).toContain('sameday_pushes_total{outcome="sent"}');
    expect(to(phone.path)).toHaveLength(1);
  });

  test('rings for an order that waited, and tells quietly of one that the store or the operator takes', async () => {
    const store = await addStore();
    const waiting = (await place(store)).body.order;
    const driver = await addDriver();
    const phone = await ringing(driver);
    await driver.at(store.point);
    await driver.duty(true);
    await untilOrder(store, waiting.id, { driver_id: driver.id });
    await expect.poll(() => to(phone.path), soon).toEqual([{ kind: 'given' }]);
    const path = `/orders/${waiting.id}/cancel`;
    await ask(path, { method: 'POST', key: store.apiKey, body: { reason: 'out_of_stock' } });
    await expect.poll(() => to(phone.path), soon).toEqual([{ kind: 'given' }, { kind: 'taken' }]);

    const next = (await place(store)).body.order;
    await untilOrder(store, next.id, { driver_id: driver.id });
    await expect.poll(() => to(phone.path), soon).toHaveLength(3);
    await cli('order', 'cancel', next.id, '--yes');
    await expect.poll(() => to(phone.path).at(-1), soon).toEqual({ kind: 'taken' });
    expect(to(phone.path)).toHaveLength(4);

    const last = (await place(store)).body.order;
    await untilOrder(store, last.id, { driver_id: driver.id });
    await expect.poll(() => to(phone.path), soon).toHaveLength(5);
    await cli('driver', 'deactivate', driver.id, '--yes');
    await expect.poll(() => to(phone.path).slice(5), soon).toEqual([{ kind: 'taken' }]);
  });

  test('forgets a phone that its vendor does not know any more', async () => {
    const store = await addStore();
    const driver = await addFreeDriver(store.point);
    const [gone, there] = [await ringing(driver), await ringing(driver)];
    vendor.end(gone.path);
    await place(store);
    await expect.poll(() => to(there.path), soon).toHaveLength(1);
    const left = async () =>
      (await world.sql`select endpoint from push_subscriptions where driver_id = ${driver.id}`).map(
        ({ endpoint }) => endpoint,
      );
    await expect.poll(left, soon).toEqual([there.body.endpoint]);
  });

  test('takes no address in a private network, no keys that are none, and no stranger', async () => {
    const driver = await addDriver();
    const { body } = vendor.subscribe();
    const bad = async (sent: object) => {
      const answer = await push(driver, 'POST', sent);
      return [answer.status, answer.body.error.fields.map(({ field }) => field)];
    };
    for (const endpoint of ['http://10.0.0.7/send', 'https://[fd00::1]/send', 'https://169.254.169.254/', 'nowhere']) {
      expect(await bad({ ...body, endpoint })).toEqual([400, ['endpoint']]);
    }
    expect(await bad({ ...body, keys: { p256dh: 'short', auth: '' } })).toEqual([400, ['keys.p256dh', 'keys.auth']]);
    expect(await bad({})).toEqual([400, ['endpoint', 'keys']]);
    expect((await push({ ...driver, token: newSecret('driver_token') }, 'POST', body)).status).toBe(401);
  });

  test('ends for one phone, or for all of a driver', async () => {
    const store = await addStore();
    const driver = await addFreeDriver(store.point);
    const [one, two, three] = [await ringing(driver), await ringing(driver), await ringing(driver)];
    expect((await push(driver, 'DELETE', { endpoint: one.body.endpoint })).status).toBe(200);
    const order = (await place(store)).body.order;
    await expect.poll(() => [to(two.path).length, to(three.path).length], soon).toEqual([1, 1]);
    expect(to(one.path)).toEqual([]);
    expect((await push(driver, 'DELETE')).status).toBe(200);
    await cli('order', 'cancel', order.id, '--yes');
    await untilOrder(store, order.id, { status: 'cancelled' });
    expect(to(two.path)).toHaveLength(1);
  });
});

describe('a sign-in link', () => {
  async function linkOf(driverId: string): Promise<string> {
    const { sign_in_link: link = '', expires_at: expiresAt = '' } = await cli('driver', 'sign-in-link', driverId);
    expect(link).toMatch(/^https:\/\/delivery\.example\.com\/driver#sign-in=sdl_[\w-]{32}$/);
    expect(Date.parse(expiresAt) - Date.now()).toBeGreaterThan(14 * 60_000);
    const code = new URL(link).hash.replace('#sign-in=', '');
    secrets.push(code);
    return code;
  }
  const exchange = (code: string, attempt = 'one') =>
    ask<{ driver_token?: string; error?: { code: string } }>('/driver/sign-in', {
      method: 'POST',
      body: { code, attempt },
    });
  const state = (key: string) => ask('/driver/orders', { key });

  test('gives a new phone a token of its own once, and signs out the one before at that moment', async () => {
    const driver = await addDriver();
    const phone = await openPhone(driver.token);
    const code = await linkOf(driver.id);
    expect((await state(driver.token)).status).toBe(200);
    const { status, body } = await exchange(code);
    const token = body.driver_token ?? '';
    secrets.push(token);
    expect(status).toBe(200);
    expect((await state(token)).status).toBe(200);
    await expect.poll(() => phone.closedWith(), soon).toBe(4401);
    await expect.poll(async () => (await state(driver.token)).status, soon).toBe(401);

    // A lost reply comes again, and the link opens nothing for anybody else.
    expect((await exchange(code)).body.driver_token).toBe(token);
    expect(await exchange(code, 'two')).toMatchObject({ status: 401, body: { error: { code: 'unauthorized' } } });
    expect((await state(token)).status).toBe(200);
  });

  test('is dead when a newer one is made, when its time is over, and when it is made up', async () => {
    const driver = await addDriver();
    const [first, second] = [await linkOf(driver.id), await linkOf(driver.id)];
    expect((await exchange(first)).status).toBe(401);
    await world.sql`update driver_sign_ins set expires_at = now() where driver_id = ${driver.id}`;
    expect((await exchange(second)).status).toBe(401);
    expect((await exchange(newSecret('sign_in_code'))).status).toBe(401);
    expect((await state(driver.token)).status).toBe(200);
  });

  test('is drawn as a QR beside it for a person, with the link alone on standard output', async () => {
    const driver = await addDriver();
    const env = { DATABASE_URL: world.databaseUrl, BASE_URL: 'http://delivery.example.com', SANDBOX: '1' };
    const { stdout, stderr } = await runCliAsText(env, 'driver', 'sign-in-link', driver.id);
    expect(stdout).toMatch(/^http:\/\/delivery\.example\.com\/driver#sign-in=sdl_[\w-]{32}\n$/);
    expect(stderr).toContain(renderUnicodeCompact(stdout.trim(), { border: 2 }));
    expect(stderr).toContain('The phone that is\nsigned in now is signed out');
    expect(stderr).toContain('Without https a phone gives no position');
    await expect(cli('driver', 'sign-in-link', newId())).rejects.toThrow('There is no such active driver');
  });
});
