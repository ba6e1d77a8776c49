import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findChromium, launchBrowser } from '../support/chromium.ts';
import { assigned, delivered, pickedUp, TOKEN, trackedOrder } from '../tracking/orders.ts';
import { type PageServer, servePage } from './page-server.ts';

const STORE = { lat: 40.7411, lng: -73.9897 };
const DRIVER = { lat: 40.7321, lng: -73.9811 };
/** A time-out for what the page itself takes its time for: retries and polling. */
const PATIENCE = { timeout: 30_000 };

describe.skipIf(findChromium() === undefined)('the tracking page in Chromium', () => {
  let server: PageServer;
  let browser: Awaited<ReturnType<typeof launchBrowser>>;
  let context: BrowserContext;
  /** What a browser complains of: refused by the policy, not found, thrown. */
  let complaints: string[] = [];

  beforeAll(async () => {
    server = await servePage({ tileUrl: '/tiles/{z}/{x}/{y}.jpg', sandbox: true });
    browser = await launchBrowser({ width: 360, height: 740 });
    context = browser.context;
  });
  afterEach(async () => {
    for (const page of context.pages().slice(1)) await page.close();
    await expect.poll(() => server.sockets()).toBe(0);
    complaints = [];
    server.forgetPosition();
    server.blockSockets(false);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  async function open(): Promise<Page> {
    const page = await context.newPage();
    page.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`));
    page.on('pageerror', (error) => complaints.push(String(error)));
    await page.goto(`${server.url}/track/${TOKEN}`);
    return page;
  }
  /** A page with its socket open and its snapshot shown. */
  async function openLive(): Promise<Page> {
    const page = await open();
    await page.locator('#link[data-state=live]').waitFor();
    return page;
  }
  const headline = (page: Page) => page.locator('#headline').textContent();
  const stages = (page: Page) =>
    page.locator('#stages li').evaluateAll((items) => items.map((item) => item.getAttribute('data-state')));

  it('follows an order from waiting to the photo without a reload and without a complaint of the browser', async () => {
    await server.change(trackedOrder());
    const page = await openLive();
    await page.evaluate("document.documentElement.setAttribute('data-same', 'yes')");
    expect(await headline(page)).toBe('Finding a driver for your order');
    expect(await page.locator('#map-card').isHidden()).toBe(true);

    await server.change(assigned());
    await expect.poll(() => headline(page)).toBe('Ana is on the way to the store');
    expect(await page.locator('#position-age').textContent()).toBe('The driver’s position is not known yet');
    server.move(DRIVER);
    await expect.poll(() => page.locator('#position-age').textContent()).toMatch(/^Roughly here, updated/);
    expect(await page.locator('.area').count()).toBe(1);

    await server.change(pickedUp());
    await expect.poll(() => headline(page)).toBe('Ana is on the way with your order');
    await expect.poll(() => page.locator('#position-age').textContent()).toMatch(/^Updated/);
    expect(await page.locator('.area').count()).toBe(0);
    expect(await stages(page)).toEqual(['done', 'done', 'current', 'upcoming']);

    await server.change(delivered());
    await expect.poll(() => headline(page)).toBe('Your order was delivered');
    await page.locator('#photo img').waitFor();
    await expect.poll(() => page.evaluate("document.querySelector('#photo img').naturalWidth")).toBe(640);
    expect(await page.locator('#map-card').isHidden()).toBe(true);
    expect(await stages(page)).toEqual(['done', 'done', 'done', 'done']);

    expect(await page.locator('html').getAttribute('data-same')).toBe('yes');
    expect(await page.title()).toBe('Your order was delivered · Corner Books');
    expect(complaints).toEqual([]);
    expect(server.failures).toEqual([]);
  });

  it('moves the driver on the map and counts the age of the position', async () => {
    await server.change(pickedUp());
    server.move(DRIVER, 40_000);
    const page = await openLive();
    await expect.poll(() => page.locator('#position-age').textContent()).toMatch(/^Updated 4\d s ago$/);
    const place = () => page.locator('.driver-pin').boundingBox();
    await page.locator('.driver-pin').waitFor();
    const before = await place();
    server.move({ lat: DRIVER.lat + 0.002, lng: DRIVER.lng });
    await expect.poll(() => page.locator('#position-age').textContent()).toBe('Updated just now');
    await expect.poll(async () => ((await place())?.y ?? 0) < (before?.y ?? 0)).toBe(true);
    expect(await page.locator('.leaflet-tile-pane img').count()).toBeGreaterThan(0);
    expect(await page.locator('.leaflet-control-attribution').textContent()).toBe('© <b>Maps</b>');
    expect(complaints).toEqual([]);
  });

  it('says plainly that an order was not delivered', async () => {
    await server.change(pickedUp());
    const page = await openLive();
    await server.change(pickedUp({ status: 'returned', sequence: 5, endedAt: '2026-03-02T15:30:00.000Z' }));
    await expect.poll(() => headline(page)).toBe('Not delivered: the order went back to the store');
    expect(await stages(page)).toEqual(['done', 'done', 'done', 'failed']);
  });

  it('never goes back to an older state', async () => {
    await server.change(pickedUp());
    const page = await openLive();
    const view = JSON.parse((await page.locator('#track').getAttribute('data-view')) ?? '');
    const say = (sequence: number, text: string) =>
      server.say(JSON.stringify({ type: 'order', order: { ...view, sequence, headline: text, detail: text } }));
    say(2, 'older');
    say(9, 'newer');
    await expect.poll(() => headline(page)).toBe('newer');
    say(8, 'older');
    server.say(
      JSON.stringify({ type: 'position', sequence: 8, position: { ...DRIVER, precision: 'exact', age_ms: 0 } }),
    );
    say(9, 'as new');
    await expect.poll(() => headline(page)).toBe('as new');
    expect(await page.locator('#position-age').textContent()).toBe('The driver’s position is not known yet');
  });

  it('shows what a person typed as text', async () => {
    const evil = '<img src=x onerror="document.title=1"><script>document.title=2</script>';
    await server.change(assigned({ storeName: evil, driverFirstName: '<i>Ana</i>' }));
    server.move(DRIVER);
    const page = await openLive();
    await server.change(pickedUp({ storeName: evil, driverFirstName: '<i>Ana</i>' }));
    await expect.poll(() => headline(page)).toBe('<i>Ana</i> is on the way with your order');
    expect(await page.locator('#store').textContent()).toBe(evil);
    await expect.poll(() => page.locator('.pin-label').allTextContents()).toEqual([evil, '<i>Ana</i>']);
    expect(await page.locator('main img:not(.leaflet-tile), main i, main script').count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  it('comes back by itself after its socket was cut', async () => {
    await server.change(assigned());
    const page = await openLive();
    server.blockSockets(true);
    server.blockSockets(false);
    await server.change(pickedUp());
    await expect.poll(() => headline(page), PATIENCE).toBe('Ana is on the way with your order');
    await page.locator('#link[data-state=live]').waitFor();
  });

  it('asks over HTTP where sockets are blocked, and returns to the socket when it can', async () => {
    server.blockSockets(true);
    await server.change(assigned());
    const page = await context.newPage();
    // The page's waits are passed over by its own clock.
    await page.clock.install();
    const later = async <Value>(question: () => Promise<Value>) => {
      await page.clock.fastForward(3_000);
      return question();
    };
    await page.goto(`${server.url}/track/${TOKEN}`);
    const link = () => page.locator('#link').getAttribute('data-state');
    await expect.poll(() => later(link)).toBe('polling');
    await server.change(pickedUp());
    await expect.poll(() => later(() => headline(page))).toBe('Ana is on the way with your order');
    server.blockSockets(false);
    await expect.poll(() => later(link), PATIENCE).toBe('live');
  });

  it('says so when there is no network, and is current again when it is back', async () => {
    await server.change(assigned());
    const page = await openLive();
    await context.setOffline(true);
    await expect.poll(() => page.locator('#link').textContent()).toBe('No connection. Trying again…');
    server.blockSockets(true);
    server.blockSockets(false);
    await server.change(pickedUp());
    await context.setOffline(false);
    await expect.poll(() => headline(page), PATIENCE).toBe('Ana is on the way with your order');
  });

  it('says the essentials with JavaScript off', async () => {
    await server.change(pickedUp());
    const scriptless = await context.browser()?.newContext({ javaScriptEnabled: false });
    if (!scriptless) throw new Error('this browser opens no second profile');
    const page = await scriptless.newPage();
    await page.goto(`${server.url}/track/${TOKEN}`);
    expect(await headline(page)).toBe('Ana is on the way with your order');
    expect(await page.locator('#stages').textContent()).toMatch(/Picked up\s*14:20 UTC/);
    // biome-ignore lint/performance/useDomNodeTextContent: only what is rendered counts here
    expect(await page.locator('#track').innerText()).toContain('This page loads itself again every 30 seconds.');
    await server.change(delivered({ deliveredAt: new Date().toISOString() }));
    await page.locator('#track noscript a').click();
    await page.getByText('Your order was delivered').waitFor();
    expect(await page.locator('noscript').count()).toBe(0);
    expect(await page.locator('#photo img').isVisible()).toBe(true);
    expect(await page.locator('#map-card').isVisible()).toBe(false);
    await scriptless.close();
  });

  it('fits a phone of 360 pixels, with long names too', async () => {
    const long = 'Maximilian-Alexander-Bartholomew-Constantine'.repeat(3);
    await server.change(pickedUp({ storeName: long, driverFirstName: long }));
    server.move(DRIVER);
    const page = await openLive();
    await page.locator('.driver-pin').waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
  });

  it('announces the sentence to a screen reader and leaves the age of the position out', async () => {
    await server.change(pickedUp());
    const page = await openLive();
    const live = page.locator('[aria-live=polite]');
    expect(await live.count()).toBe(1);
    expect(await live.locator('#headline, #detail').count()).toBe(2);
    expect(await live.locator('#position-age, #link').count()).toBe(0);
    expect(await page.locator('li[aria-current=step]').textContent()).toContain('Picked up');
  });

  it('asks nothing of anybody but its own server', async () => {
    await server.change(pickedUp());
    server.move(STORE);
    const hosts = new Set<string>();
    const page = await context.newPage();
    page.on('request', (request) => hosts.add(new URL(request.url()).origin));
    const response = await page.goto(`${server.url}/track/${TOKEN}`);
    await page.locator('.driver-pin').waitFor();
    expect([...hosts].filter((host) => host !== 'null')).toEqual([server.url]);
    expect(response?.headers()['content-security-policy']).not.toContain('unsafe');
  });

  it('is a plain page for an unknown link', async () => {
    await server.change(null);
    const page = await context.newPage();
    const response = await page.goto(`${server.url}/track/${TOKEN}`);
    expect(response?.status()).toBe(404);
    expect(await page.locator('h1').textContent()).toBe('This link is not known');
  });
});
