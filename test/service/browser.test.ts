import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { TRACKING_GONE_AFTER_MS } from '../../src/tracking/view.ts';
import { type Browser, findChromium, launchBrowser } from '../harness/chromium.ts';
import { jpeg } from '../harness/photo.ts';
import { startServiceHere } from '../harness/service-here.ts';
import { dropoffNear } from '../harness/towns.ts';
import { newPhone, northOf } from './clients.ts';
import { useService } from './world.ts';

const world = useService(startServiceHere);
const { addStore, addFreeDriver, ask, place, untilOrder, openSocket } = world;

let browser: Browser;
let page: Page;
/** What the browser complains of, and the requests of its pages, in the test so far. */
const problems: string[] = [];
const requests: string[] = [];

beforeAll(async () => {
  if (!findChromium()) return;
  browser = await launchBrowser();
  page = await browser.context.newPage();
  page.on('console', (message) => problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('request', (request) => requests.push(request.url()));
});
afterEach(async () => {
  await page?.goto('about:blank');
  problems.length = 0;
  requests.length = 0;
});
afterAll(() => browser?.close());

describe.skipIf(!findChromium())('the tracking page of the service in Chromium', () => {
  test('shows an order from waiting to the photo without a reload, and nobody else’s business', async () => {
    const store = await addStore({ name: 'Corner <b>Market</b>' });
    const order = (await place(store)).body.order;
    await page.goto(`${world.url}/track/${order.tracking_token}`);
    await page.evaluate(() => Object.assign(globalThis, { neverReloaded: true }));
    const headline = () => page.textContent('#headline');
    await expect.poll(headline).toContain('Finding a driver');

    const driver = await addFreeDriver(store.point, { name: 'Ana Secretname' });
    await expect.poll(headline).toContain('Ana is on the way to the store');
    await untilOrder(store, order.id, { status: 'driver_assigned' });
    expect((await driver.pickUp(order.id)).status).toBe(200);
    await expect.poll(headline).toContain('Ana is on the way with your order');
    await driver.at(northOf(store.point, 300));
    await expect.poll(() => page.locator('#map .pin').count()).toBe(2);

    expect((await driver.deliver(order.id, await jpeg(640, 480))).status).toBe(200);
    await expect.poll(headline).toContain('delivered');
    const shown = page.locator('img[src$="/photo"]');
    await expect.poll(() => shown.evaluate((image: { naturalWidth: number }) => image.naturalWidth)).toBe(640);
    expect(await page.evaluate(() => 'neverReloaded' in globalThis)).toBe(true);

    const text = await page.content();
    for (const secret of ['Secretname', 'Jordan', 'jordan@example.com', '+1415555', 'Valencia', '<b>Market</b>']) {
      expect(text).not.toContain(secret);
    }
    expect(problems).toEqual([]);
  });

  test('shows what anybody typed as text, or not at all', async () => {
    const evil = (who: string) => `<img/src=x/onerror="document.title='${who}'">`;
    const store = await addStore({ name: evil('store') });
    await addFreeDriver(store.point, { name: evil('driver') });
    const order = (
      await place(store, {
        customer: { name: evil('customer'), email: 'a@example.com', phone: newPhone(), sms_opt_in: false },
        dropoff_address: {
          ...dropoffNear(store.point),
          line1: evil('line1'),
          line2: evil('line2'),
          city: evil('city'),
        },
      })
    ).body.order;
    expect(order.status).toBe('driver_assigned');
    const response = await page.goto(`${world.url}/track/${order.tracking_token}`);
    expect(response?.headers()).toMatchObject({
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'content-security-policy': expect.stringMatching(
        /^default-src 'none'; script-src 'self' 'sha256-[^']+'; style-src 'self'; /,
      ),
    });
    await page.locator('#link[data-state=live]').waitFor();
    await page.locator('.driver-pin').waitFor();
    expect(await page.textContent('#headline')).toBe(`${evil('driver')} is on the way to the store`);
    expect(await page.textContent('#store')).toBe(evil('store'));
    expect(await page.locator('#map bdi').allTextContents()).toEqual([evil('store'), evil('driver')]);
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.title()).toBe(`${evil('driver')} is on the way to the store · ${evil('store')}`);
    expect(await page.content()).not.toMatch(/title='(customer|line1|line2|city)'/);
    expect(problems).toEqual([]);
  });

  test('a driver who gave the order back is on no page, in no status and in no message again', async () => {
    const store = await addStore();
    const first = await addFreeDriver(northOf(store.point, 2_000), { name: 'Ana First' });
    const order = (await place(store)).body.order;
    const path = `/track/${order.tracking_token}`;
    const socket = await openSocket(`${path}/live`);
    const lastOrder = () => socket.messages.filter(({ type }) => type === 'order').at(-1)?.order;
    await expect.poll(lastOrder).toMatchObject({ status: 'driver_assigned', driver: { first_name: 'Ana' } });
    expect((await first.act(order.id, 'release', { reason: 'vehicle' })).status).toBe(200);
    await expect.poll(lastOrder).toMatchObject({ headline: 'Finding another driver for your order', driver: null });

    // He drives on, far from the second driver.
    const before = socket.messages.length;
    const away = northOf(store.point, 44_000);
    await first.at(away);
    const second = await addFreeDriver(northOf(store.point, 500), { name: 'Bo Second' });
    await expect
      .poll(lastOrder)
      .toMatchObject({ driver: { first_name: 'Bo', position: { precision: 'approximate' } } });
    await first.at(northOf(away, 100));
    await second.pickUp(order.id);
    await first.at(northOf(away, 200));
    const spot = northOf(store.point, 777);
    await second.at(spot);
    await expect
      .poll(async () => (await ask<{ order: object }>(`${path}/status`)).body.order)
      .toMatchObject({ driver: { first_name: 'Bo', position: { ...spot, precision: 'exact' } } });
    await expect.poll(() => JSON.stringify(socket.messages.at(-1))).toContain(String(spot.lat));
    await first.at(northOf(away, 300));
    const everything = [
      ...socket.messages.slice(before).map((message) => JSON.stringify(message)),
      (await ask(path)).text,
      (await ask(`${path}/status`)).text,
    ].join('\n');
    expect(everything).toContain('"Bo"');
    expect(everything).not.toContain('Ana');
    for (const meters of [0, 100, 200, 300]) {
      expect(everything).not.toContain(String(northOf(away, meters).lat).slice(0, 6));
    }
    const sequences = socket.messages.flatMap(
      ({ order }) => (order as { sequence: number } | undefined)?.sequence ?? [],
    );
    expect(sequences).toEqual(sequences.toSorted((a, b) => a - b));
    socket.close();
  });

  test.each(['delivered', 'undeliverable', 'returned', 'cancelled'] as const)(
    'of an order that is %s nobody learns where its driver is',
    async (end) => {
      const store = await addStore();
      const driver = await addFreeDriver(store.point);
      const order = (await place(store)).body.order;
      const path = `/track/${order.tracking_token}`;
      const socket = await openSocket(`${path}/live`);
      if (end === 'cancelled') {
        const reason = { reason: 'out_of_stock' };
        const sent = { method: 'POST', key: store.apiKey, body: reason };
        expect((await ask(`/orders/${order.id}/cancel`, sent)).status).toBe(200);
      } else {
        await driver.pickUp(order.id);
        if (end === 'delivered') expect((await driver.deliver(order.id, await jpeg(640, 480))).status).toBe(200);
        else await driver.act(order.id, 'undeliverable', { reason: 'nobody_home' });
        if (end === 'returned') await driver.act(order.id, 'return', {});
      }
      const last = () => socket.messages.filter(({ type }) => type === 'order').at(-1)?.order;
      await expect.poll(last).toMatchObject({ status: end });
      const after = socket.messages.length;
      const spot = northOf(store.point, 5_432);
      await driver.at(spot);
      const seen = await ask<{ order: Record<string, unknown> }>(`${path}/status`);
      expect((seen.body.order.driver as { position: unknown } | null)?.position ?? null).toBeNull();
      // When it ended is told in every case.
      const steps = seen.body.order.stages as { at: string | null }[];
      expect(steps.at(-1)?.at).toEqual(expect.any(String));
      // Answered after whatever was published before it.
      socket.send('ping');
      await expect.poll(() => socket.messages).toContainEqual({ type: 'pong' });
      expect(socket.messages.slice(after).filter(({ type }) => type === 'position')).toEqual([]);
      const texts = [(await ask(path)).text, seen.text, ...socket.messages.map((each) => JSON.stringify(each))];
      for (const text of texts) expect(text).not.toContain(String(spot.lat).slice(0, 7));
      socket.close();
    },
  );

  test('a link works for a bounded time after the delivery, then everything behind it is 410', async () => {
    const store = await addStore();
    const driver = await addFreeDriver(store.point);
    const order = (await place(store)).body.order;
    await driver.pickUp(order.id);
    await driver.deliver(order.id, await jpeg(640, 480));
    const path = `/track/${order.tracking_token}`;
    const statuses = () => Promise.all(['', '/status', '/photo'].map(async (each) => (await ask(path + each)).status));
    const endedAgo = (ms: number) => world.sql`
      update orders set delivered_at = now() - make_interval(secs => ${ms / 1_000}) where id = ${order.id}`;
    await endedAgo(TRACKING_GONE_AFTER_MS - 60_000);
    expect(await statuses()).toEqual([200, 200, 200]);
    (await openSocket(`${path}/live`)).close();

    await endedAgo(TRACKING_GONE_AFTER_MS + 1_000);
    expect(await statuses()).toEqual([410, 410, 410]);
    await expect(openSocket(`${path}/live`)).rejects.toThrow('refused with 410');
    expect((await ask(`${path}/status`)).body.error.code).toBe('gone');
    expect((await page.goto(`${world.url}${path}`))?.status()).toBe(410);
    expect(await page.textContent('h1')).toBe('This link has expired');
    expect(await page.locator('img').count()).toBe(0);
  });

  test('an unknown token is a plain 404 page', async () => {
    const answer = await ask('/track/AAAAAAAAAAAAAAAAAAAAAAAA');
    expect(answer.status).toBe(404);
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(answer.text).toContain('This link is not known');
  });
});

