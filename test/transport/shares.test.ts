import { describe, expect, it } from 'vitest';
import { healthzRoute } from '../../src/http/routes/healthz.ts';
import { readyzRoute } from '../../src/http/routes/readyz.ts';
import { callerOf } from '../../src/transport/caller.ts';
import { json } from '../../src/transport/reply.ts';
import { anyone, type RequestHead, type Route } from '../../src/transport/route.ts';
import { SharedPool } from '../../src/transport/shares.ts';
import { STEP_MS } from '../harness/patience.ts';
import { echoRoute, GOOD, gate, knowsKey, rawConnection, startServer } from '../http/support.ts';

/** Lets in whoever names a store as their key. */
function ofStore(head: RequestHead): { retailerId: string } {
  return { retailerId: (head.header('authorization') ?? '').replace('Bearer ', '') };
}
const headOf = (store: string, length: number, path = '/echo/1') =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${store}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;

/** A public route with a body, as for signing in. */
const open: Route<null> = {
  method: 'post',
  pattern: '/open',
  authenticate: anyone,
  body: { contentTypes: ['application/json'], maxBytes: 1_000 },
  handle: ({ body }) => json(200, { bytes: body.length }),
};
const OPEN = 'POST /open HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n';

async function statusOf(url: string, path: string, body?: string): Promise<number> {
  const headers = { authorization: 'Bearer good', 'content-type': 'application/json' };
  const response = await fetch(url + path, body === undefined ? {} : { method: 'POST', headers, body });
  await response.arrayBuffer();
  return response.status;
}

describe('a request whose body does not come', () => {
  it('holds up nobody’s work, with a key or without', async () => {
    const routes = [open, echoRoute(), healthzRoute()];
    const { port, server, url } = await startServer({
      routes,
      limits: { maxRequestsInFlight: 2, bodyDeadlineMs: STEP_MS },
    });
    const silent = Array.from({ length: 12 }, () => rawConnection(port));
    for (const [index, client] of silent.entries()) {
      client.send(index % 2 === 0 ? OPEN : `POST /echo/1 HTTP/1.1\r\n${GOOD}Content-Length: 2\r\n\r\n`);
    }
    await expect.poll(() => server.inFlight).toBe(12);
    expect(await statusOf(url, '/echo/1', '{}')).toBe(200);
    expect(await statusOf(url, '/healthz')).toBe(200);
    for (const client of silent) client.send('{}');
    await expect.poll(() => silent.map(({ statuses }) => statuses[0])).toEqual(silent.map(() => 200));
  });

  it('is one of a bounded number of its caller’s, the next one is 503 at once, and other callers are served', async () => {
    const stores = echoRoute({ authenticate: ofStore as never });
    const { port, server } = await startServer({ routes: [open, stores], limits: { maxWaitingBodiesPerCaller: 3 } });
    const silent = [OPEN, OPEN, OPEN, headOf('one', 2), headOf('one', 2), headOf('one', 2)].map((head) => {
      const client = rawConnection(port, head);
      return client;
    });
    await expect.poll(() => server.inFlight).toBe(6);
    for (const head of [OPEN, headOf('one', 2)]) {
      const refused = rawConnection(port, head);
      await expect.poll(() => refused.statuses).toEqual([503]);
      expect(refused.text).toMatch(/retry-after: 1\r\n/i);
    }
    const other = rawConnection(port, headOf('two', 2));
    await expect.poll(() => server.inFlight).toBe(7);
    other.send('{}');
    await expect.poll(() => other.statuses).toEqual([200]);
    // Whole requests wait for nothing, and a place is free again when its body has come or its client has left.
    const whole = rawConnection(port, `${headOf('one', 2)}{}`);
    await expect.poll(() => whole.statuses).toEqual([200]);
    silent[3]?.send('{}');
    silent[4]?.destroy();
    await expect.poll(() => server.inFlight).toBe(4);
    const [next, last] = [rawConnection(port), rawConnection(port)];
    for (const client of [next, last]) client.send(headOf('one', 2));
    await expect.poll(() => server.inFlight).toBe(6);
    for (const client of [next, last]) client.send('{}');
    await expect.poll(() => [next.statuses, last.statuses]).toEqual([[200], [200]]);
  });

  it('fills its caller’s share of the bytes and no more, so that another one’s body finds room', async () => {
    const stores = echoRoute({ authenticate: ofStore as never });
    const limits = { maxBufferedBodyBytes: 100_000, maxBodyBytesPerCaller: 50_000 };
    const { port, server } = await startServer({ routes: [stores, open], limits });
    const slow = Array.from({ length: 4 }, () => rawConnection(port));
    for (const client of slow) client.send(headOf('slow', 60_000) + 'x'.repeat(20_000));
    await expect.poll(() => slow.filter(({ statuses }) => statuses[0] === 503).length).toBe(2);
    expect(server.inFlight).toBe(2);
    for (let round = 0; round < 3; round++) {
      const quick = rawConnection(port, headOf('quick', 45_000) + 'x'.repeat(45_000));
      await expect.poll(() => quick.statuses).toEqual([200]);
    }
    const whole = rawConnection(port, headOf('slow', 20_000) + 'x'.repeat(20_000));
    await expect.poll(() => whole.statuses).toEqual([503]);
    for (const client of slow) client.destroy();
    await expect.poll(() => server.inFlight).toBe(0);
    const again = rawConnection(port, headOf('slow', 45_000) + 'x'.repeat(45_000));
    await expect.poll(() => again.statuses).toEqual([200]);
  });
});

