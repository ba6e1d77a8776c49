import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findChromium } from '../harness/chromium.ts';
import { type Store, show, storedPhotos, untilOrder, type WireOrder } from '../service/clients.ts';
import {
  answersOf,
  button,
  cameraPhoto,
  eventually,
  goOnDuty,
  headline,
  link,
  openWorld,
  type Phone,
  photoOf,
  signIn,
  takePhoto as takePhotoOf,
  untilInstalled,
  type World,
  waiting,
} from './driver-world.ts';

/** How far the phone's clock and the service's may be found apart. */
const CLOCKS_MS = 10_000;

// The rules of the queue are in driver-queue.test.ts; what a phone adds to them is seldom broken.
describe.skipIf(findChromium() === undefined)('a driver’s phone with bad reception', () => {
  let world: World;
  let photo: ReturnType<typeof photoOf>;

  beforeAll(async () => {
    world = await openWorld();
    photo = photoOf(await cameraPhoto(1_600, 1_200));
  });
  afterEach(() => world?.closePhones());
  afterAll(() => world?.close());

  const events = (order: WireOrder, store: Store) => world.history(store, order.id);

  /** A driver with an order whose page is cached by its worker. */
  async function driverWithOrder(storeName: string) {
    const driver = await world.driverWithOrder(storeName);
    await untilInstalled(driver.phone);
    return driver;
  }
  async function goOffline(phone: Phone): Promise<void> {
    await phone.goOffline();
    await eventually(() => link(phone)).toBe('No network');
  }
  const takePhoto = (phone: Phone) => takePhotoOf(phone, photo);
  async function giveBack(phone: Phone): Promise<void> {
    await button(phone, 'Give this order back').click();
    await phone.page.getByRole('radio', { name: 'My vehicle has a problem' }).check();
    await phone.page.locator('dialog[open]').getByRole('button', { name: 'Give it back' }).click();
  }

  /** The customer's page, and every sentence that it has shown. */
  async function customerOf(order: WireOrder) {
    const phone = await world.newPhone();
    const { page } = phone;
    await page.goto(`${world.service.url}/track/${order.tracking_token}`);
    await page.evaluate(`(() => {
      const line = document.querySelector('#headline');
      globalThis.seen = [line.textContent];
      const look = () => globalThis.seen.at(-1) !== line.textContent && globalThis.seen.push(line.textContent);
      new MutationObserver(look).observe(line, { childList: true, characterData: true, subtree: true });
    })()`);
    await page.locator('#link[data-state=live]').waitFor();
    return { ...phone, seen: () => page.evaluate<string[]>('globalThis.seen') };
  }

  it('delivers with a photo without network, and the customer’s page shows all of it when it is back', async () => {
    const store = await world.newStore('Corner Books');
    const order = await world.newOrder(store);
    const customer = await customerOf(order);
    const phone = await world.newPhone({ at: store.point });
    await signIn(phone, await world.newDriver());
    await untilInstalled(phone);
    await button(phone, 'Go on duty').click();
    await eventually(() => headline(phone)).toBe('Corner Books');
    await eventually(async () => (await customer.seen()).at(-1)).toBe('Ana is on the way to the store');

    await button(phone, 'Picked up').click();
    await eventually(async () => (await customer.seen()).at(-1)).toBe('Ana is on the way with your order');
    await customer.page.locator('.driver-pin').waitFor();

    await goOffline(phone);
    await takePhoto(phone);
    const tapping = Date.now();
    await button(phone, 'Delivered').click();
    await eventually(() => headline(phone)).toBe('Delivered');
    expect(await waiting(phone)).toBe('Waiting for network: Delivered');
    const tapped = Date.now();
    expect((await show(world.service, store, order.id)).status).toBe('picked_up');
    expect((await customer.seen()).at(-1)).toBe('Ana is on the way with your order');

    const answers = answersOf(phone);
    await phone.goOnline();
    await eventually(async () => (await customer.seen()).at(-1)).toBe('Your order was delivered');
    const shown = customer.page.locator('#photo img');
    await eventually(() => shown.evaluate((image: { naturalWidth: number }) => image.naturalWidth)).toBeGreaterThan(0);
    await eventually(() => headline(phone)).toBe('Waiting for an order');
    expect(await phone.page.locator('#finished').textContent()).toBe(`Delivered · #${order.id.slice(-6)}`);
    expect(await phone.page.locator('#waiting').isHidden()).toBe(true);

    // A reload would lose what the page kept.
    expect(await customer.seen()).toEqual([
      'Finding a driver for your order',
      'Ana is on the way to the store',
      'Ana is on the way with your order',
      'Your order was delivered',
    ]);
    expect(answers).toEqual(['deliver 200']);
    // Both times are stored: when it was done, and when it was reported.
    const [action] = await world.sql<{ captured_at: Date }[]>`
      select captured_at from driver_actions where order_id = ${order.id} and type = 'delivered'`;
    expect(Number(action?.captured_at)).toBeGreaterThanOrEqual(tapping - CLOCKS_MS);
    expect(Number(action?.captured_at)).toBeLessThanOrEqual(tapped + CLOCKS_MS);
    expect([...phone.complaints, ...customer.complaints]).toEqual([]);
  });

  it('releases an order without a network, and another driver has it when the network is back', async () => {
    const { store, phone, order } = await driverWithOrder('Bike Repair');
    const customer = await customerOf(order);
    await goOffline(phone);
    await giveBack(phone);
    await eventually(() => headline(phone)).toBe('Given back');
    expect(await waiting(phone)).toBe('Waiting for network: Given back');
    await phone.page.reload();
    await eventually(() => waiting(phone)).toBe('Waiting for network: Given back');
    expect(await headline(phone)).toBe('Given back');
    const second = await world.newPhone({ at: store.point });
    await signIn(second, await world.newDriver());
    await goOnDuty(second);

    const answers = answersOf(phone);
    await phone.goOnline();
    await eventually(() => headline(second)).toBe('Bike Repair');
    await eventually(() => headline(phone)).toBe('Waiting for an order');
    await eventually(async () => (await customer.seen()).at(-1)).toBe('Ana is on the way to the store');
    expect(answers).toEqual(['release 200']);
    expect(await events(order, store)).toEqual(['created', 'driver_assigned', 'released', 'driver_assigned']);
  });

  it('counts a double tap as one, and a tap meant for the step before as none', async () => {
    const { store, phone, order } = await driverWithOrder('Tailor');
    const answers = answersOf(phone);
    let cameras = 0;
    phone.page.on('filechooser', () => {
      cameras += 1;
    });
    // The camera's button replaces "Picked up", and a second tap of the same thumb must not open it.
    await button(phone, 'Picked up').dblclick();
    await untilOrder(world.service, store, order.id, { status: 'picked_up' });
    await eventually(() => headline(phone)).toBe('Jordan Lee');
    await takePhoto(phone);
    await button(phone, 'Delivered').dblclick();
    await untilOrder(world.service, store, order.id, { status: 'delivered' });
    await eventually(() => headline(phone)).toBe('Waiting for an order');
    expect(answers).toEqual(['pick-up 200', 'deliver 200']);
    expect(cameras).toBe(0);

    await button(phone, 'Go off duty').click();
    await eventually(() => headline(phone)).toBe('You are off duty');
    await eventually(() => phone.page.locator('#duty').isHidden()).toBe(true);
    const next = await world.newOrder(store);
    expect(next.status).toBe('pending_dispatch');
    await phone.page.evaluate(`(() => {
      const primary = document.querySelector('#primary');
      const observer = new MutationObserver(() => {
        if (primary.dataset.kind !== 'pick-up') return;
        observer.disconnect();
        primary.click();
        globalThis.pressed = true;
      });
      observer.observe(primary, { attributes: true });
    })()`);
    await button(phone, 'Go on duty').click();
    await eventually(() => phone.page.evaluate('globalThis.pressed')).toBe(true);
    await eventually(() => phone.page.locator('#primary').getAttribute('aria-disabled')).toBe('false');
    expect((await show(world.service, store, next.id)).status).toBe('driver_assigned');
    expect(answers).toHaveLength(2);
  });

  it('keeps the photo over a restart while the photo store is down, and sends it when that is back', async () => {
    const { store, phone, order } = await driverWithOrder('Camera Shop');
    await button(phone, 'Picked up').click();
    await takePhoto(phone);
    const before = storedPhotos(world.service.dataDir).length;
    // A file in place of the folder acts like a missing disk, also for root.
    const photos = join(world.service.dataDir, 'photos');
    // The service makes it with the first photo.
    mkdirSync(photos, { recursive: true });
    renameSync(photos, `${photos}.away`);
    writeFileSync(photos, 'in the way');
    const answers = answersOf(phone);
    await button(phone, 'Delivered').click();
    await eventually(() => waiting(phone)).toBe('Not sent yet, trying again: Delivered');
    expect(answers[0]).toBe('deliver 503');
    await phone.page.reload();
    await eventually(() => headline(phone)).toBe('Delivered');
    await eventually(() => waiting(phone)).toBe('Not sent yet, trying again: Delivered');
    expect((await show(world.service, store, order.id)).status).toBe('picked_up');

    rmSync(photos);
    renameSync(`${photos}.away`, photos);
    await untilOrder(world.service, store, order.id, { status: 'delivered' });
    await eventually(() => headline(phone)).toBe('Waiting for an order');
    // A repetition stores its photo too, for as long as it takes to find that it is one.
    await eventually(() => storedPhotos(world.service.dataDir).length).toBe(before + 1);
    expect(await events(order, store)).toEqual(['created', 'driver_assigned', 'picked_up', 'delivered']);
  });

  it('closes the sheet of an order that the store cancels while the driver reads it', async () => {
    const { store, phone, order } = await driverWithOrder('Shoe Shop');
    const answers = answersOf(phone);
    await button(phone, 'Give this order back').click();
    await phone.page.getByRole('radio', { name: 'It is too far' }).check();
    // The next order already waits, so it comes with the same message or right after it.
    await world.newOrder(store);
    expect((await world.cancel(store, order)).status).toBe(200);
    await eventually(() => phone.page.locator('#refusal-text').textContent()).toMatch(
      /^The order at Shoe Shop \(#\w{6}\) is off your route/,
    );
    await eventually(() => phone.page.locator('#order').isVisible()).toBe(true);
    expect(await phone.page.locator('dialog[open]').count()).toBe(0);
    expect(await headline(phone)).toBe('Shoe Shop');
    expect(answers).toEqual([]);
    await button(phone, 'Give this order back').click();
    expect(await phone.page.getByRole('radio', { checked: true }).count()).toBe(0);
  });

  it('sends what was done on it after the driver has gone on with another phone', async () => {
    const { store, token, phone, order } = await driverWithOrder('Bakery');
    const down = (url: URL) => url.pathname.endsWith('/pick-up');
    await phone.page.route(down, (route) => route.abort());
    await button(phone, 'Picked up').click();
    await eventually(() => waiting(phone)).toBe('Not sent yet, trying again: Picked up');
    const second = await world.newPhone({ at: store.point });
    await signIn(second, token);
    await eventually(() => headline(phone)).toBe('Signed in elsewhere');
    expect(await waiting(phone)).toBe('Not sent yet, trying again: Picked up');
    await eventually(() => second.page.locator('#order-step').textContent()).toBe('Pick up at');
    await phone.page.unroute(down);
    await eventually(() => second.page.locator('#order-step').textContent()).toBe('Deliver to');
    expect((await show(world.service, store, order.id)).status).toBe('picked_up');
    await eventually(() => phone.page.locator('#waiting').isHidden()).toBe(true);
    expect(await headline(phone)).toBe('Signed in elsewhere');
  });

  it('keeps what is done after the phone has cut the page off from its storage', async () => {
    const { store, phone, order } = await driverWithOrder('Clock Maker');
    await phone.page.evaluate(`(() => {
      const begin = IDBDatabase.prototype.transaction;
      globalThis.cut = 0;
      IDBDatabase.prototype.transaction = function (...how) {
        if (globalThis.cut++ === 0) this.close();
        return begin.apply(this, how);
      };
    })()`);
    await goOffline(phone);
    await button(phone, 'Picked up').click();
    await eventually(() => waiting(phone)).toBe('Waiting for network: Picked up');
    await eventually(() => phone.page.evaluate('globalThis.cut')).toBeGreaterThan(1);
    expect(await phone.page.locator('#refusal').isHidden()).toBe(true);
    await phone.page.reload();
    await eventually(() => waiting(phone)).toBe('Waiting for network: Picked up');
    await phone.goOnline();
    await untilOrder(world.service, store, order.id, { status: 'picked_up' });
  });
});