describe.skipIf(!findChromium())('/docs of the service in Chromium', () => {
  /** Opens a page of the documents. Nothing comes from elsewhere. */
  async function openDocs(path: string): Promise<void> {
    await page.setViewportSize({ width: 1_200, height: 900 });
    const response = await page.goto(`${world.url}${path}`);
    expect(response?.headers()['content-security-policy']).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; /,
    );
    await page.locator('.opblock').first().waitFor();
  }
  const elsewhere = () => requests.filter((url) => !/^(?:data|blob):/.test(url) && !url.startsWith(world.url));

  const paths = () => page.locator('.opblock-summary-path').evaluateAll((all) => all.map((one) => one.textContent));

  test('shows the operations, and a request is sent with the key', async () => {
    const store = await addStore();
    const { order } = (await place(store)).body;
    await openDocs('/docs');
    expect((await paths()).map((path) => path?.replaceAll('\u200b', ''))).toContain('/orders/create');
    await page.locator('.btn.authorize').first().click();
    await page.locator('.auth-container input').first().fill(store.apiKey);
    await page.locator('.auth-btn-wrapper .authorize').first().click();
    await page.locator('.btn-done').first().click();

    const operation = page.locator('#operations-Orders-getOrder');
    await operation.locator('.opblock-summary-control').click();
    await operation.locator('.try-out__btn').click();
    await operation.locator('.parameters input').first().fill(order.id);
    await operation.locator('.btn.execute').click();
    const status = operation.locator('.live-responses-table .response-col_status').last();
    await expect.poll(() => status.textContent()).toContain('200');
    expect(await operation.locator('.live-responses-table').textContent()).toContain(order.tracking_token);
    expect([problems, elsewhere()]).toEqual([[], []]);
  });

  test('shows the operations of drivers', async () => {
    await openDocs('/docs/drivers');
    expect((await paths()).map((path) => path?.replaceAll('\u200b', ''))).toContain('/driver/duty');
    expect([problems, elsewhere()]).toEqual([[], []]);
  });

  test('the documents are those of the routes that are served', async () => {
    const { status, body, headers } = await ask<{ paths: object }>('/openapi.json');
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    expect(Object.keys(body.paths)).toContain('/orders/{id}/cancel');
    expect(headers.get('etag')).toMatch(/^"[\w-]{22}"$/);
  });
});
