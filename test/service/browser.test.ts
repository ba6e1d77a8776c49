import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, launchBrowser } from '../support/chromium.ts';
import { type FreshDatabase, freshDatabase } from '../support/database.ts';
import { newDataDir, type Running, startBuiltService } from '../support/service.ts';
import { addFreeDriver, addStore, ask, northOf, place, untilOrder } from './clients.ts';

describe.skipIf(!findChromium())('the tracking page of the built service in Chromium', () => {
  let database: FreshDatabase;
  let service: Running;
  const folder = newDataDir();

  beforeAll(async () => {
    database = await freshDatabase();
    service = await startBuiltService({ DATABASE_URL: database.url, DATA_DIR: folder.dataDir });
  });
  afterAll(async () => {
    await service.stop();
    await database.drop();
    folder.remove();
  });

  test('shows an order from waiting to the photo without a reload, and nobody else’s business', async () => {
    const store = await addStore(database.sql, { name: 'Corner <b>Market</b>' });
    const order = (await place(service, store)).body.order;
    const browser = await launchBrowser();
    try {
      const page = await browser.context.newPage();
      const problems: string[] = [];
      page.on('console', (message) => problems.push(message.text()));
      page.on('pageerror', (error) => problems.push(error.message));
      await page.goto(`${service.url}/track/${order.tracking_token}`);
      await page.evaluate(() => Object.assign(globalThis, { neverReloaded: true }));
      const headline = () => page.textContent('#headline');
      await expect.poll(headline).toContain('Finding a driver');

      const driver = await addFreeDriver(service, database.sql, store.point, { name: 'Ana Secretname' });
      await expect.poll(headline, { timeout: 10_000 }).toContain('Ana is on the way to the store');
      await untilOrder(service, store, order.id, { status: 'driver_assigned' });
      expect((await driver.pickUp(order.id)).status).toBe(200);
      await expect.poll(headline, { timeout: 10_000 }).toContain('Ana is on the way with your order');
      await driver.at(northOf(store.point, 300));
      await expect.poll(() => page.locator('.leaflet-marker-icon').count(), { timeout: 10_000 }).toBe(2);

      const photo = await sharp({ create: { width: 640, height: 480, channels: 3, background: '#a33' } })
        .jpeg()
        .toBuffer();
      expect((await driver.deliver(order.id, photo)).status).toBe(200);
      await expect.poll(headline, { timeout: 10_000 }).toContain('delivered');
      const shown = page.locator('img[src$="/photo"]');
      await expect.poll(() => shown.evaluate((image: { naturalWidth: number }) => image.naturalWidth)).toBe(640);
      expect(await page.evaluate(() => 'neverReloaded' in globalThis)).toBe(true);

      const text = await page.content();
      for (const secret of ['Secretname', 'Jordan', 'jordan@example.com', '+1415555', 'Valencia', '<b>Market</b>']) {
        expect(text).not.toContain(secret);
      }
      expect(problems).toEqual([]);
    } finally {
      await browser.close();
    }
  });

  test('an unknown token is a plain 404 page', async () => {
    const answer = await ask(service, '/track/AAAAAAAAAAAAAAAAAAAAAAAA');
    expect(answer.status).toBe(404);
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(answer.text).toContain('This link is not known');
  });
});
