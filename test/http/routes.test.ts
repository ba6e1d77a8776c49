import { Counter } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { healthzRoute } from '../../src/http/routes/healthz.ts';
import { metricsRoute } from '../../src/http/routes/metrics.ts';
import { readyzRoute } from '../../src/http/routes/readyz.ts';
import { createMetrics } from '../../src/telemetry.ts';
import { startServer } from './support.ts';

describe('/healthz', () => {
  it('says ok, to HEAD as well', async () => {
    const { url } = await startServer({ routes: [healthzRoute()] });
    const response = await fetch(`${url}/healthz`);
    expect([response.status, await response.json()]).toEqual([200, { status: 'ok' }]);
    expect((await fetch(`${url}/healthz`, { method: 'HEAD' })).status).toBe(200);
  });
});

describe('/readyz', () => {
  async function ask(isReady: () => Promise<boolean>) {
    const { url } = await startServer({ routes: [readyzRoute(isReady, 50)] });
    const response = await fetch(`${url}/readyz`);
    return [response.status, await response.json()];
  }

  it('says ready where the service is', async () => {
    expect(await ask(async () => true)).toEqual([200, { status: 'ready' }]);
  });

  it.each([
    ['is not', async () => false],
    ['cannot say', async () => Promise.reject(new Error('down'))],
    [
      'fails at once',
      () => {
        throw new Error('down');
      },
    ],
    ['does not answer in time', () => new Promise<boolean>(() => {})],
  ])('says 503 where the service %s', async (_, isReady) => {
    expect(await ask(isReady)).toMatchObject([503, { success: false, error: { code: 'unavailable' } }]);
  });
});

describe('/metrics', () => {
  it('shows the registry in Prometheus’s format', async () => {
    const registry = createMetrics();
    new Counter({ name: 'sameday_test_total', help: 'A test', registers: [registry] }).inc(3);
    const { url } = await startServer({ routes: [metricsRoute(registry)] });
    const response = await fetch(`${url}/metrics`);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=/);
    expect(await response.text()).toContain('sameday_test_total 3');
  });
});
