import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Link, openLink } from '../harness/link.ts';
import { orderBody, startBuiltService } from '../harness/service.ts';
import type { Store } from './clients.ts';
import { useService } from './world.ts';

/** Below the 5 s for which an order would wait that asked the database. */
const AT_ONCE_MS = 3_000;

let link: Link;
let store: Store;
afterAll(() => link.close());
const world = useService(startBuiltService, async () => {
  link = await openLink(world.databaseUrl);
  return { DATABASE_URL: link.url };
});
beforeAll(async () => {
  store = await world.addStore();
});
afterAll(async () => expect(await world.service.stop()).toBe(0));

const create = () =>
  fetch(`${world.url}/orders/create`, {
    method: 'POST',
    headers: { authorization: `Bearer ${store.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(orderBody(store.retailerId)),
  });
const refusedInMs = async () => {
  const startedMs = performance.now();
  expect((await create()).status).toBe(503);
  return performance.now() - startedMs;
};
const isUp = async () => /sameday_database_up (\d)/.exec(await (await fetch(`${world.url}/metrics`)).text())?.[1];

const WAYS = [
  { how: 'refuses connections', leave: () => link.close(), comeBack: () => link.reopen() },
  {
    how: 'does not answer',
    leave: async () => link.swallows(true),
    async comeBack() {
      link.cut();
      link.swallows(false);
    },
  },
];

test.each(WAYS)(
  'while Postgres $how, orders are refused at once, and taken soon after',
  async ({ leave, comeBack }) => {
    // A machine that stands still meanwhile may answer the first one with 503.
    await expect.poll(async () => (await create()).status).toBe(201);
    await leave();
    await expect.poll(isUp).toBe('0');
    const before = await world.sql`select from orders where status <> 'void'`;
    const answers = await Promise.all(Array.from({ length: 50 }, create));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
    expect(answers[0]?.headers.get('retry-after')).toBe('1');
    // One of them is quick, however busy the machine is.
    await expect.poll(refusedInMs).toBeLessThan(AT_ONCE_MS);
    await comeBack();
    await expect.poll(async () => (await create()).status).toBe(201);
    expect(await world.sql`select from orders where status <> 'void'`).toHaveLength(before.length + 1);
  },
);
