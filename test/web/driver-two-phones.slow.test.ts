import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findChromium } from '../harness/chromium.ts';
import { show, untilOrder } from '../service/clients.ts';
import {
  answersOf,
  button,
  cameraPhoto,
  eventually,
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

// The rules of the queue are in driver/queue.test.ts; what a phone adds to them is seldom broken.
describe.skipIf(findChromium() === undefined)('a driver’s phone with bad reception', () => {
  let world: World;
  let photo: ReturnType<typeof photoOf>;

  beforeAll(async () => {
    world = await openWorld();
    photo = photoOf(await cameraPhoto(1_600, 1_200));
  });
  afterEach(() => world?.closePhones());
  afterAll(() => world?.close());

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
