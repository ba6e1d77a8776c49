import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, launchBrowser } from '../harness/chromium.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { newDataDir } from '../harness/service.ts';
import { type ServiceHere, startServiceHere } from '../harness/service-here.ts';
import { addStore, ask, place } from './clients.ts';

describe.skipIf(!findChromium())('/docs of the built service in Chromium', () => {
  let database: FreshDatabase;
  let service: ServiceHere;
  const folder = newDataDir();

  beforeAll(async () => {
    database = await freshDatabase();
    service = await startServiceHere({ DATABASE_URL: database.url, DATA_DIR: folder.dataDir });
  });
  afterAll(async () => {
    await service.stop();
    await database.drop();
    folder.remove();
  });

  /** Looks at a page of a browser of its own; nothing may be complained of, and nothing come from elsewhere. */
  async function withDocs(path: string, look: (page: Page) => Promise<void>): Promise<void> {
    const browser = await launchBrowser({ width: 1200, height: 900 });
    try {
      const page = await browser.context.newPage();
      const problems: string[] = [];
      const elsewhere: string[] = [];
      page.on('console', (message) => problems.push(message.text()));
      page.on('pageerror', (error) => problems.push(error.message));
      page.on('request', (request) => {
        if (!/^(?:data|blob):/.test(request.url()) && !request.url().startsWith(service.url)) {
          elsewhere.push(request.url());
        }
      });
      const response = await page.goto(`${service.url}${path}`);
      expect(response?.headers()['content-security-policy']).toMatch(
        /^default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; /,
      );
      await page.locator('.opblock').first().waitFor();
      await look(page);
      expect(problems).toEqual([]);
      expect(elsewhere).toEqual([]);
    } finally {
      await browser.close();
    }
  }

  const paths = (page: Page) =>
    page.locator('.opblock-summary-path').evaluateAll((all) => all.map((one) => one.textContent));

  test('shows the operations, and a request is sent with the key', async () => {
    const store = await addStore(database.sql);
    const { order } = (await place(service, store)).body;
    await withDocs('/docs', async (page) => {
      expect((await paths(page)).map((path) => path?.replaceAll('\u200b', ''))).toContain('/orders/create');
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
    });
  });

  test('shows the operations of drivers', async () => {
    await withDocs('/docs/drivers', async (page) => {
      expect((await paths(page)).map((path) => path?.replaceAll('\u200b', ''))).toContain('/driver/duty');
    });
  });

  test('the documents are those of the routes that are served', async () => {
    const { status, body, headers } = await ask<{ paths: object }>(service, '/openapi.json');
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    expect(Object.keys(body.paths)).toContain('/orders/{id}/cancel');
    expect(headers.get('etag')).toMatch(/^"[\w-]{22}"$/);
  });
});
