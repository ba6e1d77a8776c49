import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { bestOf, measureLatency, measureRate, type RateFigure, type Run } from '../../../bench/load/figures.ts';

const ORDERS = [{ headers: { authorization: 'Bearer k', 'content-type': 'application/json' }, body: '{"é":1}' }];
const run: Run = { signal: new AbortController().signal, say: () => undefined, blame: () => undefined };

type Asked = { readonly key: string; readonly path: string; readonly body: string };
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** A server that answers the nth request with this status after this time. */
async function serve(answer: (nth: number) => { status?: number } = () => ({})) {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      const nth = asked.push({ key: String(request.headers['idempotency-key']), path: request.url ?? '', body });
      const { status = 201 } = answer(nth);
      const id = `00000000-0000-7000-8000-${String(nth).padStart(12, '0')}`;
      const said = JSON.stringify({ success: true, order: { id } }).replace('"order": ', '"order":');
      response.writeHead(status, { 'content-length': said.length }).end(said);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

describe('a rate over connections', () => {
  test('counts every answer that is no 201 as failed, and says so', async () => {
    const { url, asked } = await serve((nth) => ({ status: nth % 2 === 0 ? 503 : 201 }));
    const { figure, result } = await measureRate(run, { urls: [`${url}/base`], orders: ORDERS }, 2, 1);
    expect(asked.every(({ path, body }) => path === '/base/orders/create' && body === '{"é":1}')).toBe(true);
    expect(figure.failed).toBeGreaterThan(0);
    expect(Math.abs(figure.failed - figure.created)).toBeLessThanOrEqual(2);
    expect(result.faults).toEqual([`${figure.failed} orders were answered with 503`]);
  });

  test('spreads its connections over several processes', async () => {
    const [one, other] = [await serve(), await serve()];
    await measureRate(run, { urls: [one.url, other.url], orders: ORDERS }, 2, 0.2);
    expect(one.asked.length).toBeGreaterThan(0);
    expect(other.asked.length).toBeGreaterThan(0);
  });
});

describe('latency at a given rate', () => {
  test('counts from when an order was due, so that a stall delays all that were due meanwhile', async () => {
    // The process that serves is this one: while it is stalled, nothing is sent either.
    const stall = (): void => {
      const untilMs = performance.now() + 400;
      while (performance.now() < untilMs);
    };
    const { url, asked } = await serve((nth) => {
      if (nth === 20) stall();
      return {};
    });
    const { figure } = await measureLatency(run, { urls: [url], orders: ORDERS }, 400, 0.5, 1);
    expect(new Set(asked.map(({ key }) => key)).size).toBe(asked.length);
    expect(figure.created).toBe(asked.length);
    expect(figure.max).toBeGreaterThan(380);
    // A stall of 0.4 s in a second delays every tenth order by 300 ms and more.
    expect(figure.p99).toBeGreaterThan(300);
    expect(figure.p999).toBeGreaterThanOrEqual(figure.p99);
  });
});

test('the best rate is the highest', () => {
  const rates = [100, 300, 200].map((perSecond) => ({ perSecond }) as RateFigure);
  expect(bestOf(rates).perSecond).toBe(300);
});
