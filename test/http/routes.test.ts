import { Counter } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { healthRoutes } from '../../src/app/routes.ts';
import { newId } from '../../src/domain/ids.ts';
import { withoutQuery } from '../../src/http/input.ts';
import { healthzRoute } from '../../src/http/routes/healthz.ts';
import { metricsRoute } from '../../src/http/routes/metrics.ts';
import { type Readiness, readyzRoute } from '../../src/http/routes/readyz.ts';
import type { Metrics } from '../../src/runtime/metrics.ts';
import type { Store } from '../../src/store/store.ts';
import { createMetrics } from '../../src/telemetry.ts';
import { allRoutes, anything } from '../harness/all-routes.ts';
import { gate, replyOf, startServer } from './support.ts';

describe('every address that stores call', async () => {
  const routes = (await allRoutes()).map(withoutQuery);
  const ofStores = routes.filter(({ operation }) => /^(api|read)_key$/.test(operation?.secret ?? ''));

  it.each(ofStores.map((route) => ({ ...route })))(
    '$method $pattern refuses a parameter that it does not know',
    async (route) => {
      const head = {
        params: [newId(), newId()],
        query: new URLSearchParams('nonsense=1&nonsense=2'),
        header: () => undefined,
      };
      const request = { head, principal: anything, body: Buffer.alloc(0), alwaysReplyWith: () => {} };
      const refused = await Promise.resolve()
        .then(() => route.handle(request as never))
        .catch((error: unknown) => error);
      expect(refused).toMatchObject({
        code: 'invalid_request',
        fields: [{ field: 'nonsense', message: 'is not known here' }],
      });
    },
  );

  it('is known', () => expect(ofStores.length).toBeGreaterThan(15));
});

describe('/healthz', () => {
  it('says ok, to HEAD as well', async () => {
    const { url } = await startServer({ routes: [healthzRoute()] });
    const response = await fetch(`${url}/healthz`);
    expect([response.status, await response.json()]).toEqual([200, { status: 'ok' }]);
    expect((await fetch(`${url}/healthz`, { method: 'HEAD' })).status).toBe(200);
  });
});

describe('/readyz', () => {
  async function ask(read: () => Promise<Readiness>) {
    const { url } = await startServer({ routes: [readyzRoute(read, 50)] });
    const response = await fetch(`${url}/readyz`);
    return [response.status, await response.json()];
  }

  it('says ready where the service is', async () => {
    expect(await ask(async () => ({ ready: true, misconfigured: [] }))).toEqual([200, { status: 'ready' }]);
  });

  it('makes one read for all who ask at once, and another one for who asks later', async () => {
    const answer = gate<Readiness>();
    let reads = 0;
    const route = readyzRoute(() => {
      reads++;
      return answer.opened;
    });
    const ask = async () => (await replyOf([route], '/readyz')).status;
    const asking = Array.from({ length: 100 }, ask);
    await new Promise(setImmediate);
    answer.open({ ready: true });
    expect(await Promise.all(asking)).toEqual(Array(100).fill(200));
    expect(reads).toBe(1);
    await ask();
    expect(reads).toBe(2);
  });

  it('stays ready while a vendor refuses the credentials, and names it', async () => {
    const read = async () => ({ ready: true, misconfigured: ['stripe'] });
    expect(await ask(read)).toEqual([200, { status: 'ready', misconfigured: ['stripe'] }]);
  });

  it.each([
    ['is not', async () => ({ ready: false })],
    ['cannot say', async () => Promise.reject(new Error('down'))],
    [
      'fails at once',
      () => {
        throw new Error('down');
      },
    ],
    ['does not answer in time', () => new Promise<Readiness>(() => {})],
  ])('says 503 where the service %s', async (_, read) => {
    expect(await ask(read)).toMatchObject([503, { success: false, error: { code: 'unavailable' } }]);
  });
});

describe('/metrics', () => {
  it('shows the registry in Prometheus’s format', async () => {
    const registry = createMetrics();
    new Counter({ name: 'sameday_test_total', help: 'A test', registers: [registry] }).inc(3);
    const { url } = await startServer({ routes: [metricsRoute(registry, null)] });
    const response = await fetch(`${url}/metrics`);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=/);
    expect(await response.text()).toContain('sameday_test_total 3');
  });

  it('shows it to nobody without the token, where there is one', async () => {
    const { url } = await startServer({ routes: [metricsRoute(createMetrics(), 'the-token-of-16-characters')] });
    const read = async (headers: Record<string, string>) => (await fetch(`${url}/metrics`, { headers })).status;
    expect(await read({})).toBe(401);
    for (const wrong of ['x', 'the-token-of-16-character', 'the-token-of-16-characters1']) {
      expect(await read({ authorization: `Bearer ${wrong}` })).toBe(401);
    }
    expect(await read({ authorization: 'Bearer the-token-of-16-characters' })).toBe(200);
  });

  it.each([
    [false, null, false],
    [false, 'the-token-of-16-characters', true],
    [true, null, true],
  ])('in the sandbox (%s) with the token %s it is there: %s', (sandbox, metricsToken, isThere) => {
    const metrics = { registry: createMetrics() } as Metrics;
    const routes = healthRoutes({ sandbox, metricsToken }, {} as Store, metrics, () => true);
    expect(routes.some(({ pattern }) => pattern === '/metrics')).toBe(isThere);
  });
});