describe('a health check', () => {
  it('is answered while as many requests are at work as may be', async () => {
    const work = gate();
    const busy = echoRoute({
      authenticate: knowsKey,
      handle: async () => {
        await work.opened;
        return json(200, {});
      },
    });
    const routes = [busy, healthzRoute(), readyzRoute(async () => ({ ready: true }))];
    const { url, server } = await startServer({ routes, limits: { maxRequestsInFlight: 1 } });
    const working = statusOf(url, '/echo/1', '{}');
    await expect.poll(() => server.inFlight).toBe(1);
    await expect.poll(() => statusOf(url, '/echo/1', '{}')).toBe(503);
    expect([await statusOf(url, '/healthz'), await statusOf(url, '/readyz')]).toEqual([200, 200]);
    work.open();
    expect(await working).toBe(200);
  });
});

describe('a pool', () => {
  it('gives each caller a share and all of them its size, and forgets who gave everything back', () => {
    const pool = new SharedPool(10, 6);
    expect([pool.take('a', 6), pool.take('a', 1), pool.take('b', 5), pool.take('b', 4)]).toEqual([
      true,
      false,
      false,
      true,
    ]);
    expect([pool.taken, pool.callers]).toEqual([10, 2]);
    pool.giveBack('a', 6);
    pool.giveBack('b', 4);
    expect([pool.taken, pool.callers]).toEqual([0, 0]);
  });

  it('leaves half of it to callers with a key, however many networks there are', () => {
    const pool = new SharedPool(10, 3);
    const networks = ['192.0.2.1', '198.51.100.1', '203.0.113.1'].map((remoteAddress) =>
      callerOf(null, { remoteAddress: () => remoteAddress }),
    );
    expect(networks.map((network) => pool.take(network, 2))).toEqual([true, true, false]);
    expect(['a', 'b'].map((store) => pool.take(store, 3))).toEqual([true, true]);
    pool.giveBack(networks[0] as string, 2);
    expect(pool.take(networks[2] as string, 2)).toBe(true);
  });

  it('counts what was taken for nobody once it is claimed, where the share has room', () => {
    const pool = new SharedPool(10, 6);
    expect([pool.take(null, 4), pool.take('a', 3), pool.claim('a', 4), pool.claim('b', 4)]).toEqual([
      true,
      true,
      false,
      true,
    ]);
    pool.giveBack('b', 4);
    expect([pool.taken, pool.callers]).toEqual([3, 1]);
  });
});
