import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findChromium, launchBrowser } from '../harness/chromium.ts';
import { delivered, pickedUp, TOKEN } from '../tracking/orders.ts';
import { type PageServer, servePage } from './page-server.ts';

const STORE = { lat: 40.7411, lng: -73.9897 };
const DROPOFF = { lat: 40.786, lng: -73.9897, accuracyMeters: 50 };

describe.skipIf(findChromium() === undefined)('the arrival on the tracking page', () => {
  let server: PageServer;
  let browser: Awaited<ReturnType<typeof launchBrowser>>;
  beforeAll(async () => {
    server = await servePage();
    browser = await launchBrowser({ width: 360, height: 740 });
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  it('appears as times of the clock when the dropoff is found, follows the driver, and goes when the order is there', async () => {
    await server.change(pickedUp());
    const page = await browser.context.newPage();
    await page.clock.setFixedTime(new Date('2026-03-02T15:00:30'));
    await page.goto(`${server.url}/track/${TOKEN}`);
    await page.locator('#link[data-state=live]').waitFor();
    server.move(STORE);
    expect(await page.locator('#arrival').isHidden()).toBe(true);

    await server.change(pickedUp({ dropoff: DROPOFF }));
    await expect.poll(() => page.locator('#arrival').textContent()).toMatch(/^Arriving 3:10\s?–\s?3:21\sPM$/);
    server.move({ lat: 40.77, lng: STORE.lng });
    await expect.poll(() => page.locator('#arrival').textContent()).toMatch(/^Arriving 3:03\s?–\s?3:09\sPM$/);
    server.move(DROPOFF);
    await expect.poll(() => page.locator('#arrival').textContent()).toBe('Arriving any minute now');

    await server.change(delivered({ dropoff: DROPOFF }));
    await page.locator('#arrival').waitFor({ state: 'hidden' });
    expect(server.failures).toEqual([]);
  });

  it('is said with JavaScript off, and not by a position that is old', async () => {
    await server.change(pickedUp({ dropoff: DROPOFF }));
    server.move(STORE);
    const html = async () => (await fetch(`${server.url}/track/${TOKEN}`)).text();
    expect(await html()).toContain('Arriving in 10 to 21 min');
    server.move(STORE, 100_000);
    expect(await html()).not.toContain('Arriving');
  });
});
