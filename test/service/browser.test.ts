import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Browser, findChromium, launchBrowser } from '../harness/chromium.ts';
import { startServiceHere } from '../harness/service-here.ts';
import { useService } from './world.ts';

const world = useService(startServiceHere);
const { addStore, ask, place } = world;

let browser: Browser;
let page: Page;
/** What the browser complains of, and the requests of its pages, in the test so far. */
const problems: string[] = [];
const requests: string[] = [];

beforeAll(async () => {
  if (!findChromium()) return;
  browser = await launchBrowser();
  page = await browser.context.newPage();
  page.on('console', (message) => problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('request', (request) => requests.push(request.url()));
});
afterEach(async () => {
  await page?.goto('about:blank');
  problems.length = 0;
  requests.length = 0;
});
afterAll(() => browser?.close());

describe.skipIf(!findChromium())('/docs of the service in Chromium', () => {
  /** Opens a page of the documents. Nothing comes from elsewhere. */
  async function openDocs(path: string): Promise<void> {
    await page.setViewportSize({ width: 1_200, height: 900 });
    const response = await page.goto(`${world.url}${path}`);
    expect(response?.headers()['content-security-policy']).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; /,
    );
    await page.locator('.opblock').first().waitFor();
  }
  const elsewhere = () => requests.filter((url) => !/^(?:data|blob):/.test(url) && !url.startsWith(world.url));

  const paths = () => page.locator('.opblock-summary-path').evaluateAll((all) => all.map((one) => one.textContent));

  test('shows the operations, and a request is sent with the key', async () => {
    const store = await addStore();
    const { order } = (await place(store)).body;
    await openDocs('/docs');
    expect((await paths()).map((path) => path?.replaceAll('\u200b', ''))).toContain('/orders/create');
    await page.locator('.btn.authorize').first().click();
    await page.locator('.auth-container input').first().fill(store.apiKey);
    await page.locator('.auth-btn-wrapper .authorize').first().click();
    await page.locator('.btn-done').first().click();

    const operation = page.locator('#operations-Orders-getOrder');
    await operation.locator('.opblock-summary-control').click();
    await operation.locator('.try-out__btn').click();
    await operation.locator('.parameters input').first().fill(order.id);
    await operation.locator('.btn.execute').click();
    const status = operation.locator('.live-responses-table .response-col_status').last();
    await expect.poll(() => status.textContent()).toContain('200');
    expect(await operation.locator('.live-responses-table').textContent()).toContain(order.tracking_token);
    expect([problems, elsewhere()]).toEqual([[], []]);
  });

  test('shows the operations of drivers', async () => {
    await openDocs('/docs/drivers');
    expect((await paths()).map((path) => path?.replaceAll('\u200b', ''))).toContain('/driver/duty');
    expect([problems, elsewhere()]).toEqual([[], []]);
  });

  test('the documents are those of the routes that are served', async () => {
    const { status, body, headers } = await ask<{ paths: object }>('/openapi.json');
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    expect(Object.keys(body.paths)).toContain('/orders/{id}/cancel');
    expect(headers.get('etag')).toMatch(/^"[\w-]{22}"$/);
  });
});
