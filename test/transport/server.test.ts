import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ServiceError } from '../../src/domain/errors.ts';
import { json, text } from '../../src/transport/reply.ts';
import { anyone, type Route, type RouteRequest } from '../../src/transport/route.ts';
import { createServer } from '../../src/transport/server.ts';
import { openTransport } from '../../src/transport/transport.ts';
import { echoRoute, GOOD, gate, rawConnection, startServer } from '../http/support.ts';
import { temporaryFolder } from '../sandbox/temporary.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

function getRoute(handle: Route['handle'], changes: Partial<Route> = {}): Route {
  return { method: 'get', pattern: '/thing/:id', authenticate: anyone, handle, ...changes };
}

describe('a reply', () => {
  it('carries the headers that every reply has, the sandbox named', async () => {
    const { url } = await startServer({ routes: [getRoute(() => json(200, { a: 1 }))] });
    const { headers, status } = await fetch(`${url}/thing/1`);
    expect(status).toBe(200);
    expect(headers.get('x-request-id')).toMatch(UUID);
    expect(headers.get('x-sameday-mode')).toBe('sandbox');
    expect(headers.get('keep-alive')).toBe('timeout=5');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
  });

  it('says nothing of a sandbox where there is none, and keeps the route’s own caching', async () => {
    const route = getRoute(() => json(200, {}, { 'Cache-Control': 'max-age=60' }));
    const { url } = await startServer({ routes: [route], mode: 'live' });
    const { headers } = await fetch(`${url}/thing/1`);
    expect(headers.has('x-sameday-mode')).toBe(false);
    expect(headers.get('cache-control')).toBe('max-age=60');
  });

  it('answers HEAD with the headers of GET and no body', async () => {
    const { port, server, log } = await startServer({ routes: [getRoute(() => json(200, { a: 'é' }))] });
    const client = rawConnection(port, 'HEAD /thing/1 HTTP/1.1\r\nHost: x\r\n\r\n');
    await expect.poll(() => client.statuses).toEqual([200]);
    expect(client.text.toLowerCase()).toContain('content-length: 10\r\n');
    expect(client.text.match(/content-length/gi)).toHaveLength(1);
    expect(client.text.endsWith('\r\n\r\n')).toBe(true);
    expect(client.text).toMatch(/\r\nconnection: close\r\n/i);
    await expect.poll(() => client.ended).toBe(true);
    expect(server.inFlight).toBe(0);
    expect(log).toEqual([]);
  });

  it('to HEAD ends the connection without a body too, and nothing is logged', async () => {
    const { port, log } = await startServer({ routes: [getRoute(() => text(304, ''))] });
    const client = rawConnection(port, 'HEAD /thing/1 HTTP/1.1\r\nHost: x\r\n\r\n');
    await expect.poll(() => [client.statuses, client.ended]).toEqual([[304], true]);
    expect(log).toEqual([]);
  });

  it('that is not read ends the connection of a client who goes on asking', async () => {
    const handle = vi.fn(() => text(200, 'x'.repeat(1_000_000)));
    const { port } = await startServer({ routes: [getRoute(handle)] });
    const client = rawConnection(port);
    client.pause();
    client.send('GET /thing/1 HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1_000));
    await expect.poll(() => handle).toHaveBeenCalled();
    client.resume();
    await expect.poll(() => client.ended).toBe(true);
    expect(handle.mock.calls.length).toBeLessThan(50);
  });

  it('becomes a 500 where a header holds what would end it', async () => {
    const { url, log } = await startServer({
      routes: [getRoute(() => json(200, {}, { Location: 'a\r\nSet-Cookie: b' }))],
    });
    const response = await fetch(`${url}/thing/1`);
    expect(response.status).toBe(500);
    expect(response.headers.has('set-cookie')).toBe(false);
    expect(log).toHaveLength(1);
  });

  it('is shown to the observer once, by pattern and not by address', async () => {
    const observe = vi.fn();
    const { url } = await startServer({ routes: [getRoute(() => json(200, {}))], observe });
    await fetch(`${url}/thing/secret-id`);
    await fetch(`${url}/nowhere`, { method: 'PROPFIND' });
    expect(observe.mock.calls.map((call) => call.slice(0, 3))).toEqual([
      ['/thing/:id', 'GET', 200],
      ['/*', 'other', 404],
    ]);
  });
});

describe('an error', () => {
  it('has the documented form, with the id of the request in header and body', async () => {
    const fields = [{ field: 'customer.phone', message: 'must be in E.164 form' }];
    const route = getRoute(() => {
      throw new ServiceError('invalid_request', 'Some fields are not valid.', { fields });
    });
    const { url } = await startServer({ routes: [route] });
    const response = await fetch(`${url}/thing/1`);
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      success: false,
      message: 'Some fields are not valid.',
      error: { code: 'invalid_request', retryable: false, fields },
      request_id: response.headers.get('x-request-id'),
    });
  });

  it('tells nothing of an unexpected exception, and logs it without its message', async () => {
    const route = getRoute(async () => {
      throw new TypeError('cannot read Ada Lovelace +14155550123');
    });
    const { url, log } = await startServer({ routes: [route] });
    const response = await fetch(`${url}/thing/1`);
    const body = await response.text();
    expect(response.status).toBe(500);
    expect(JSON.parse(body).error).toEqual({ code: 'internal', retryable: true, fields: [] });
    expect(log).toHaveLength(1);
    expect(log[0]).toMatchObject({
      level: 'error',
      fields: { request: response.headers.get('x-request-id'), error: { name: 'TypeError' } },
    });
    expect(body + JSON.stringify(log)).not.toMatch(/Ada|4155550123/);
  });

  it('names the support contact in every 401', async () => {
    const { url } = await startServer({ routes: [echoRoute()] });
    const response = await fetch(`${url}/echo/1`, { method: 'POST', body: '{}' });
    expect(response.status).toBe(401);
    expect(((await response.json()) as { message: string }).message).toBe(
      'The API key is wrong. For help with keys write to help@sameday.test.',
    );
  });

  it('is 404 at an unknown address and 405 with Allow at a known one', async () => {
    const { url } = await startServer({
      routes: [getRoute(() => json(200, {})), getRoute(() => json(200, {}), { method: 'put' }), echoRoute()],
    });
    const unknown = await fetch(`${url}/nowhere?x=1`);
    expect(unknown.status).toBe(404);
    expect(await unknown.json()).toMatchObject({ success: false, error: { code: 'not_found' } });
    const wrong = await fetch(`${url}/thing/1`, { method: 'DELETE' });
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD, PUT']);
    expect(await wrong.json()).toMatchObject({ error: { code: 'method_not_allowed' } });
    const get = await fetch(`${url}/echo/1`);
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST']);
  });

  it('leads a person who typed a slash too many to the page, and never to another host', async () => {
    const { port } = await startServer({});
    for (const [path, location] of [
      ['/docs/', '/docs'],
      ['//evil.example/', undefined],
      ['/\\evil.example/', undefined],
    ]) {
      // A client of its own, as `fetch` makes a slash of a backslash.
      const client = rawConnection(port, `GET ${path} HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\n\r\n`);
      await expect.poll(() => client.statuses).toEqual([location ? 308 : 404]);
      expect(/\r\nLocation: (.*)\r\n/i.exec(client.text)?.[1]).toBe(location);
    }
  });

  it('is 405 at an address that a parameter of another route could be', async () => {
    const { url } = await startServer({
      routes: [getRoute(() => json(200, {})), echoRoute({ pattern: '/thing/create' })],
    });
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const wrong = await fetch(`${url}/thing/create`, { method });
      expect([method, wrong.status, wrong.headers.get('allow')]).toEqual([method, 405, 'POST']);
    }
    expect((await fetch(`${url}/thing/create`, { method: 'HEAD' })).status).toBe(405);
    expect((await fetch(`${url}/thing/created`)).status).toBe(200);
  });
});

