import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findChromium, launchBrowser } from '../../harness/chromium.ts';
import { listen } from '../../harness/listen.ts';
import { gate } from '../../http/support.ts';
import { assigned, delivered, pickedUp, TOKEN, trackedOrder } from '../../tracking/orders.ts';
import { type PageServer, servePage } from '../page-server.ts';

const STORE = { lat: 40.7411, lng: -73.9897 };
const DRIVER = { lat: 40.7321, lng: -73.9811 };

describe.skipIf(findChromium() === undefined)('the tracking page in Chromium', () => {
  let server: PageServer;
  let browser: Awaited<ReturnType<typeof launchBrowser>>;
  let context: BrowserContext;
  /** The page of every test, which leaves it empty: a browser opens a new one at the price of many loads. */
  let kept: Page;
  /** Errors in the browser: refusals by the policy, missing files and exceptions. */
  let complaints: string[] = [];

  beforeAll(async () => {
    server = await servePage({ tileUrl: '/tiles/{z}/{x}/{y}.jpg', sandbox: true });
    browser = await launchBrowser({ width: 360, height: 740 });
    context = browser.context;
    kept = context.pages()[0] ?? (await context.newPage());
    kept.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`));
    kept.on('pageerror', (error) => complaints.push(String(error)));
  });
  afterEach(async () => {
    await kept.unrouteAll();
    kept.removeAllListeners('request');
    await kept.goto('about:blank');
    await kept.emulateMedia({ colorScheme: null });
    await expect.poll(() => server.sockets()).toBe(0);
    complaints = [];
    server.forgetPosition();
    server.blockSockets(false);
    server.swallowSockets(false);
    server.loseService(false);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  async function open(): Promise<Page> {
    await kept.goto(`${server.url}/track/${TOKEN}`);
    return kept;
  }
  /** Opens the page and waits for its socket and snapshot. */
  async function openLive(): Promise<Page> {
    const page = await open();
    await page.locator('#link[data-state=live]').waitFor();
    return page;
  }
  /**
   * Opens the page with a clock of its own, which advances 3 s before each question that is put to it `later`.
   */
  async function openHurried() {
    const page = kept;
    await page.clock.install();
    const later = async <Value>(question: () => Promise<Value>) => {
      await page.clock.fastForward(3_000);
      return question();
    };
    await page.goto(`${server.url}/track/${TOKEN}`);
    return { page, later, link: () => page.locator('#link').getAttribute('data-state') };
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
    // It is drawn once the map is loaded.
    await expect.poll(() => page.locator('.area').count()).toBe(1);

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
    // The order has ended, so the page closes its socket.
    await expect.poll(() => server.sockets()).toBe(0);

    expect(await page.locator('html').getAttribute('data-same')).toBe('yes');
    expect(await page.title()).toBe('Your order was delivered · Corner Books');
    expect(complaints).toEqual([]);
    expect(server.failures).toEqual([]);
  });

  it('says that its script did not load, and loads itself again', async () => {
    await server.change(assigned());
    const page = kept;
    await page.clock.install();
    let asked = 0;
    await page.route('**/assets/track-*.js', (route) => (++asked === 1 ? route.abort() : route.continue()));
    await page.goto(`${server.url}/track/${TOKEN}`);
    await page.locator('#unloaded').waitFor();
    expect(await headline(page)).toBe('Ana is on the way to the store');
    await page.clock.fastForward(15_000);
    await page.locator('#link[data-state=live]').waitFor();
    expect(await page.locator('#unloaded').isVisible()).toBe(false);
  });

  it('asks again for a photo that did not load', async () => {
    await server.change(delivered({ deliveredAt: new Date().toISOString() }));
    const page = kept;
    await page.clock.install();
    let asked = 0;
    await page.route('**/photo', (route) => (++asked === 1 ? route.abort() : route.continue()));
    await page.goto(`${server.url}/track/${TOKEN}`);
    await page.locator('#photo img').waitFor({ state: 'attached' });
    const width = async () => {
      await page.clock.fastForward(3_000);
      return page.evaluate("document.querySelector('#photo img').naturalWidth");
    };
    await expect.poll(width).toBe(640);
    expect(asked).toBeGreaterThan(1);
  });

  it('takes the customer’s notes for the door until the pickup, and leaves what they are writing alone', async () => {
    await server.change(assigned({ dropoffInstructions: '<b>Code</b> 1234', leaveAtDoor: false }));
    const page = await openLive();
    const text = page.getByLabel('How to find you');
    expect(await text.inputValue()).toBe('<b>Code</b> 1234');
    await text.fill('Ring twice\nat the gate');
    await server.change(assigned({ sequence: 3, dropoffInstructions: 'from the store', leaveAtDoor: false }));
    await expect.poll(() => stages(page)).toEqual(['done', 'current', 'upcoming', 'upcoming']);
    expect(await text.inputValue()).toBe('Ring twice\nat the gate');
    // With a mark of direction that was pasted unseen.
    await text.fill('Ring twice\nat the \u202agate');
    await page.getByLabel('Leave it at the door').check();
    await page.getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => page.locator('#notes-state').textContent()).toBe('Saved. Your driver sees it.');
    expect(await text.inputValue()).toBe('Ring twice\nat the gate');
    expect(server.notes()).toEqual(['Ring twice\nat the gate', true]);

    const held = gate();
    await page.route('**/dropoff', async (route) => {
      await held.opened;
      await route.continue();
    });
    await text.fill('Gate code');
    expect(await page.locator('#notes-state').textContent()).toBe('');
    await page.getByRole('button', { name: 'Save' }).click();
    await text.fill('Gate code 42');
    held.open();
    await expect
      .poll(() => page.locator('#notes-state').textContent())
      .toMatch(/^Saved, but not what was written since/);
    expect([await text.inputValue(), server.notes()[0]]).toEqual(['Gate code 42', 'Gate code']);
    await server.change(pickedUp({ sequence: 8, dropoffInstructions: 'Gate code', leaveAtDoor: true }));
    await expect.poll(() => page.locator('#notes-state').textContent()).toMatch(/^Not saved: the notes can/);
    expect(await text.inputValue()).toBe('Gate code 42');
    expect(await page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);

    await server.change(assigned({ sequence: 9, dropoffInstructions: 'Gate code 42', leaveAtDoor: true }));
    await expect.poll(() => page.getByRole('button', { name: 'Save' }).isEnabled()).toBe(true);
    expect(await page.locator('#notes-state').textContent()).toBe('');
    await server.change(pickedUp({ sequence: 10, dropoffInstructions: 'Ring twice', leaveAtDoor: true }));
    await expect.poll(() => headline(page)).toBe('Ana is on the way with your order');
    expect(await page.locator('#notes-card').isHidden()).toBe(true);
    expect(await page.content()).not.toContain('Ring twice');
    expect(await text.inputValue()).toBe('');
    expect(complaints).toEqual([]);
  });

  it('moves the driver on the map and counts the age of the position', async () => {
    await server.change(pickedUp());
    server.move(DRIVER, 40_000);
    const page = await openLive();
    await expect.poll(() => page.locator('#position-age').textContent()).toMatch(/^Updated (?:[4-9]\d s|\d min) ago$/);
    const place = () => page.locator('.driver-pin').boundingBox();
    await page.locator('.driver-pin').waitFor();
    const before = await place();
    // Again for each look, since it is just now for some seconds only.
    const moved = () => {
      server.move({ lat: DRIVER.lat + 0.002, lng: DRIVER.lng });
      return page.locator('#position-age').textContent();
    };
    await expect.poll(moved).toBe('Updated just now');
    await expect.poll(async () => ((await place())?.y ?? 0) < (before?.y ?? 0)).toBe(true);
    expect(await page.locator('.leaflet-tile-pane img').count()).toBeGreaterThan(0);
    expect(await page.locator('.leaflet-control-attribution').textContent()).toBe('© <b>Maps</b>');
    expect(complaints).toEqual([]);
  });

  it('counts the age on while the phone sleeps, though its running clock stands still', async () => {
    await server.change(pickedUp());
    server.move(DRIVER);
    const page = await openLive();
    await expect.poll(() => page.locator('#position-age').textContent()).toMatch(/^Updated/);
    await page.evaluate('{ const now = Date.now; Date.now = () => now() + 600_000; }');
    await expect.poll(() => page.locator('#position-age').textContent()).toBe('Updated 10 min ago');
  });

  it.each([
    ['cancelled', 'Not delivered: the order was cancelled', 'Cancelled'],
    ['expired', 'Not delivered: no driver was found', 'No driver found'],
    ['undeliverable', 'Not delivered: the handover was not possible', 'Not delivered'],
    ['returned', 'Not delivered: the order went back to the store', 'Back at the store'],
  ] as const)(
    'says plainly that an order is %s, and where its driver was is nowhere in it',
    async (status, said, last) => {
      await server.change(pickedUp());
      server.move(DRIVER);
      const page = await openLive();
      await page.locator('.driver-pin').waitFor();
      await server.change(pickedUp({ status, sequence: 5, endedAt: new Date().toISOString() }));
      await expect.poll(() => headline(page)).toBe(said);
      server.move({ lat: 40.7777, lng: -73.9777 });
      expect(await stages(page)).toEqual(['done', 'done', 'done', 'failed']);
      expect(await page.locator('#stages li').last().textContent()).toMatch(
        new RegExp(`^${last}, it ended here .*\\d`),
      );
      expect(await page.locator('#photo').isVisible()).toBe(false);
      expect(await page.locator('#map-card').isVisible()).toBe(false);
      expect(await page.locator('.driver-pin').count()).toBe(0);
      expect(await page.content()).not.toMatch(/40\.7321|40\.7777/);
      expect(complaints).toEqual([]);
    },
  );

  it('shows an order that was given back, and nothing of its first driver beside the second', async () => {
    await server.change(assigned());
    server.move(DRIVER);
    const page = await openLive();
    await page.locator('.driver-pin').waitFor();
    await server.change(trackedOrder({ sequence: 3, wasReleased: true }));
    await expect.poll(() => headline(page)).toBe('Finding another driver for your order');
    expect(await page.locator('#map-card').isVisible()).toBe(false);
    expect(await page.locator('.driver-pin, .area').count()).toBe(0);
    expect(await stages(page)).toEqual(['current', 'upcoming', 'upcoming', 'upcoming']);
    server.forgetPosition();
    await server.change(assigned({ sequence: 4, driverId: 'another', driverFirstName: 'Bo', wasReleased: true }));
    await expect.poll(() => headline(page)).toBe('Bo is on the way to the store');
    await page.locator('.store-pin').waitFor();
    expect(await page.locator('#position-age').textContent()).toBe('The driver’s position is not known yet');
    expect(await page.locator('.driver-pin, .area').count()).toBe(0);
    // The driver's label takes a moment to fade.
    await expect.poll(() => page.content()).not.toContain('Ana');
    server.move(STORE);
    await page.locator('.driver-pin').waitFor();
    expect(await page.locator('.pin-label').allTextContents()).toEqual(['Corner Books', 'Bo']);
    expect(complaints).toEqual([]);
  });

  it('never goes back to an older state', async () => {
    await server.change(pickedUp());
    const page = await openLive();
    const view = ((await (await fetch(`${server.url}/track/${TOKEN}/status`)).json()) as { order: object }).order;
    const say = (sequence: number, name: string) => {
      const driver = { first_name: name, position: null };
      server.say(JSON.stringify({ type: 'order', order: { ...view, sequence, driver } }));
    };
    const said = (name: string) => expect.poll(() => headline(page)).toBe(`${name} is on the way with your order`);
    say(2, 'Older');
    say(9, 'Newer');
    await said('Newer');
    say(8, 'Older');
    server.say(
      JSON.stringify({ type: 'position', sequence: 8, position: { ...DRIVER, precision: 'exact', age_ms: 0 } }),
    );
    say(9, 'AsNew');
    await said('AsNew');
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

  it('comes back in its turn where its process stops, and shows what it has until then, but not as live', async () => {
    await server.change(assigned());
    const { page, link } = await openHurried();
    await expect.poll(link).toBe('live');
    server.restart(40_000);
    await expect.poll(link).toBe('reconnecting');
    await server.change(pickedUp());
    // The page's clock goes on by itself, too: half of the time is left to a slow machine.
    await page.clock.runFor(20_000);
    expect([await link(), server.sockets(), await headline(page)]).toEqual([
      'reconnecting',
      0,
      'Ana is on the way to the store',
    ]);
    await page.clock.runFor(20_000);
    await expect.poll(() => headline(page)).toBe('Ana is on the way with your order');
    await expect.poll(link).toBe('live');
  });

  it.each(['refused', 'swallowed'] as const)(
    'asks over HTTP where sockets are %s, and returns to them',
    async (how) => {
      const block = (blocked: boolean) =>
        how === 'refused' ? server.blockSockets(blocked) : server.swallowSockets(blocked);
      block(true);
      await server.change(assigned());
      const { page, later, link } = await openHurried();
      await expect.poll(() => later(link)).toBe('polling');
      await server.change(pickedUp());
      await expect.poll(() => later(() => headline(page))).toBe('Ana is on the way with your order');
      block(false);
      await expect.poll(() => later(link)).toBe('live');
    },
  );

  it('is not live for long where what it is sent is lost on the way', async () => {
    await server.change(assigned());
    const { page, link } = await openHurried();
    await expect.poll(link).toBe('live');
    server.swallowSockets(true);
    await page.clock.runFor(15_000);
    expect(await link()).toBe('reconnecting');
    server.swallowSockets(false);
    await expect.poll(() => page.clock.runFor(1_000).then(link)).toBe('live');
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
    await expect.poll(() => headline(page)).toBe('Ana is on the way with your order');
  });

  it('is live again after a moment without network that its socket outlived', async () => {
    await server.change(assigned());
    const page = await openLive();
    await page.evaluate("dispatchEvent(new Event('offline'))");
    expect(await page.locator('#link').textContent()).toBe('No connection. Trying again…');
    await page.evaluate("dispatchEvent(new Event('online'))");
    await expect.poll(() => page.locator('#link').textContent()).toBe('Live');
    // Off and on again at once: the server closes pages that ping so fast.
    const offAndOn = "dispatchEvent(new Event('offline')); dispatchEvent(new Event('online'))";
    const said = await page.evaluate(`${offAndOn}; document.querySelector('#link').textContent`);
    expect(said).toBe('No connection. Trying again…');
    await expect.poll(() => page.locator('#link').textContent()).toBe('Live');
    expect(server.sockets()).toBe(1);
  });

  it('stays without a socket in the background when the network is back, until it is looked at', async () => {
    await server.change(assigned());
    const { page, link } = await openHurried();
    await expect.poll(link).toBe('live');
    const look = (state: 'hidden' | 'visible') =>
      page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });
        document.dispatchEvent(new Event('visibilitychange'))`);
    await look('hidden');
    await page.clock.runFor(30_000);
    await expect.poll(() => server.sockets()).toBe(0);
    await page.evaluate("dispatchEvent(new Event('offline')); dispatchEvent(new Event('online'))");
    expect(await link()).toBe('offline');
    await look('visible');
    await expect.poll(link).toBe('live');
  });

  it('shows nothing of the order any more when its link has expired while it was open', async () => {
    await server.change(pickedUp());
    server.move(DRIVER);
    const { page, later, link } = await openHurried();
    await expect.poll(link).toBe('live');
    await server.change(delivered({ sequence: 3, deliveredAt: '2025-01-01T00:00:00.000Z' }));
    server.blockSockets(true);
    await expect.poll(() => later(() => page.locator('h1').textContent())).toBe('This link has expired');
    expect(await page.locator('#map').count()).toBe(0);
  });

  it('does not take a proxy’s word for it that its link has expired', async () => {
    server.blockSockets(true);
    server.loseService(true);
    await server.change(assigned());
    const { later, link } = await openHurried();
    await expect.poll(() => later(link)).toBe('offline');
    server.loseService(false);
    await expect.poll(() => later(link)).toBe('polling');
  });

  it('says the essentials with JavaScript off', async () => {
    await server.change(pickedUp());
    const scriptless = await context.browser()?.newContext({ javaScriptEnabled: false });
    if (!scriptless) throw new Error('this browser opens no second profile');
    const page = await scriptless.newPage();
    await page.goto(`${server.url}/track/${TOKEN}`);
    expect(await headline(page)).toBe('Ana is on the way with your order');
    expect(await page.locator('#stages').textContent()).toMatch(/Picked up, done\s*14:20 UTC/);
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

  it.each(['light', 'dark'] as const)('can be read in %s mode: every text has a contrast of 4.5 to 1', async (mode) => {
    await server.change(pickedUp());
    server.move(DRIVER);
    const page = await openLive();
    await page.emulateMedia({ colorScheme: mode });
    await page.locator('.driver-pin').waitFor();
    const ground = async () => (await contrasts(page)).ground;
    await expect.poll(ground).toBe(mode === 'dark' ? 'rgb(13, 17, 23)' : 'rgb(243, 245, 247)');
    const end = new Date().toISOString();
    const ended = [delivered({ deliveredAt: end }), pickedUp({ status: 'undeliverable', sequence: 6, endedAt: end })];
    for (const next of [pickedUp(), ...ended]) {
      await server.change(next);
      if (next.status !== 'picked_up') await page.reload();
      const { texts } = await contrasts(page);
      expect(texts.length).toBeGreaterThan(8);
      expect(texts.filter(({ ratio }) => ratio < 4.5)).toEqual([]);
    }
  });

  it('announces the sentence to a screen reader and leaves the age of the position out', async () => {
    await server.change(pickedUp());
    const page = await openLive();
    const live = page.locator('[aria-live=polite]');
    expect(await live.count()).toBe(1);
    expect(await live.locator('#headline, #detail').count()).toBe(2);
    expect(await live.locator('#position-age, #link').count()).toBe(0);
    expect(await page.locator('li[aria-current=step]').textContent()).toContain('Picked up');
    // Screen readers read only changes inside a region that existed before.
    await page.evaluate("document.querySelector('[aria-live]').setAttribute('data-same', 'yes')");
    await server.change(delivered());
    await expect.poll(() => page.locator('[data-same] #headline').textContent()).toBe('Your order was delivered');
    expect(await page.locator('#photo img').getAttribute('alt')).toBe('Photo taken at the handover');
  });

  it('leaves what a message does not change alone, which a screen reader would read again or lose', async () => {
    await server.change(assigned());
    const page = await openLive();
    await page.evaluate(`{
      globalThis.changes = 0;
      const observer = new MutationObserver((seen) => (changes += seen.length));
      for (const id of ['stages', 'notes-state']) {
        observer.observe(document.getElementById(id), { subtree: true, childList: true, characterData: true });
      }
    }`);
    await server.change(assigned({ sequence: 9, dropoffInstructions: 'Code 9' }));
    await expect.poll(() => page.locator('#notes-text').inputValue()).toBe('Code 9');
    expect(await page.evaluate('changes')).toBe(0);
    await page.locator('#notes-text').fill('Code 10');
    await server.change(pickedUp({ sequence: 10 }));
    await expect.poll(() => page.locator('#notes-state').textContent()).not.toBe('');
    expect(await page.evaluate('changes')).toBeGreaterThan(1);
    await page.evaluate('changes = 0');
    await server.change(pickedUp({ sequence: 11, storeName: 'Corner Books & Sons' }));
    await expect.poll(() => page.locator('#store').textContent()).toBe('Corner Books & Sons');
    expect(await page.evaluate('changes')).toBe(0);
  });

  it('sends a tile server neither the link nor a cookie, and makes no other request', async () => {
    const asked: IncomingHttpHeaders[] = [];
    const tiles = createServer((request, response) => {
      asked.push(request.headers);
      response.end();
    });
    // A browser opens connections in advance without a request, which the close cuts, too.
    const { url: origin, close } = await listen(tiles);
    const other = await servePage({ tileUrl: `${origin}/{z}/{x}/{y}.png` });
    try {
      await other.change(pickedUp());
      other.move(DRIVER);
      const page = kept;
      const origins = new Set<string>();
      page.on('request', (request) => origins.add(new URL(request.url()).origin));
      await page.goto(`${other.url}/track/${TOKEN}`);
      await expect.poll(() => asked.length).toBeGreaterThan(3);
      expect(asked.filter(({ referer, cookie, origin }) => referer ?? cookie ?? origin)).toEqual([]);
      await expect.poll(() => [...origins].sort()).toEqual([origin, other.url].sort());
      await page.goto('about:blank');
    } finally {
      await other.close();
      await close();
    }
  });
});

/** The colour behind the page, and the contrast (WCAG 2.2, 1.4.3) of all visible text outside the map. */
function contrasts(page: Page) {
  return page.evaluate<{ ground: string; texts: { text: string; ratio: number }[] }>(`(() => {
    const channels = (color) => color.match(/[\\d.]+/g).map(Number);
    const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
      .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
      .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = (element) => {
      for (let at = element; at; at = at.parentElement) {
        const [r, g, b, alpha = 1] = channels(getComputedStyle(at).backgroundColor);
        if (alpha > 0) return [r, g, b];
      }
      return [255, 255, 255];
    };
    const texts = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      const text = walker.currentNode.textContent.trim();
      if (text === '' || !element.checkVisibility() || element.closest('noscript')) continue;
      const [one, other] = [light(channels(getComputedStyle(element).color)), light(behind(element))];
      texts.push({ text, ratio: (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05) });
    }
    return { ground: getComputedStyle(document.body).backgroundColor, texts };
  })()`);
}
