import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { findChromium, launchBrowser } from './chromium.ts';
import { freshDatabase } from './database.ts';
import { freshRedis, hasRedis } from './redis.ts';

describe('a test file', () => {
  it('gets its own migrated database', async () => {
    const [one, other] = await Promise.all([freshDatabase(), freshDatabase()]);
    expect(one.url).not.toBe(other.url);
    expect(await one.sql`select to_regclass('orders')::text as orders`).toMatchObject([{ orders: 'orders' }]);
    await Promise.all([one.drop(), other.drop()]);
  });

  it('fails if it leaves a connection open', async () => {
    const database = await freshDatabase();
    const { connect } = await import('../../src/postgres/connect.ts');
    const leaked = connect({ url: database.url, applicationName: 'leaked pool', max: 1 });
    await leaked`select 1`;
    // No wait: the connection is there until it is closed below.
    await expect(database.drop(0)).rejects.toThrow(/left open: leaked pool/);
    await leaked.end({ timeout: 1 });
  });

  it.runIf(hasRedis())('gets a Redis set up as the service needs it', async () => {
    const server = await freshRedis();
    const redis = new Redis(server?.url as string);
    expect(await redis.config('GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'noeviction']);
    await redis.set(`${server?.prefix}:key`, 'value');
    redis.disconnect();
    await server?.stop();
  });

  it.runIf(findChromium() !== undefined)('gets a browser', async () => {
    const browser = await launchBrowser();
    const page = await browser.context.newPage();
    await page.goto('data:text/html,<h1>here</h1>');
    expect(await page.textContent('h1')).toBe('here');
    await browser.close();
  });
});
