import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { ServiceError } from '../../src/domain/errors.ts';
import type { SocketBehaviour } from '../../src/transport/live-socket.ts';
import { json } from '../../src/transport/reply.ts';
import { type AnsweredRequest, createRequestLog } from '../../src/transport/request-log.ts';
import { anyone, type Route } from '../../src/transport/route.ts';
import { echoRoute, rawConnection, startServer } from '../http/support.ts';

const REQUEST: AnsweredRequest = {
  requestId: 'r1',
  method: 'GET',
  route: '/orders/:id',
  status: 200,
  durationMs: 1.26,
};

function written(which: 'all' | 'failed', maxFailed = 100) {
  const lines: [string, object][] = [];
  const note = createRequestLog(which, (fields, message) => void lines.push([message, fields]), maxFailed);
  return { lines, note: (changes: Partial<AnsweredRequest>) => note({ ...REQUEST, ...changes }) };
}

describe('the line of a request', () => {
  it('has its id, method, route, status, time, and the store or driver, and nothing else of them', () => {
    const { lines, note } = written('all');
    note({ principal: { retailerId: 'store 1', keyId: 'key', name: 'Corner Market', address: '1 Main St' } });
    note({ status: 101, principal: { driverId: 'driver 1', name: 'Ana' } });
    note({ status: 401, principal: null });
    const line = { request: 'r1', method: 'GET', route: '/orders/:id', status: 200, ms: 1.3 };
    expect(lines).toEqual([
      ['request', { ...line, retailer: 'store 1' }],
      ['request', { ...line, status: 101, driver: 'driver 1' }],
      ['request', { ...line, status: 401 }],
    ]);
  });

  it('is written of failed requests only where that is asked for', () => {
    const { lines, note } = written('failed');
    for (const status of [200, 201, 101, 0, 304, 400, 401, 503]) note({ status });
    expect(lines.map(([, fields]) => (fields as { status: number }).status)).toEqual([400, 401, 503]);
  });

  describe('in a flood of refusals', () => {
    beforeEach(() => void vi.useFakeTimers());
    afterEach(() => void vi.useRealTimers());

    it('is written for so many a second; the others are counted, and good requests have theirs', () => {
      const { lines, note } = written('all', 3);
      for (let i = 0; i < 100; i++) note({ status: 503 });
      note({ status: 200 });
      expect(lines).toHaveLength(4);
      vi.advanceTimersByTime(1_000);
      expect(lines[4]).toEqual(['failed requests without a line', { requests: 97 }]);
      for (let i = 0; i < 3; i++) note({ status: 503 });
      vi.advanceTimersByTime(1_000);
      expect(lines).toHaveLength(8);
      expect(vi.getTimerCount()).toBe(0);
    });
  });
});

describe('a server', () => {
  const behaviour = {
    path: '/live/:token',
    maxMessageBytes: 1_000,
    idleTimeoutSeconds: 60,
    accept: async ({ params }: { params: readonly string[] }) => (params[0] === 'good' ? {} : { refuse: 404 as const }),
    opened: () => undefined,
    message: () => undefined,
    closed: () => undefined,
  } satisfies SocketBehaviour<object>;
  const status: Route = {
    method: 'get',
    pattern: '/made-up/:token/status',
    authenticate: () => ({ retailerId: 'store 1' }),
    handle: () => json(200, {}),
  };
  const busy: Route = {
    method: 'post',
    pattern: '/busy',
    shed: () => new ServiceError('unavailable', 'Busy.'),
    authenticate: anyone,
    handle: () => json(200, {}),
  };

  it('notes each request once, by its route and the id that the caller is told, and each upgrade', async () => {
    const noted: AnsweredRequest[] = [];
    const noteRequest = (request: AnsweredRequest) => void noted.push(request);
    const { url, port } = await startServer({ routes: [status, busy, echoRoute()], sockets: [behaviour], noteRequest });
    const ids: (string | null)[] = [];
    for (const [path, method] of [
      ['/made-up/secret-token/status', 'GET'],
      ['/echo/7', 'POST'],
      ['/nowhere/secret', 'GET'],
      ['/busy', 'POST'],
    ] as const) {
      ids.push((await fetch(`${url}${path}`, { method })).headers.get('x-request-id'));
    }
    for (const token of ['good', 'bad']) {
      const socket = new WebSocket(`ws://127.0.0.1:${port}/live/${token}`);
      await new Promise((resolve) => {
        for (const event of ['open', 'error']) socket.on(event, resolve);
      });
      socket.terminate();
    }
    rawConnection(port, 'GET /a%zz HTTP/1.1\r\nHost: x\r\n\r\n');
    await expect.poll(() => noted.length).toBe(7);
    expect(noted.slice(0, 4).map(({ requestId }) => requestId)).toEqual(ids);
    expect(noted.map(({ method, route, status }) => `${method} ${route} ${status}`)).toEqual([
      'GET /made-up/:token/status 200',
      'POST /echo/:id 401',
      'GET /* 404',
      'POST /busy 503',
      'GET /live/:token 101',
      'GET /live/:token 404',
      'GET /* 400',
    ]);
    expect(noted[0]?.principal).toEqual({ retailerId: 'store 1' });
    for (const { durationMs } of noted) expect(durationMs).toBeGreaterThanOrEqual(0);
    expect(JSON.stringify(noted)).not.toContain('secret');
  });

  it('notes a client that left with status 0', async () => {
    const noted: AnsweredRequest[] = [];
    const noteRequest = (request: AnsweredRequest) => void noted.push(request);
    const handle = vi.fn(() => new Promise<never>(() => undefined));
    const { port } = await startServer({ routes: [{ ...status, handle }], noteRequest });
    const client = rawConnection(port, 'GET /made-up/x/status HTTP/1.1\r\nHost: x\r\n\r\n');
    await expect.poll(() => handle).toHaveBeenCalled();
    client.destroy();
    await expect.poll(() => noted).toMatchObject([{ route: '/made-up/:token/status', status: 0 }]);
  });
});
