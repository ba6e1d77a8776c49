import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Browser, findChromium, launchBrowser } from '../harness/chromium.ts';
import { assigned, behind, delivered, pickedUp, TOKEN } from '../tracking/orders.ts';
import { type PageServer, servePage } from './page-server.ts';

const STORE = { lat: 40.7411, lng: -73.9897 };
/** 1.0 km south of the store. */
const DRIVER = { lat: 40.7321, lng: -73.9897 };
/** 0.8 km south of the driver. */
const DOOR = { lat: 40.7251, lng: -73.9897, accuracyMeters: 40 };
/** 5.0 km north of the store. */
const FAR_DOOR = { lat: 40.786, lng: -73.9897, accuracyMeters: 50 };
/** Bytes of markup, scripts and styles as they are sent, without tiles. */
const BUDGET = 80 * 1_024;
/** A phone's size, which is set anew for each test. */
const VIEWPORT = { width: 360, height: 740 };
/** A browser whose clock a test sets; it stays with the page. */
const CLOCKED = 'clocked';

describe.skipIf(findChromium() === undefined)('what the customer’s page shows', () => {
  let mapped: PageServer;
  let plain: PageServer;
  let browser: Browser;
  /** The page of each kind of phone: a browser opens a new one at the price of many loads. */
  const kept = new Map<string, Page>();
  const complaints: string[] = [];

  beforeAll(async () => {
    mapped = await servePage({ tileUrl: '/tiles/{z}/{x}/{y}{r}.jpg', sandbox: true });
    plain = await servePage();
    browser = await launchBrowser();
  });
  afterEach(async () => {
    for (const page of kept.values()) await page.goto('about:blank');
    for (const server of [mapped, plain]) {
      await expect.poll(() => server.sockets()).toBe(0);
      server.forgetPosition();
      server.requests.length = 0;
    }
    expect(complaints).toEqual([]);
  });
  afterAll(async () => {
    await browser?.close();
    await mapped?.close();
    await plain?.close();
  });

  /** A phone of a kind with an empty page, the one of the test before where the kind is the same. */
  async function phoneOf(options: BrowserContextOptions = {}, kind: string = JSON.stringify(options)): Promise<Page> {
    const page = kept.get(kind) ?? (await newPhone(options));
    kept.set(kind, page);
    await page.setViewportSize(VIEWPORT);
    return page;
  }
  async function newPhone(options: BrowserContextOptions): Promise<Page> {
    const phone = { viewport: VIEWPORT, locale: 'en-US', timezoneId: 'America/New_York' };
    const context = await browser.newContext({ ...phone, ...options });
    const page = await context.newPage();
    page.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`));
    page.on('pageerror', (error) => complaints.push(String(error)));
    return page;
  }
  /** The customer's page on a phone, once it is live. */
  async function open(server: PageServer, options: BrowserContextOptions = {}): Promise<Page> {
    return openOn(await phoneOf(options), server);
  }
  /** The same on a phone that takes this for the present moment; its clock runs on. */
  async function openAt(server: PageServer, now: Date): Promise<Page> {
    const page = await phoneOf({}, CLOCKED);
    await page.clock.setSystemTime(now);
    return openOn(page, server);
  }
  async function openOn(page: Page, server: PageServer): Promise<Page> {
    await page.goto(`${server.url}/track/${TOKEN}`);
    await page.locator('#link[data-state=live], #link[data-state=unheard]').waitFor();
    return page;
  }
  const text = (page: Page, id: string) => page.locator(`#${id}`).textContent();

  it('counts the stops before theirs, and shows no door and no driver until theirs is next', async () => {
    await mapped.change(pickedUp({ dropoff: DOOR, onRoute: behind(2) }));
    mapped.move(DRIVER);
    const page = await open(mapped);
    expect([await text(page, 'headline'), await text(page, 'stops')]).toEqual([
      'Your order is out for delivery',
      '2 stops before you',
    ]);
    await mapped.change(pickedUp({ dropoff: DOOR, onRoute: behind(1) }));
    await expect.poll(() => text(page, 'stops')).toBe('1 stop before you');
    expect(await page.locator('#map-card').isVisible()).toBe(false);
    expect(await page.content()).not.toMatch(/40\.7321|40\.7251/);

    await mapped.change(pickedUp({ dropoff: DOOR, onRoute: behind(0) }));
    await expect.poll(() => text(page, 'headline')).toBe('Ana is on the way with your order');
    expect(await page.locator('#stops').isVisible()).toBe(false);
    await page.locator('.driver-pin').waitFor();
    await page.locator('.home-pin').waitFor();

    // Another stop came in between: everything goes again.
    await mapped.change(pickedUp({ dropoff: DOOR, onRoute: behind(1) }));
    await expect.poll(() => text(page, 'stops')).toBe('1 stop before you');
    expect(await page.locator('.driver-pin, .home-pin').count()).toBe(0);
  });

  it('speaks Spanish to the end, with the clock of its reader', async () => {
    await mapped.change(assigned({ dropoff: DOOR }));
    mapped.move(DRIVER);
    const page = await open(mapped, { locale: 'es-US' });
    expect(await page.locator('html').getAttribute('lang')).toBe('es');
    expect(await text(page, 'headline')).toBe('Ana va en camino a la tienda');
    expect(await page.locator('#stages time').first().textContent()).toMatch(/9:00\sa\.\s?m\./);
    await expect.poll(() => text(page, 'arrival')).toMatch(/^Llega \d+:\d\d/);
    expect(await text(page, 'link')).toBe('En vivo');
    await mapped.change(pickedUp({ dropoff: DOOR }));
    await expect.poll(() => text(page, 'headline')).toBe('Ana va en camino con el pedido');
    await expect.poll(() => page.locator('.pin-label').allTextContents()).toContain('Destino');
    expect(await page.locator('.leaflet-control-zoom-in').getAttribute('title')).toBe('Acercar');
    await mapped.change(pickedUp({ status: 'undeliverable', sequence: 6, reason: 'wrong_address' }));
    await expect.poll(() => text(page, 'headline')).toBe('No entregado: no fue posible la entrega');
    expect(await text(page, 'detail')).toBe(
      'No se pudo encontrar la dirección. Va de regreso a la tienda. Corner Books puede decir qué sigue.',
    );
    expect(await page.title()).toBe('No entregado: no fue posible la entrega · Corner Books');
  });

  it.each([
    ['soon after midnight', '2026-03-03T04:58:00Z', /^Arriving 12:\d\d – 12:\d\d\sAM$/],
    ['around midnight', '2026-03-03T04:46:00Z', /^Arriving 11:\d\d\sPM – 12:\d\d\sAM$/],
  ])('names no day for an arrival %s', async (_when, now, line) => {
    await mapped.change(assigned({ dropoff: DOOR }));
    mapped.move(DRIVER);
    const page = await openAt(mapped, new Date(now));
    await expect.poll(() => text(page, 'arrival')).toMatch(line);
  });

  it('says since when the driver has not been heard of, instead of live', async () => {
    await mapped.change(pickedUp({ dropoff: DOOR }));
    mapped.move(DRIVER, 119_000);
    const page = await open(mapped);
    await expect.poll(() => text(page, 'link')).toBe('The driver has not been heard of for 2 minutes');
    expect(await page.locator('#link').getAttribute('data-state')).toBe('unheard');
    mapped.move(DRIVER);
    await expect.poll(() => text(page, 'link')).toBe('Live');
  });

  it('draws a line with distances where there are no tiles, and says it in a sentence', async () => {
    await plain.change(assigned({ dropoff: DOOR }));
    plain.move({ lat: 40.7301, lng: -73.9897 });
    const page = await open(plain);
    const shown = () => page.locator('#map div p').allTextContents();
    await expect.poll(shown).toEqual(['Corner Books', 'about 1 mi', 'Ana']);
    const sentence = () => page.locator('#map p.unseen').textContent();
    await expect.poll(sentence).toBe('Ana is about 1 mi from Corner Books.');
    await plain.change(pickedUp({ dropoff: DOOR }));
    plain.move(DRIVER);
    await expect.poll(shown).toEqual(['Corner Books', '0.6 mi', 'Ana', '0.5 mi', 'Your door']);
    await expect.poll(sentence).toBe('Ana is 0.6 mi from Corner Books and 0.5 mi from your door.');
    await plain.change(delivered({ dropoff: DOOR }));
    await expect.poll(() => page.locator('#map p').count()).toBe(0);
    expect(plain.requests.filter((path) => path.includes('map-'))).toEqual([]);
  });

  it('draws the line where the map did not load', async () => {
    await mapped.change(assigned({ dropoff: DOOR }));
    mapped.move(DRIVER);
    const page = await phoneOf();
    let asked = 0;
    await page.route('**/assets/map-*.js', (route) => (++asked === 1 ? route.abort() : route.continue()));
    await openOn(page, mapped);
    const shown = () => page.locator('#map div p').allTextContents();
    await expect.poll(shown).toEqual(['Corner Books', 'about 1 mi', 'Ana']);
    expect(await text(page, 'position-age')).toMatch(/^Updated/);
    await mapped.change(pickedUp({ dropoff: DOOR }));
    await page.locator('.home-pin').waitFor();
    await page.unrouteAll();
    expect(complaints.splice(0)).toEqual(['error: Failed to load resource: net::ERR_FAILED']);
  });

  it('loads sharp tiles on a dense screen, and none before it knows where', async () => {
    await mapped.change(pickedUp({ dropoff: DOOR }));
    mapped.move(DRIVER);
    const page = await open(mapped, { deviceScaleFactor: 3 });
    await expect.poll(() => page.locator('.leaflet-tile-loaded').count()).toBeGreaterThan(1);
    const tiles = mapped.requests.filter((path) => path.startsWith('/tiles/'));
    expect(tiles.filter((path) => !path.endsWith('@2x.jpg'))).toEqual([]);
    expect(tiles.filter((path) => Number(path.split('/')[2]) < 10)).toEqual([]);
  });

  it('never covers the driver with a label, wherever the driver is', async () => {
    await mapped.change(pickedUp({ dropoff: DOOR }));
    mapped.move(STORE);
    const page = await open(mapped);
    await page.locator('.driver-pin').waitFor();
    for (const offset of [0, 0.000_2, 0.001, -0.000_2, -0.001]) {
      mapped.move({ lat: STORE.lat + offset, lng: STORE.lng });
      await expect.poll(() => page.evaluate(COVERED)).toEqual([]);
    }
    // Where two places leave no other side, the driver is on top.
    const layer = (pane: string) =>
      page.evaluate<number>(`Number(getComputedStyle(document.querySelector('.leaflet-${pane}-pane')).zIndex)`);
    expect(await layer('labels')).toBeLessThan(await layer('marker'));
    // The last place of the driver may not be drawn yet.
    const sides = () =>
      page
        .locator('.pin-label')
        .evaluateAll((labels) =>
          labels.map((label) => [label.textContent, /-(top|bottom)/.exec(label.className)?.[1]]),
        );
    await expect.poll(sides).toContainEqual(['Corner Books', 'top']);
    await expect.poll(sides).toContainEqual(['Ana', 'bottom']);
  });

  it('goes on following the driver after a finger scrolled the page over the map', async () => {
    await mapped.change(pickedUp({ dropoff: DOOR }));
    mapped.move(DRIVER);
    const page = await open(mapped, { hasTouch: true, isMobile: true });
    await page.setViewportSize({ width: 360, height: 420 });
    await page.locator('.driver-pin').waitFor();
    const map = await page.locator('#map').boundingBox();
    const client = await page.context().newCDPSession(page);
    const y = (map?.y ?? 0) + 60;
    const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', ...touchPoints: { x: number; y: number }[]) =>
      client.send('Input.dispatchTouchEvent', { type, touchPoints });
    await touch('touchStart', { x: 180, y });
    for (let step = 1; step <= 10; step += 1) await touch('touchMove', { x: 180, y: y - 15 * step });
    await touch('touchEnd');
    await expect.poll(() => page.evaluate('scrollY')).toBeGreaterThan(50);
    expect(await page.locator('#recentre').isVisible()).toBe(false);

    await page.locator('.leaflet-control-zoom-out').click();
    await page.locator('#recentre').waitFor();
    await page.locator('#recentre').click();
    await page.locator('#recentre').waitFor({ state: 'hidden' });
    for (const button of ['.leaflet-control-zoom-in', '.leaflet-control-zoom-out']) {
      const box = await page.locator(button).boundingBox();
      expect(Math.min(box?.width ?? 0, box?.height ?? 0)).toBeGreaterThanOrEqual(44);
    }
  });

  it.each([
    ['en-US', 'mapped'],
    ['es-US', 'mapped'],
    ['es-US', 'plain'],
  ] as const)('loses nothing in %s, %s, at 320 pixels and twice the text size', async (locale, how) => {
    const server = how === 'mapped' ? mapped : plain;
    const ended = { status: 'undeliverable', sequence: 6, reason: 'damaged' } as const;
    for (const order of [assigned(), pickedUp({ dropoff: DOOR }), pickedUp({ onRoute: behind(2) }), pickedUp(ended)]) {
      await server.change(order);
      server.move(DRIVER);
      const page = await open(server, locale === 'en-US' ? {} : { locale });
      await page.setViewportSize({ width: 320, height: 740 });
      await page.evaluate("document.documentElement.style.fontSize = '200%'");
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320);
      expect(await page.evaluate(CUT_OFF)).toEqual([]);
    }
  });

  it('is sent in 80 KB, the map included', async () => {
    await mapped.change(pickedUp({ dropoff: DOOR }));
    mapped.move(DRIVER);
    // A phone that has nothing in its cache.
    const page = await newPhone({ locale: 'es-US' });
    const sizes: Promise<[string, number]>[] = [];
    page.on('requestfinished', (request) => {
      const size = async (): Promise<[string, number]> => [request.url(), (await request.sizes()).responseBodySize];
      if (!request.url().includes('/tiles/')) sizes.push(size());
    });
    await page.goto(`${mapped.url}/track/${TOKEN}`);
    await page.locator('.home-pin').waitFor();
    const sent = await Promise.all(sizes);
    expect(sent.length).toBeGreaterThanOrEqual(4);
    const total = sent.reduce((sum, [, bytes]) => sum + bytes, 0);
    expect(total, JSON.stringify(sent)).toBeLessThan(BUDGET);
    expect(total).toBeGreaterThan(BUDGET / 4);
    await page.context().close();
  });

  it('tells an arrival as times of the clock, which follow the driver and go when the order is there', async () => {
    await plain.change(pickedUp());
    const page = await phoneOf({}, CLOCKED);
    await page.clock.setFixedTime(new Date('2026-03-02T15:00:30Z'));
    await openOn(page, plain);
    plain.move(STORE);
    expect(await page.locator('#arrival').isHidden()).toBe(true);

    await plain.change(pickedUp({ dropoff: FAR_DOOR }));
    await expect.poll(() => text(page, 'arrival')).toMatch(/^Arriving 10:10\s?–\s?10:21\sAM$/);
    plain.move({ lat: 40.77, lng: STORE.lng });
    await expect.poll(() => text(page, 'arrival')).toMatch(/^Arriving 10:03\s?–\s?10:09\sAM$/);
    plain.move(FAR_DOOR);
    await expect.poll(() => text(page, 'arrival')).toBe('Arriving any minute now');

    await plain.change(delivered({ dropoff: FAR_DOOR }));
    await page.locator('#arrival').waitFor({ state: 'hidden' });
    expect(plain.failures).toEqual([]);
  });

  it('says until when it is promised once an arrival behind other doors is over', async () => {
    // The service's own clock hides a promise that is over.
    const deliverBy = '2126-03-02T16:00:00.000Z';
    await plain.change(pickedUp({ deliverBy, dropoff: FAR_DOOR, onRoute: behind(2) }));
    const page = await phoneOf({}, CLOCKED);
    await page.clock.setFixedTime(new Date('2126-03-02T15:00:30Z'));
    await openOn(page, plain);
    await expect.poll(() => text(page, 'arrival')).toMatch(/^Arriving 10:\d\d\s?–\s?10:\d\d\sAM$/);
    await page.clock.setFixedTime(new Date('2126-03-02T15:59:00Z'));
    await expect.poll(() => text(page, 'arrival')).toMatch(/^Due by 11:00\sAM$/);
  });

  it('says an arrival with JavaScript off, and not by a position that is old', async () => {
    await plain.change(pickedUp({ dropoff: FAR_DOOR }));
    plain.move(STORE);
    const html = async () => (await fetch(`${plain.url}/track/${TOKEN}`)).text();
    expect(await html()).toContain('Arriving in 10 to 21 min');
    plain.move(STORE, 100_000);
    expect(await html()).not.toContain('Arriving');
  });
});

/** The labels of the map that lie over the driver's pin. */
const COVERED = `(() => {
  const pin = document.querySelector('.driver-pin').getBoundingClientRect();
  return [...document.querySelectorAll('.pin-label')].filter((label) => {
    const box = label.getBoundingClientRect();
    const across = Math.min(box.right, pin.right) - Math.max(box.left, pin.left);
    const down = Math.min(box.bottom, pin.bottom) - Math.max(box.top, pin.top);
    return across > 1 && down > 1;
  }).map((label) => label.textContent);
})()`;

/** Texts outside the map whose box is cut off by themselves or by the page, hidden ones left out. */
const CUT_OFF = `[...document.querySelectorAll('main h1, main h2, main p, main li, main .label, main time, main button, .top p, .badge')]
  .filter((element) => element.checkVisibility() && !element.closest('.leaflet-container, .unseen') && !element.matches('.unseen'))
  .filter((element) => {
    const box = element.getBoundingClientRect();
    return box.left < 0 || box.right > innerWidth + 0.5 || element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).display !== 'inline';
  })
  .map((element) => element.className + ': ' + element.textContent)`;
