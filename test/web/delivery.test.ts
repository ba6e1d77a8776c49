import type { Request } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findChromium } from '../harness/chromium.ts';
import { TEST_MS } from '../harness/patience.ts';
import { dropoffNear } from '../harness/towns.ts';
import {
  button,
  cameraPhoto,
  eventually,
  headline,
  openWorld,
  photoOf,
  takePhoto,
  type World,
} from './driver-world.ts';

describe.skipIf(findChromium() === undefined)('a delivery on both pages in Chromium', () => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld();
  });
  afterAll(() => world?.close());

  it('brings an order from the store to the customer, who sees it on a phone of their own', async () => {
    const { store, phone } = await world.driverAt('Corner Books');
    const order = await world.newOrder(store);
    await eventually(() => headline(phone)).toBe('Corner Books');
    const lines = () => phone.page.locator('#order-address span').allTextContents();
    expect((await lines()).join(', ')).toBe(store.address);
    expect(await phone.page.locator('#call').isHidden()).toBe(true);
    const customer = await world.newPhone();
    await customer.page.goto(`${world.service.url}/track/${order.tracking_token}`);
    await customer.page.locator('#link[data-state=live]').waitFor();
    const seen = () => customer.page.locator('#headline').textContent();
    expect(await seen()).toBe('Ana is on the way to the store');
    const requests: Request[] = [];
    phone.page.on('request', (request) => {
      if (/\/driver\/orders\/[^/]+\//.test(request.url())) requests.push(request);
    });

    await button(phone, 'Picked up').click();
    await eventually(seen).toBe('Ana is on the way with your order');
    expect(await headline(phone)).toBe('Jordan Lee');
    const { line1, city, state, zip } = dropoffNear(store.point);
    expect(await lines()).toEqual([line1, `${city}, ${state} ${zip}`]);
    expect(await phone.page.getByRole('link', { name: 'Call Jordan Lee' }).getAttribute('href')).toBe(
      'tel:+14155550123',
    );
    await phone.context.setGeolocation({ latitude: store.point.lat + 0.01, longitude: store.point.lng });
    await eventually(() => customer.page.locator('#position-age').textContent()).toBe('Updated just now');

    const large = photoOf(await cameraPhoto());
    await takePhoto(phone, large);
    await button(phone, 'Delivered').click();
    await eventually(seen).toBe('Your order was delivered');
    await customer.page.locator('#photo img').waitFor();
    await eventually(() => headline(phone)).toBe('Waiting for an order');

    const uploads = requests.filter((request) => request.url().includes('/deliver'));
    expect(uploads).toHaveLength(1);
    const upload = uploads[0]?.postDataBuffer() ?? Buffer.alloc(0);
    expect(large.buffer.length).toBeGreaterThan(2_000_000);
    expect(upload.length).toBeLessThanOrEqual(400 * 1024);
    const sent = await sharp(upload).metadata();
    expect([sent.format, sent.width, sent.exif]).toEqual(['jpeg', expect.any(Number), undefined]);
    const stamps = requests.map((request) => new URL(request.url()).searchParams);
    expect(stamps[1]?.get('action_id')).toMatch(/^[0-9a-f-]{36}$/);
    expect(Math.abs(Date.parse(stamps[1]?.get('captured_at') ?? '') - Date.now())).toBeLessThan(TEST_MS);
    expect(await world.history(store, order.id)).toEqual(['created', 'driver_assigned', 'picked_up', 'delivered']);
    expect([...phone.complaints, ...customer.complaints]).toEqual([]);
  });
});