describe('a request', () => {
  it('has its parameters decoded, and its query read', async () => {
    const route = getRoute(({ head }) =>
      json(200, { params: head.params, q: head.query.getAll('q'), path: head.path }),
    );
    const { url } = await startServer({ routes: [route] });
    const read = async (path: string) => (await fetch(url + path)).json();
    expect(await read('/thing/a%20%C3%A9?q=1&q=%C3%A9+b')).toEqual({
      params: ['a é'],
      q: ['1', 'é b'],
      path: '/thing/a%20%C3%A9',
    });
  });

  it('comes from the connection’s address, and from the proxy’s word only where that is trusted', async () => {
    const routes = [getRoute(({ head }) => json(200, head.remoteAddress()))];
    const headers = { 'x-forwarded-for': '6.6.6.6, 203.0.113.9' };
    const direct = await startServer({ routes });
    const behind = await startServer({ routes, trustProxy: true });
    const seenBy = async ({ url }: typeof direct, sent = {}) =>
      (await fetch(`${url}/thing/1`, { headers: sent })).json();
    expect(await seenBy(direct, headers)).toBe('127.0.0.1');
    expect(await seenBy(behind, headers)).toBe('203.0.113.9');
    expect(await seenBy(behind)).toBe('127.0.0.1');
    // With the port of its connection, as some gateways write it, each would be another network.
    for (const [hop, address] of [
      ['203.0.113.9:51234', '203.0.113.9'],
      ['[2001:db8::1]:51234', '2001:db8::1'],
      ['[2001:db8::1]', '2001:db8::1'],
      ['2001:db8::1', '2001:db8::1'],
    ])
      expect(await seenBy(behind, { 'x-forwarded-for': `6.6.6.6, ${hop}` })).toBe(address);
  });

  it('whose body does not arrive is answered 408 and its connection ended', async () => {
    const { port } = await startServer({ routes: [echoRoute()], limits: { bodyDeadlineMs: 50 } });
    const client = rawConnection(port, `POST /echo/1 HTTP/1.1\r\n${GOOD}Content-Length: 20\r\n\r\n{"a`);
    await expect.poll(() => [client.statuses, client.ended]).toEqual([[408], true]);
  });

  it('whose key is not looked up in time is answered 503', async () => {
    const authenticate = () => new Promise<never>(() => {});
    const { url } = await startServer({ routes: [echoRoute({ authenticate })], limits: { bodyDeadlineMs: 50 } });
    expect((await fetch(`${url}/echo/1`, { method: 'POST', body: '{}' })).status).toBe(503);
  });

  it.each([
    [undefined, 503, 'unavailable'],
    ['outcome_unknown', 504, 'outcome_unknown'],
  ] as const)(
    'that takes too long is answered with its route’s code %s, and the route is told',
    async (code, status, told) => {
      const work = gate();
      const seen: RouteRequest<unknown>['signal'][] = [];
      const aborted = vi.fn();
      const route = getRoute(
        async ({ signal }) => {
          seen.push(signal);
          signal.onAbort(aborted);
          await work.opened;
          return json(200, {});
        },
        code ? { onDeadline: code } : {},
      );
      const { server, url } = await startServer({ routes: [route], limits: { requestDeadlineMs: 50 } });
      const response = await fetch(`${url}/thing/1`);
      expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([
        status,
        told,
      ]);
      expect(aborted).toHaveBeenCalledOnce();
      expect(seen[0]?.aborted).toBe(true);
      expect(server.inFlight).toBe(1);
      work.open();
      await expect.poll(() => server.inFlight).toBe(0);
    },
  );

  it('whose client leaves is worked on to its end, and the route is told', async () => {
    const work = gate();
    const started = gate();
    const aborted = vi.fn();
    const late = vi.fn();
    const observe = vi.fn();
    const route = getRoute(async ({ signal }) => {
      signal.onAbort(aborted);
      started.open();
      await work.opened;
      signal.onAbort(late);
      return json(200, {});
    });
    const { server, port, url, log } = await startServer({ routes: [route], observe });
    const client = rawConnection(port, 'GET /thing/1 HTTP/1.1\r\nHost: x\r\n\r\n');
    await started.opened;
    client.destroy();
    await expect.poll(() => aborted).toHaveBeenCalledOnce();
    expect(server.inFlight).toBe(1);
    work.open();
    await expect.poll(() => server.inFlight).toBe(0);
    expect(late).toHaveBeenCalledOnce();
    expect(observe.mock.calls.map((call) => call[2])).toEqual([0]);
    expect(log).toEqual([]);
    expect((await fetch(`${url}/nowhere`)).status).toBe(404);
  });

  it('tells its route once of an answer that took too long, and never of one that went out', async () => {
    const aborted = vi.fn();
    const work = gate();
    const route = getRoute(async ({ signal, head }) => {
      signal.onAbort(() => aborted(head.path));
      if (head.path === '/thing/late') await work.opened;
      if (head.path === '/thing/refused') throw new ServiceError('not_found', 'No.');
      return json(200, {});
    });
    const { server, url } = await startServer({ routes: [route], limits: { requestDeadlineMs: 50 } });
    for (const path of ['/thing/good', '/thing/refused', '/thing/late']) await fetch(url + path);
    work.open();
    await expect.poll(() => server.inFlight).toBe(0);
    expect(aborted.mock.calls).toEqual([['/thing/late']]);
  });

  it('whose client leaves in the middle of its body never reaches the route', async () => {
    const handle = vi.fn();
    const { server, port } = await startServer({ routes: [echoRoute({ handle })] });
    const client = rawConnection(port, `POST /echo/1 HTTP/1.1\r\n${GOOD}Content-Length: 20\r\n\r\n{"a`);
    await expect.poll(() => server.inFlight).toBe(1);
    client.destroy();
    await expect.poll(() => server.inFlight).toBe(0);
    expect(handle).not.toHaveBeenCalled();
  });
});

