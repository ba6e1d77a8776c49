import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Browser, findChromium, launchBrowser } from '../harness/chromium.ts';
import { north, orderFor, STORE, serveDriver, stopsOf } from './driver-fake.ts';

const PHONE = { width: 360, height: 740 };
const eventually = <Value>(question: () => Value | Promise<Value>) => expect.poll(question);
type Fake = Awaited<ReturnType<typeof serveDriver>>;
type Options = {
  readonly locale?: string;
  readonly at?: { readonly lat: number; readonly lng: number };
  /** A phone that no other test uses, as its clock stays changed; `installed`: before the page is opened. */
  readonly clock?: 'own' | 'installed';
};
const ASKED = { ...north(1_500), name: 'Corner Books & Sons' };

describe.skipIf(findChromium() === undefined)('the driver’s page with several orders, in Chromium', () => {
  let fake: Fake;
  let browser: Browser;
  let photo: { name: string; mimeType: string; buffer: Buffer };
  /**
   * The page of each language, which goes on to the next test: a browser opens a new one at the price of many loads.
   * Each test's service has an address of its own, so that the page finds nothing of the tests before.
   */
  const kept = new Map<string, Page>();

  const [jordan, maria, sam] = [orderFor('Jordan'), orderFor('Maria'), orderFor('Sam')];
  const sams = { ...sam, store_name: 'Corner Books', pickup: { ...sam.pickup, lat: STORE.lat + 0.02 } };

  beforeAll(async () => {
    browser = await launchBrowser(PHONE);
    const picture = sharp({ create: { width: 64, height: 48, channels: 3, background: '#b98' } });
    photo = { name: 'a.jpg', mimeType: 'image/jpeg', buffer: await picture.jpeg().toBuffer() };
  });
  beforeEach(async () => {
    fake = await serveDriver();
  });
  afterEach(async () => {
    for (const page of kept.values()) {
      await page.goto('about:blank');
      await page.context().setOffline(false);
    }
    await fake.close();
  });
  afterAll(() => browser?.close());

  /** A phone that is signed in, on duty at the store. */
  async function open({ locale = 'en-US', at = STORE, clock }: Options = {}): Promise<Page> {
    const page = (clock ? undefined : kept.get(locale)) ?? (await newPage(locale));
    if (!clock) kept.set(locale, page);
    await page.setViewportSize(PHONE);
    await page.context().setGeolocation({ latitude: at.lat, longitude: at.lng, accuracy: 10 });
    if (clock === 'installed') await page.clock.install();
    await page.goto(`${fake.url}/driver`);
    await page.locator('#token').fill('sdd_any');
    await page.locator('#sign-in-button').click();
    await page.locator('#link[data-state=live]').waitFor();
    return page;
  }
  async function newPage(locale: string): Promise<Page> {
    const options = { viewport: PHONE, hasTouch: true, locale, permissions: ['geolocation'] };
    return (await browser.newContext(options)).newPage();
  }
  const headline = (page: Page) => page.locator('main h1:visible').textContent();
  const titles = (page: Page) => page.locator('#stops strong').allTextContents();
  const press = async (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
  const tick = (page: Page, name: string) => page.locator('#parcels label', { hasText: name }).locator('input').check();
  const sheet = (page: Page) => page.locator('dialog[open]');
  /** Two orders of one store, picked up. */
  const carrying = () => {
    const orders = [jordan, maria].map((order) => ({ ...order, status: 'picked_up' }));
    fake.tell({ orders, stops: stopsOf(orders) });
  };
  async function takePhoto(page: Page): Promise<void> {
    await press(page, 'I have arrived');
    await page.locator('#camera').setInputFiles(photo);
    await page.locator('#preview-image').waitFor();
  }

  it('comes back in its turn where its process stops, and sends what is done meanwhile', async () => {
    const page = await open({ clock: 'own' });
    const link = () => page.locator('#link').getAttribute('data-state');
    fake.tell({ orders: [jordan], stops: stopsOf([jordan]) });
    await eventually(() => headline(page)).toBe('Mission Street Market');
    await page.clock.install();
    fake.restart(40_000);
    await eventually(link).toBe('reconnecting');
    await press(page, 'Picked up');
    await eventually(() => fake.actions).toEqual(['pick-up Jordan']);
    // The page's clock goes on by itself, too: half of the time is left to a slow machine.
    await page.clock.runFor(20_000);
    expect([await link(), fake.sockets()]).toEqual(['reconnecting', 0]);
    await page.clock.runFor(20_000);
    await eventually(link).toBe('live');
    // By which the service knows the same page again, and that its driver did not come anew.
    const [{ since_ms: sinceMs } = { since_ms: 0 }] = fake.hellos;
    expect(Math.abs(Date.now() - sinceMs)).toBeLessThan(3_600_000);
    expect(fake.hellos.map(({ since_ms, connection }) => [since_ms, connection])).toEqual([
      [sinceMs, 1],
      [sinceMs, 2],
    ]);
  });

  it('brings three orders of two stores in one route, with a tick for each parcel of a store', async () => {
    const page = await open();
    const orders = [jordan, maria, sams];
    const later = [{ kind: 'pickup' as const, ...sams.pickup, order_ids: [sams.id] }];
    fake.tell({ orders, stops: [...stopsOf([jordan, maria]), ...later] });
    await eventually(() => titles(page)).toEqual([
      'Deliver to Jordan',
      'Deliver to Maria',
      'Pick up at Corner Books',
      'Deliver to Sam',
    ]);
    expect(await headline(page)).toBe('Mission Street Market');
    expect(await page.locator('#route-total').textContent()).toBe('Route: 3 orders, 5 stops · $16.50');
    expect(await page.locator('#order-facts').textContent()).toMatch(/^Earn \$11\.00 for 2/);
    await press(page, 'Tick the parcels first');
    expect(fake.actions).toEqual([]);
    await tick(page, 'Maria');
    await press(page, 'Picked up 1 of 2');
    await eventually(() => fake.actions).toEqual(['pick-up Maria']);
    // One is left, which needs no tick.
    await press(page, 'Picked up');
    await eventually(() => headline(page)).toBe('Jordan');
    await takePhoto(page);
    await press(page, 'Delivered');
    await press(page, 'Deliver here');
    await eventually(() => headline(page)).toBe('Maria');
    await page.getByRole('button', { name: /^Pick up at Corner Books/ }).click();
    await eventually(() => headline(page)).toBe('Corner Books');
    await press(page, 'Picked up');
    await eventually(() => headline(page)).toBe('Maria');
    const all = ['pick-up Maria', 'pick-up Jordan', 'deliver Jordan', 'pick-up Sam'];
    await eventually(() => fake.actions).toEqual(all);
  });

  it('keeps what was done with several orders without network, over a restart, and sends it in order', async () => {
    const page = await open();
    await eventually(() => page.evaluate('navigator.serviceWorker.controller !== null')).toBe(true);
    fake.tell({ orders: [jordan, maria], stops: stopsOf([jordan, maria]) });
    await page.locator('#parcels').waitFor();
    await page.context().setOffline(true);
    await page.locator('#link[data-state=offline]').waitFor();
    for (const name of ['Jordan', 'Maria']) await tick(page, name);
    await press(page, 'Picked up 2 of 2');
    await eventually(() => headline(page)).toBe('Jordan');
    await takePhoto(page);
    await page.evaluate("localStorage.setItem('sameday-driver-clock-ahead', '3600000')");
    await page.reload();
    // The page comes back at the same door with the same photo, and with what it knows of the phone's clock.
    await eventually(() => page.locator('#clock-problem').textContent()).toContain('60 minutes slow');
    await eventually(() => page.locator('#order-step').textContent()).toBe('At the door of');
    await page.locator('#preview-image').waitFor();
    await press(page, 'Delivered');
    await eventually(() => headline(page)).toBe('Maria');
    await eventually(() => page.locator('#waiting').textContent()).toBe(
      'Waiting for network: Picked up (2), Delivered',
    );
    expect(await page.evaluate<string>('JSON.stringify({ ...localStorage })')).not.toMatch(/Jordan/);
    await page.context().setOffline(false);
    // An action whose reply was lost is sent again, under its own id.
    await eventually(() => new Set(fake.actions)).toEqual(
      new Set(['pick-up Jordan', 'pick-up Maria', 'deliver Jordan']),
    );
    expect(fake.actions.indexOf('pick-up Jordan')).toBeLessThan(fake.actions.indexOf('deliver Jordan'));
    await eventually(() => page.locator('#waiting').isHidden()).toBe(true);
    expect(await headline(page)).toBe('Maria');
  });

  it('keeps a handover on a phone that has no room for its photo twice', async () => {
    const page = await open({ at: north(900) });
    await eventually(() => page.evaluate('navigator.serviceWorker.controller !== null')).toBe(true);
    carrying();
    await eventually(() => headline(page)).toBe('Jordan');
    await takePhoto(page);
    await page.evaluate(`(() => {
      const { put, delete: remove } = IDBObjectStore.prototype;
      let isFull = true;
      IDBObjectStore.prototype.put = function (...what) {
        if (isFull) throw new DOMException('full', 'QuotaExceededError');
        return put.apply(this, what);
      };
      IDBObjectStore.prototype.delete = function (...what) {
        isFull = false;
        return remove.apply(this, what);
      };
    })()`);
    await page.context().setOffline(true);
    await page.locator('#link[data-state=offline]').waitFor();
    await press(page, 'Delivered');
    await eventually(() => page.locator('#waiting').textContent()).toBe('Waiting for network: Delivered');
    // The page shows it before the storage has taken it.
    await eventually(() => page.evaluate(COUNT_KEPT)).toBe(1);
    await page.reload();
    await eventually(() => page.locator('#waiting').textContent()).toBe('Waiting for network: Delivered');
    expect(await headline(page)).toBe('Maria');
  });

  it.each(['over the socket', 'where none opens'])(
    'tells what was done before it tells where the phone is, which may bring another order, %s',
    async (where) => {
      const page = await open({ clock: 'installed' });
      fake.tell({ orders: [jordan], stops: stopsOf([jordan]) });
      await eventually(() => headline(page)).toBe('Mission Street Market');
      await page.context().setOffline(true);
      await page.locator('#link[data-state=offline]').waitFor();
      await press(page, 'Picked up');
      fake.heard.length = 0;
      const release = fake.hold();
      if (where === 'where none opens') await page.routeWebSocket(/live/, () => {});
      await page.context().setOffline(false);
      if (where === 'over the socket') await page.locator('#link[data-state=live]').waitFor();
      await eventually(() => fake.heard).toContain('pick-up');
      // By then the page would have told its position.
      await page.clock.fastForward(5_000);
      await page.evaluate("fetch('/driver/day')");
      release();
      await eventually(() => fake.heard).toContain('position');
      expect(fake.heard).toEqual(['pick-up', 'answer', 'position']);
    },
  );

  it('shows what a route gains at once, but at a door only after the handover', async () => {
    const page = await open({ at: north(900) });
    carrying();
    await eventually(() => headline(page)).toBe('Jordan');
    const [first, second] = fake.state().orders;
    if (!first || !second) throw new Error('there are two orders');
    const before = stopsOf([first, second]);
    fake.tell({
      orders: [first, second, sams],
      stops: [...before, { kind: 'pickup', ...sams.pickup, order_ids: [sams.id] }],
    });
    await eventually(() => page.locator('#gained').textContent()).toBe('New on your route: Corner Books');
    expect(await page.getByRole('status').textContent()).toBe('New on your route: Corner Books. Deliver to Jordan');
    await press(page, 'I have arrived');
    await page.locator('#proof').waitFor();
    expect(await page.locator('#gained').isHidden()).toBe(true);

    // The new one is planned first.
    const next = orderFor('Tess', { store_name: 'Tea House' });
    const urgent = { kind: 'pickup' as const, ...STORE, order_ids: [next.id] };
    fake.tell({ orders: [first, second, sams, next], stops: [urgent, ...(fake.state().stops ?? [])], version: '2' });
    const seenId = () => page.evaluate<string>("localStorage.getItem('sameday-driver-state')");
    await eventually(seenId).toContain(next.id);
    expect(await headline(page)).toBe('Jordan');
    expect((await titles(page)).join()).not.toContain('Tea House');
    expect(await page.locator('#gained').isHidden()).toBe(true);
    await page.locator('#camera').setInputFiles(photo);
    await page.locator('#preview-image').waitFor();
    await press(page, 'Delivered');
    await eventually(() => page.locator('#gained').textContent()).toBe('New on your route: Tea House');
    expect(await headline(page)).toBe('Tea House');
  });

  it('shows at a door what is asked for and the whole photo, on a small phone and under a long name too', async () => {
    const page = await open();
    await page.setViewportSize({ width: 320, height: 740 });
    const long = orderFor('Maximiliana Wolfeschlegelsteinhausen '.repeat(5).trim(), { status: 'picked_up' });
    fake.tell({ orders: [long], stops: stopsOf([long]) });
    await takePhoto(page);
    const box = async (selector: string) => (await page.locator(selector).first().boundingBox()) ?? { y: 0, height: 0 };
    const [note, bar, button] = [await box('.note'), await box('#bar'), await box('#primary')];
    expect(note.y + note.height, 'the lower end of the first note').toBeLessThan(bar.y);
    const camera = await box('#camera-field');
    expect(button.y - camera.y - camera.height, 'between "Retake" and "Delivered"').toBeLessThan(20);
    const fit = "getComputedStyle(document.getElementById('preview-image')).objectFit";
    expect(await page.evaluate(fit)).toBe('contain');
  });

  it('takes back that they have arrived, also after a reload', async () => {
    const page = await open();
    carrying();
    await eventually(() => headline(page)).toBe('Jordan');
    const bar = await page.locator('#bar').boundingBox();
    expect(bar, 'the bar, in which "Picked up" stood').toBeNull();
    await press(page, 'I have arrived');
    await page.locator('#proof').waitFor();
    await page.reload();
    await press(page, 'Not there yet');
    await eventually(() => page.locator('#order-step').textContent()).toBe('Deliver to');
    await page.getByRole('button', { name: 'Go here first' }).first().waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'I have arrived' }).waitFor();
    expect(await page.locator('#proof').isHidden()).toBe(true);
  });

  it('says plainly that an order is gone, and leaves the door of it', async () => {
    const page = await open();
    carrying();
    await eventually(() => headline(page)).toBe('Jordan');
    await press(page, 'I have arrived');
    await page.locator('#proof').waitFor();
    fake.tell({ orders: fake.state().orders.slice(1) });
    await eventually(() => page.locator('#refusal-text').textContent()).toBe(
      `The order at Mission Street Market (#${jordan.id.slice(-6)}) is off your route. It was cancelled, given to another driver, or ended on another phone of yours.`,
    );
    expect(await headline(page)).toBe('Maria');
    expect(await page.locator('#proof').isHidden()).toBe(true);
  });

  it('says of each order that is gone, one after the other', async () => {
    const page = await open();
    const orders = [jordan, maria];
    fake.tell({ orders, stops: stopsOf(orders) });
    await eventually(() => headline(page)).toBe('Mission Street Market');
    const notice = page.locator('#refusal-text');
    fake.tell({ orders: [maria], stops: stopsOf([maria]) });
    await eventually(() => notice.textContent()).toContain(`#${jordan.id.slice(-6)}`);
    fake.tell({ orders: [], stops: [] });
    await eventually(() => headline(page)).toBe('Waiting for an order');
    expect(await notice.textContent()).toContain(`#${jordan.id.slice(-6)}`);
    await press(page, 'OK');
    expect(await notice.textContent()).toContain(`#${maria.id.slice(-6)}`);
    await press(page, 'OK');
    expect(await page.locator('#refusal').isHidden()).toBe(true);
  });

  it('asks about a handover far from the door, and does not block it', async () => {
    const page = await open({ at: north(1_700) });
    carrying();
    await eventually(() => headline(page)).toBe('Jordan');
    await takePhoto(page);
    await press(page, 'Delivered');
    await eventually(() => sheet(page).textContent()).toContain('You seem to be 0.5 mi from the door of Jordan.');
    await press(page, 'Go back');
    expect(fake.actions).toEqual([]);
    await press(page, 'Delivered');
    await press(page, 'Deliver here');
    await eventually(() => fake.actions).toEqual(['deliver Jordan']);
    // Maria's door is at 1.8 km, so that nothing is asked there.
    await eventually(() => headline(page)).toBe('Maria');
    await takePhoto(page);
    await press(page, 'Delivered');
    await eventually(() => fake.actions).toEqual(['deliver Jordan', 'deliver Maria']);
  });

  it('gives back one order or all that are not picked up', async () => {
    const page = await open();
    fake.tell({ orders: [jordan, maria, sams], stops: [] });
    await page.locator('#parcels').waitFor();
    await press(page, 'Give orders back');
    await page.getByRole('radio', { name: /Maria/ }).check();
    await page.getByRole('radio', { name: 'It is too far' }).check();
    await sheet(page).getByRole('button', { name: 'Give it back' }).click();
    await eventually(() => fake.actions).toEqual(['release Maria']);
    await eventually(() => page.content()).not.toContain('Maria');
    await eventually(() => page.locator('#parcels').isHidden()).toBe(true);
    await press(page, 'Give orders back');
    await page.getByRole('radio', { name: 'All 2 that you have not picked up' }).check();
    await page.getByRole('radio', { name: 'An emergency' }).check();
    await sheet(page).getByRole('button', { name: 'Give it back' }).click();
    await eventually(() => fake.actions).toEqual(['release Maria', 'release Jordan', 'release Sam']);
    await eventually(() => headline(page)).toBe('Waiting for an order');
  });

  it('rings for an order after it was loaded anew and touched anywhere, and after a call took its sound', async () => {
    const page = await open({ clock: 'own' });
    // As on a phone: no sound before a touch, and a call stops it.
    await page.addInitScript(`
      globalThis.tones = 0;
      let isAllowed = false;
      globalThis.AudioContext = class {
        state = 'suspended';
        currentTime = 0;
        destination = null;
        constructor() { globalThis.sound = this; }
        async resume() {
          isAllowed ||= navigator.userActivation.isActive;
          if (!isAllowed) return;
          this.state = 'running';
          setTimeout(() => this.onstatechange());
        }
        createGain() { return { gain: {}, connect() {} }; }
        createOscillator() { return { frequency: {}, connect() {}, stop() {}, start() { globalThis.tones += 1; } }; }
      };`);
    await page.reload();
    await page.locator('#link[data-state=live]').waitFor();
    const detail = () => page.locator('#idle-detail').textContent();
    await eventually(detail).toMatch(/^Touch this page once, so that it can ring/);
    await page.locator('#idle-headline').tap();
    await eventually(detail).toMatch(/It rings when an order comes\.$/);
    fake.tell({ orders: [jordan], stops: stopsOf([jordan]) });
    await eventually(() => page.evaluate('tones')).toBe(2);
    await page.evaluate(`sound.state = 'interrupted'; document.dispatchEvent(new Event('visibilitychange'))`);
    expect(await page.evaluate('sound.state')).toBe('running');
    await page.context().close();
  });

  it('brings parcels back that could not be delivered, those of a store together', async () => {
    const page = await open();
    carrying();
    for (const name of ['Jordan', 'Maria']) {
      await eventually(() => headline(page)).toBe(name);
      await press(page, 'Could not deliver');
      await page.getByRole('radio', { name: 'Nobody is there' }).check();
      await sheet(page).getByRole('button', { name: 'Could not deliver' }).click();
    }
    await eventually(() => page.locator('#order-step').textContent()).toBe('Bring back to');
    for (const name of ['Jordan', 'Maria']) await tick(page, name);
    await press(page, 'Returned 2 of 2');
    await eventually(() => headline(page)).toBe('Waiting for an order');
    await eventually(() => fake.actions.slice(2)).toEqual(['return Jordan', 'return Maria']);
  });

  it('says where a parcel goes back to whose pickup is refused, as its order is gone', async () => {
    const page = await open();
    fake.tell({ orders: [jordan], stops: stopsOf([jordan]) });
    await eventually(() => headline(page)).toBe('Mission Street Market');
    const answer = fake.hold();
    await press(page, 'Picked up');
    await eventually(() => headline(page)).toBe('Jordan');
    // The store cancels what the service does not know to be picked up.
    fake.tell({ orders: [], stops: [] });
    await eventually(() => headline(page)).toBe('Waiting for an order');
    answer();
    const advice = /If you have the parcel, bring it back to Mission Street Market, or ask your operator\.$/;
    await eventually(() => page.locator('#refusal-text').textContent()).toMatch(advice);
    await page.reload();
    await eventually(() => page.locator('#refusal-text').textContent()).toMatch(advice);
  });

  it('has on the disk what it says that it keeps', async () => {
    const page = await open();
    fake.tell({ orders: [jordan], stops: stopsOf([jordan]) });
    await eventually(() => headline(page)).toBe('Mission Street Market');
    await page.evaluate(`{
      globalThis.writes = [];
      const { transaction } = IDBDatabase.prototype;
      IDBDatabase.prototype.transaction = function (...how) {
        const made = transaction.apply(this, how);
        if (made.mode === 'readwrite') writes.push(made.durability);
        return made;
      };
    }`);
    await press(page, 'Picked up');
    await eventually(() => page.evaluate('writes')).toEqual(['strict', 'strict']);
  });

  it('asks whether what is on board is the last, and goes on duty for some hours', async () => {
    const page = await open();
    carrying();
    await eventually(() => headline(page)).toBe('Jordan');
    await press(page, 'Last order');
    expect(await sheet(page).textContent()).toContain('You keep the 2 parcels on board');
    await sheet(page).getByRole('button', { name: 'No new orders' }).click();
    await eventually(() => page.locator('#duty-state').textContent()).toBe('No new orders');
    await press(page, 'More orders');
    await eventually(() => page.locator('#duty-state').textContent()).toBe('On duty');
    // Nothing is on board yet, so nothing is asked.
    fake.tell({ orders: [jordan], stops: [] });
    await eventually(() => headline(page)).toBe('Mission Street Market');
    await press(page, 'Last order');
    await eventually(() => page.locator('#duty-state').textContent()).toBe('No new orders');
    fake.tell({ orders: [] });
    await page.getByLabel('On duty for').selectOption('2 hours');
    await press(page, 'Go on duty');
    await eventually(() => page.locator('#duty-state').textContent()).toMatch(/^On duty until (?:\w{3} )?\d/);
    const [off, on, last, hours] = fake.duties as { on_duty: boolean; until?: string }[];
    expect([off, on, last]).toEqual([{ on_duty: false }, { on_duty: true }, { on_duty: false }]);
    expect(Math.abs(Date.parse(hours?.until ?? '') - Date.now() - 2 * 3_600_000)).toBeLessThan(600_000);
    // The end stays what it was.
    fake.tell({ orders: [jordan], stops: [] });
    await press(page, 'Last order');
    await eventually(() => page.locator('#duty-state').textContent()).toBe('No new orders');
    // The phone ends the page meanwhile, which says again what had no answer.
    await page.reload();
    await press(page, 'More orders');
    await eventually(() => fake.duties.at(-1)).toEqual(hours);
  });

  it('takes a second tap for the one before, and neither back to work nor for another refusal seen', async () => {
    const page = await open();
    const orders = [jordan, maria];
    fake.tell({ orders, stops: stopsOf(orders) });
    await eventually(() => headline(page)).toBe('Mission Street Market');
    await page.getByRole('button', { name: 'Last order' }).dblclick();
    expect(await page.locator('#duty-state').textContent()).toBe('No new orders');

    fake.refuse({ code: 'illegal_transition' });
    for (const { dropoff } of orders) await tick(page, dropoff.name ?? '');
    await press(page, 'Picked up 2 of 2');
    const notice = page.locator('#refusal-text');
    await eventually(() => notice.textContent()).toContain(`#${jordan.id.slice(-6)}`);
    await page.locator('#parcels').waitFor();
    await page.getByRole('button', { name: 'OK', exact: true }).dblclick();
    expect(await notice.textContent()).toContain(`#${maria.id.slice(-6)}`);
    await press(page, 'OK');
    expect(await page.locator('#refusal').isHidden()).toBe(true);
  });

  it('shows what the driver did and earned today, anew after each order', async () => {
    fake.earn({ deliveries: 0, returns: 0, earnings_cents: 0, held_cents: 0 });
    const page = await open({ at: north(900) });
    await eventually(() => page.locator('#today').textContent()).toBe('Today: 0 deliveries · $0.00');
    fake.earn({ deliveries: 1, returns: 0, earnings_cents: 550, held_cents: 0 });
    const order = { ...jordan, status: 'picked_up' };
    fake.tell({ orders: [order], stops: stopsOf([order]) });
    await eventually(() => headline(page)).toBe('Jordan');
    await takePhoto(page);
    await press(page, 'Delivered');
    await eventually(() => page.locator('#today').textContent()).toBe('Today: 1 delivery · $5.50');
  });

  it('speaks Spanish on a phone that does, from its markup to the service’s refusals', async () => {
    const page = await open({ locale: 'es-MX' });
    expect(await page.locator('html').getAttribute('lang')).toBe('es');
    await eventually(() => headline(page)).toBe('Esperando un pedido');
    fake.tell({ orders: [jordan], stops: stopsOf([jordan]) });
    await eventually(() => page.locator('#order-step').textContent()).toBe('Recoger en');
    fake.refuse({ code: 'illegal_transition' });
    await press(page, 'Recogido');
    await eventually(() => page.locator('#refusal-text').textContent()).toBe(
      `No se aceptó “Recogido · #${jordan.id.slice(-6)}” y no se envía otra vez. El pedido se canceló o cambió entretanto.`,
    );
    await press(page, 'Dejar este pedido');
    expect(await sheet(page).textContent()).not.toMatch(/Give|order|reason/i);
  });

  it('says where to wait, how far it is, and the way, aloud and in two languages', async () => {
    const page = await open();
    const link = page.locator('#wait-directions');
    await eventually(() => headline(page)).toBe('Waiting for an order');
    expect(await link.isVisible()).toBe(false);
    fake.tell({ wait_at: ASKED });
    await eventually(() => headline(page)).toBe('Wait near Corner Books & Sons');
    await eventually(() => page.locator('#announce').textContent()).toBe('Wait near Corner Books & Sons');
    await eventually(() => page.locator('#wait-distance').textContent()).toMatch(/^1\.\d mi from here$/);
    const href = new URL((await link.getAttribute('href')) ?? '');
    expect(href.searchParams.get('destination')).toBe(`${ASKED.lat},${ASKED.lng}`);
    expect(await page.getByRole('link', { name: 'Directions to Corner Books & Sons' }).isVisible()).toBe(true);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    const spanish = await open({ locale: 'es-MX' });
    await eventually(() => headline(spanish)).toBe('Espera cerca de Corner Books & Sons');
    await eventually(() => spanish.locator('#wait-distance').textContent()).toMatch(/^A 1\.\d mi de aquí$/);
  });

  it('says no more of a wait once it is over, or an order comes, or the driver goes off duty', async () => {
    const page = await open();
    const link = page.locator('#wait-directions');
    const untilAsked = async () => {
      fake.tell({ on_duty: true, orders: [], stops: [], wait_at: ASKED });
      await eventually(() => link.isVisible()).toBe(true);
    };
    await untilAsked();
    fake.tell({ wait_at: null });
    await eventually(() => headline(page)).toBe('Waiting for an order');
    expect(await link.getAttribute('href')).toBeNull();
    await untilAsked();
    const order = orderFor('Jordan');
    fake.tell({ orders: [order], stops: stopsOf([order]), wait_at: null });
    await eventually(() => headline(page)).toBe('Mission Street Market');
    expect(await link.isVisible()).toBe(false);
    await untilAsked();
    await page.locator('#duty-off').click();
    await eventually(() => headline(page)).toBe('You are off duty');
    expect(await link.isVisible()).toBe(false);
    expect(await page.evaluate<string>('JSON.stringify({ ...localStorage })')).not.toMatch(/Corner Books/);
  });

  for (const locale of ['en-US', 'es-MX']) {
    it(`keeps words whole and stays as wide as the phone with text of 200 % (${locale})`, async () => {
      const page = await open({ locale });
      await page.evaluate("document.documentElement.style.fontSize = '200%'");
      const check = async (state: string) => expect(await brokenIn(page), state).toEqual([]);
      await check('waiting');
      fake.tell({ wait_at: { ...north(1_500), name: 'Corner Books' } });
      await page.locator('#wait').waitFor();
      await check('asked to wait');
      fake.tell({ orders: [jordan, maria, sams], stops: [] });
      await page.locator('#parcels').waitFor();
      await check('at the store');
      carrying();
      await eventually(() => headline(page)).toBe('Jordan');
      await check('to the door');
      await page.locator('#arrive').click();
      await page.locator('#proof').waitFor();
      await check('at the door');
      await page.locator('#camera').setInputFiles(photo);
      await page.locator('#preview-image').waitFor();
      await check('with a photo');
      fake.tell({ orders: [], on_duty: false });
      await page.locator('#duty-for').waitFor();
      await check('off duty');
    });
  }

  /** What is broken in the page: its width, and each word that stands in several lines. */
  function brokenIn(page: Page): Promise<string[]> {
    return page.evaluate<string[]>(`(() => {
      const broken = [];
      const over = document.documentElement.scrollWidth - innerWidth;
      if (over > 0) broken.push('the page is wider by ' + over);
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        if (!node.parentElement.checkVisibility() || node.parentElement.closest('.unseen, option')) continue;
        for (const match of node.data.matchAll(/\\S+/g)) {
          const range = document.createRange();
          range.setStart(node, match.index);
          range.setEnd(node, match.index + match[0].length);
          const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
          if (lines.size > 1) broken.push(match[0]);
        }
      }
      return broken;
    })()`);
  }
});
/** How many actions the phone's storage has. */
const COUNT_KEPT = `new Promise((resolve, reject) => {
  const opening = indexedDB.open('sameday-driver', 1);
  opening.onerror = () => reject(opening.error);
  opening.onsuccess = () => {
    const counting = opening.result.transaction('actions').objectStore('actions').count();
    counting.onsuccess = () => { opening.result.close(); resolve(counting.result); };
    counting.onerror = () => reject(counting.error);
  };
})`;
