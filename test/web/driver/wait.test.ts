import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Browser, findChromium, launchBrowser } from '../../harness/chromium.ts';
import { north, orderFor, STORE, serveDriver, stopsOf } from '../driver-fake.ts';

const PHONE = { width: 360, height: 740 };
const eventually = <Value>(question: () => Value | Promise<Value>) => expect.poll(question);
const ASKED = { ...north(1_500), name: 'Corner Books & Sons' };

describe.skipIf(findChromium() === undefined)('the page of a driver who is asked to wait, in Chromium', () => {
  let fake: Awaited<ReturnType<typeof serveDriver>>;
  let browser: Browser;
  const pages: Page[] = [];
  beforeAll(async () => {
    browser = await launchBrowser(PHONE);
  });
  beforeEach(async () => {
    fake = await serveDriver();
  });
  afterEach(async () => {
    for (const page of pages.splice(0)) await page.context().close();
    await fake.close();
  });
  afterAll(() => browser?.close());

  /** A phone that is signed in, on duty at the fake's store. */
  async function open(locale = 'en-US'): Promise<Page> {
    const context = await browser.newContext({
      viewport: PHONE,
      hasTouch: true,
      locale,
      geolocation: { latitude: STORE.lat, longitude: STORE.lng, accuracy: 10 },
      permissions: ['geolocation'],
    });
    const page = await context.newPage();
    pages.push(page);
    await page.goto(`${fake.url}/driver`);
    await page.locator('#token').fill('sdd_any');
    await page.locator('#sign-in-button').click();
    await page.locator('#link[data-state=live]').waitFor();
    return page;
  }
  const headline = (page: Page) => page.locator('main h1:visible').textContent();
  const said = (page: Page) => page.locator('#announce').textContent();
  const link = (page: Page) => page.locator('#wait-directions');

  it('says where, how far, and the way, aloud and in two languages', async () => {
    const page = await open();
    await eventually(() => headline(page)).toBe('Waiting for an order');
    expect(await link(page).isVisible()).toBe(false);
    fake.tell({ wait_at: ASKED });
    await eventually(() => headline(page)).toBe('Wait near Corner Books & Sons');
    await eventually(() => said(page)).toBe('Wait near Corner Books & Sons');
    await eventually(() => page.locator('#wait-distance').textContent()).toMatch(/^1\.\d mi from here$/);
    const href = new URL((await link(page).getAttribute('href')) ?? '');
    expect(href.searchParams.get('destination')).toBe(`${ASKED.lat},${ASKED.lng}`);
    expect(await page.getByRole('link', { name: 'Directions to Corner Books & Sons' }).isVisible()).toBe(true);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    const spanish = await open('es-MX');
    await eventually(() => headline(spanish)).toBe('Espera cerca de Corner Books & Sons');
    await eventually(() => spanish.locator('#wait-distance').textContent()).toMatch(/^A 1\.\d mi de aquí$/);
  });

  it('says no more of it once it is over, or an order comes, or the driver goes off duty', async () => {
    const page = await open();
    const untilAsked = async () => {
      fake.tell({ on_duty: true, orders: [], stops: [], wait_at: ASKED });
      await eventually(() => link(page).isVisible()).toBe(true);
    };
    await untilAsked();
    fake.tell({ wait_at: null });
    await eventually(() => headline(page)).toBe('Waiting for an order');
    expect(await link(page).getAttribute('href')).toBeNull();
    await untilAsked();
    const order = orderFor('Jordan');
    fake.tell({ orders: [order], stops: stopsOf([order]), wait_at: null });
    await eventually(() => headline(page)).toBe('Mission Street Market');
    expect(await link(page).isVisible()).toBe(false);
    await untilAsked();
    await page.locator('#duty-off').click();
    await eventually(() => headline(page)).toBe('You are off duty');
    expect(await link(page).isVisible()).toBe(false);
    expect(await page.evaluate<string>('JSON.stringify({ ...localStorage })')).not.toMatch(/Corner Books/);
  });
});