describe('a server', () => {
  it('does not share its port', async () => {
    // On a port of the system's choice the transport never shares; on one that was named it would.
    const { port, server } = await startServer({});
    server.close();
    const [first, second] = [newServer(), newServer()];
    expect(await first.listen('127.0.0.1', port)).toEqual({ port });
    await expect(second.listen('127.0.0.1', port)).rejects.toThrow(`Cannot listen on 127.0.0.1:${port}`);
    // An address that no machine has.
    await expect(second.listen('203.0.113.1', 80)).rejects.toThrow('a port below 1024 is for root alone');
  });

  it('that drains takes no new connection, answers what it took, and ends those connections and idle ones', async () => {
    const work = gate();
    const started = gate();
    const route = getRoute(async () => {
      started.open();
      await work.opened;
      return json(200, { done: true });
    });
    const { server, port, url } = await startServer({ routes: [route] });
    const [early, late, silent] = [rawConnection(port), rawConnection(port), rawConnection(port)];
    for (const idle of [early, late, silent]) {
      idle.send('GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n');
      await expect.poll(() => idle.statuses).toEqual([404]);
    }
    const answer = fetch(`${url}/thing/1`, { headers: { connection: 'keep-alive' } });
    await started.opened;
    server.stopAccepting();
    await expect(fetch(`${url}/nowhere`)).rejects.toThrow();
    early.send('GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n');
    await expect.poll(() => [early.statuses, early.ended]).toEqual([[404, 404], true]);
    expect(await server.drain(20)).toBe(false);
    const drained = server.drain(10_000);
    // Work that is begun now would be cut by the end of the stop.
    late.send('GET /thing/2 HTTP/1.1\r\nHost: x\r\n\r\n');
    await expect.poll(() => [late.statuses, late.ended]).toEqual([[404, 503], true]);
    work.open();
    const response = await answer;
    expect([response.headers.get('connection'), await response.json()]).toEqual(['close', { done: true }]);
    expect(silent.ended).toBe(false);
    expect(await drained).toBe(true);
    await expect.poll(() => silent.ended).toBe(true);
    expect(server.inFlight).toBe(0);
    server.close();
    server.close();
  });

  it('says nothing of https where it does no TLS', async () => {
    const { url } = await startServer({ routes: [getRoute(() => json(200, {}))] });
    expect((await fetch(`${url}/thing/1`)).headers.get('strict-transport-security')).toBeNull();
  });

  it('serves HTTPS from files, and refuses to start where one cannot be read', async () => {
    const folder = join(temporaryFolder(), 'é');
    mkdirSync(folder);
    const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const command = `req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -keyout ${keyFile} -out ${certFile}`;
    execFileSync('openssl', command.split(' '), { stdio: 'ignore' });
    const { port } = await startServer({
      routes: [getRoute(() => json(200, { secure: true }))],
      tls: { certFile, keyFile },
      httpsOnly: true,
    });
    const ask = (path: string) =>
      new Promise((resolve, reject) => {
        request({ port, host: '127.0.0.1', path, rejectUnauthorized: false, agent: false }, (response) => {
          const only = response.headers['strict-transport-security'];
          response.on('data', (chunk) => resolve([response.statusCode, only, String(chunk).slice(0, 16)]));
        })
          .on('error', reject)
          .end();
      });
    expect(await ask('/thing/1')).toEqual([200, 'max-age=31536000', '{"secure":true}']);
    expect(await ask('/nowhere')).toEqual([404, 'max-age=31536000', '{"success":false']);
    await expect(startServer({ tls: { certFile: join(folder, 'none.pem'), keyFile } })).rejects.toThrow('none.pem');
  });
});

function newServer() {
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  const server = createServer(openTransport(), {
    routes: [],
    sockets: [],
    logger,
    mode: 'live',
    supportEmail: 'help@sameday.test',
    trustProxy: false,
  });
  onTestFinished(() => server.close());
  return server;
}
