import { describe, expect, it, vi } from 'vitest';
import { ServiceError } from '../../src/domain/errors.ts';
import { isMediaType } from '../../src/transport/request.ts';
import type { Route } from '../../src/transport/route.ts';
import { echoing, echoRoute, GOOD, gate, knowsKey, rawConnection, startServer } from '../http/support.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const KEY = { authorization: 'Bearer good' };

async function post(url: string, headers: Record<string, string>, body: string | Buffer) {
  const response = await fetch(`${url}/echo/7`, { method: 'POST', headers, body });
  return { response, status: response.status, body: (await response.json()) as Record<string, unknown> };
}

describe('the order of checks', () => {
  it('answers 401 before a wrong type, a large body and a full server are looked at', async () => {
    const { url } = await startServer({ routes: [echoRoute()], limits: { maxRequestsInFlight: 0 } });
    const answer = await post(url, { 'content-type': 'text/plain' }, 'x'.repeat(100_000));
    expect(answer.status).toBe(401);
    expect(answer.response.headers.get('www-authenticate')).toBe('Bearer');
    expect(answer.body.message).toContain('help@sameday.test');
  });

  it.each([
    [415, 'text/plain'],
    [413, 'application/json'],
  ])('answers %i before what comes after it, and before 503', async (status, type) => {
    const { url } = await startServer({ routes: [echoRoute()], limits: { maxRequestsInFlight: 0 } });
    expect((await post(url, { ...KEY, 'content-type': type }, 'x'.repeat(100_000))).status).toBe(status);
  });

  it('says what of the type or the encoding of a body is not taken', async () => {
    const { url } = await startServer({ routes: [echoRoute()] });
    const send = async (headers: Record<string, string>) => {
      const { status, body } = await post(url, { ...KEY, ...JSON_TYPE, ...headers }, '{}');
      return [status, body.message];
    };
    expect(await send({ 'content-type': 'application/json; charset=latin1' })).toEqual([
      415,
      'The Content-Type must be application/json, with no charset but utf-8.',
    ]);
    expect(await send({ 'content-encoding': 'gzip' })).toEqual([
      415,
      'A Content-Encoding such as gzip is not supported. Send the body as it is.',
    ]);
    expect((await send({ 'content-encoding': 'Identity' }))[0]).toBe(200);
    expect((await send({ 'content-encoding': 'gzip, gzip' }))[0]).toBe(415);
  });

  it('takes no encoding in a second header either', async () => {
    const { port } = await startServer({ routes: [echoRoute()] });
    const client = rawConnection(port);
    const encodings = 'Content-Encoding: identity\r\nContent-Encoding: gzip\r\n';
    const type = 'Content-Type: application/json\r\n';
    client.send(
      `POST /echo/7 HTTP/1.1\r\nHost: x\r\nAuthorization: ${KEY.authorization}\r\n${type}${encodings}Content-Length: 2\r\n\r\n{}`,
    );
    await expect.poll(() => client.statuses).toEqual([415]);
    expect(client.text).toContain('A Content-Encoding such as gzip is not supported.');
  });

  it('answers 503 with Retry-After where too many requests are at work, and serves again when one is done', async () => {
    const first = gate();
    const handle = vi.fn(async () => {
      await first.opened;
      return { status: 200, body: 'done' };
    });
    const { url } = await startServer({ routes: [echoRoute({ handle })], limits: { maxRequestsInFlight: 1 } });
    const working = fetch(`${url}/echo/7`, { method: 'POST', headers: { ...KEY, ...JSON_TYPE }, body: '{}' });
    await expect.poll(() => handle).toHaveBeenCalledOnce();
    const refused = await post(url, { ...KEY, ...JSON_TYPE }, '{}');
    expect(refused.status).toBe(503);
    expect(refused.response.headers.get('retry-after')).toBe('1');
    expect(refused.body.error).toEqual({ code: 'unavailable', retryable: true, fields: [] });
    expect((await post(url, JSON_TYPE, '{}')).status).toBe(401);
    first.open();
    expect((await working).status).toBe(200);
    expect(
      (await fetch(`${url}/echo/7`, { method: 'POST', headers: { ...KEY, ...JSON_TYPE }, body: '{}' })).status,
    ).toBe(200);
  });

  it('takes a body of exactly the limit and refuses one byte more', async () => {
    const { url } = await startServer({ routes: [echoRoute()] });
    const fits = await post(url, { ...KEY, ...JSON_TYPE }, 'x'.repeat(65_536));
    expect([fits.status, fits.body]).toEqual([200, { id: '7', bytes: 65_536 }]);
    expect((await post(url, { ...KEY, ...JSON_TYPE }, 'x'.repeat(65_537))).status).toBe(413);
  });

  it('refuses a body in chunks as soon as it is over the limit, without its end', async () => {
    const client = await echoing(`POST /echo/7 HTTP/1.1\r\n${GOOD}Transfer-Encoding: chunked\r\n\r\n`);
    for (let sent = 0; sent < 5; sent++) client.send(`4000\r\n${'x'.repeat(0x4000)}\r\n`);
    await expect.poll(() => client.statuses).toEqual([413]);
    await expect.poll(() => client.ended).toBe(true);
  });

  it('judges the announced length without waiting for a byte of the body', async () => {
    const client = await echoing(`POST /echo/7 HTTP/1.1\r\n${GOOD}Content-Length: 70000\r\n\r\n`);
    await expect.poll(() => client.statuses).toEqual([413]);
  });

  it('answers a wrong key at once and never hands its body to the route', async () => {
    const handle = vi.fn();
    const { port } = await startServer({ routes: [echoRoute({ handle })] });
    const client = rawConnection(port);
    client.send('POST /echo/7 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer bad\r\nContent-Length: 20\r\n\r\n{"a":');
    await expect.poll(() => client.statuses).toEqual([401]);
    expect(handle).not.toHaveBeenCalled();
  });

  it('says 503 and not 401 where the key cannot be looked up', async () => {
    const authenticate = () => {
      throw new ServiceError('unavailable', 'The database cannot be asked.', { cause: new Error('secret detail') });
    };
    const { url, log } = await startServer({ routes: [echoRoute({ authenticate })] });
    const answer = await post(url, { ...KEY, ...JSON_TYPE }, '{}');
    expect(answer.status).toBe(503);
    expect(JSON.stringify([answer.body, log])).not.toContain('secret detail');
  });

  it('takes the media type in any case and with a UTF-8 character set, and no other', async () => {
    const { url } = await startServer({ routes: [echoRoute()] });
    const statusOf = async (type: string) => (await post(url, { ...KEY, 'content-type': type }, '{}')).status;
    expect(await statusOf('Application/JSON')).toBe(200);
    expect(await statusOf('application/json; charset=utf-8')).toBe(200);
    expect(await statusOf('application/json;charset="UTF-8"')).toBe(200);
    expect(await statusOf('application/json; charset=utf-16')).toBe(415);
    expect(await statusOf('application/json; charset=')).toBe(415);
    expect(await statusOf('application/json; charset="utf-8')).toBe(415);
    expect(await statusOf('application/json; boundary=x')).toBe(200);
    expect(await statusOf('application/jsonx')).toBe(415);
    expect(await statusOf('application/json, text/plain')).toBe(415);
    expect(await statusOf(',')).toBe(415);
  });

  it('reads a hostile content type in no time', () => {
    // The work that was once cubic in the spaces took 35 s for 6,000 of them. Time of this process alone counts.
    const began = process.cpuUsage();
    const hostile = [' ', '"', ';', '=', 'charset=', '; charset=', 'a'].map((part) =>
      part.repeat(16_384 / part.length),
    );
    const types = hostile.flatMap((part) => [`application/json; charset=${part}""x`, `application/json;${part}`]);
    expect(types.map((type) => isMediaType(type, ['application/json']))).toEqual(types.map(() => false));
    expect(process.cpuUsage(began).user / 1_000).toBeLessThan(5_000);
  });

  it('refuses a body without a content type', async () => {
    const client = await echoing(
      'POST /echo/7 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nContent-Length: 2\r\n\r\n{}',
    );
    await expect.poll(() => client.statuses).toEqual([415]);
  });

  it('takes the scheme of the key in any case and refuses other schemes', async () => {
    const { url } = await startServer({ routes: [echoRoute()] });
    const statusOf = async (authorization: string) => (await post(url, { authorization, ...JSON_TYPE }, '{}')).status;
    expect(await statusOf('bearer good')).toBe(200);
    expect(await statusOf('BEARER  good ')).toBe(200);
    expect(await statusOf('Basic good')).toBe(401);
    expect(await statusOf('Bearer')).toBe(401);
    expect(await statusOf('Bearer good extra')).toBe(401);
  });

  it('collects the body while the key is looked up', async () => {
    const lookup = gate<{ retailerId: string }>();
    const { url } = await startServer({ routes: [echoRoute({ authenticate: () => lookup.opened })] });
    const answer = post(url, { ...KEY, ...JSON_TYPE }, 'x'.repeat(1000));
    lookup.open({ retailerId: 'store' });
    expect((await answer).body).toEqual({ id: '7', bytes: 1000 });
  });

  it('holds back a large upload until its sender is known, then takes all of it', async () => {
    const lookup = gate<string>();
    const limits = { maxBodyBytesPerCaller: 30_000_000 };
    const { port, url } = await startServer({ routes: [uploadRoute(lookup.opened)], limits });
    const client = rawConnection(port);
    client.send(`POST /echo/7 HTTP/1.1\r\n${PHOTO}Authorization: Bearer good\r\nContent-Length: 30000000\r\n\r\n`);
    client.send(Buffer.alloc(30_000_000));
    for (let round = 0; round < 50; round++) await fetch(`${url}/nowhere`);
    // Only what the kernel's buffers take has left the client.
    expect(client.unsent).toBeGreaterThan(10_000_000);
    lookup.open('store');
    await expect.poll(() => client.text.endsWith('{"id":"7","bytes":30000000}')).toBe(true);
  });

  it('lets the connection of a held back and refused upload go on', async () => {
    const lookup = gate<string>();
    const { port, url } = await startServer({ routes: [uploadRoute(lookup.opened)] });
    const client = rawConnection(port, `POST /echo/7 HTTP/1.1\r\n${PHOTO}Content-Length: 900000\r\n\r\n`);
    client.send(Buffer.alloc(450_000));
    for (let round = 0; round < 50; round++) await fetch(`${url}/nowhere`);
    lookup.open('nobody');
    await expect.poll(() => client.statuses).toEqual([401]);
    client.send(Buffer.alloc(450_000));
    client.send('GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n');
    await expect.poll(() => client.statuses).toEqual([401, 404]);
  });

  it('refuses an upload with 503 where the process holds too many bytes, and gives the room back', async () => {
    const { url } = await startServer({ routes: [echoRoute()], limits: { maxBufferedBodyBytes: 5_000 } });
    expect((await post(url, { ...KEY, ...JSON_TYPE }, 'x'.repeat(6_000))).status).toBe(503);
    for (let round = 0; round < 5; round++) {
      expect((await post(url, { ...KEY, ...JSON_TYPE }, 'x'.repeat(4_000))).status).toBe(200);
    }
    expect((await post(url, JSON_TYPE, 'x'.repeat(6_000))).status).toBe(401);
  });

  it('takes small bodies though slow senders of large ones leave no room for more of those', async () => {
    const large = uploadRoute(Promise.resolve());
    const { port, url } = await startServer({
      routes: [echoRoute(), { ...large, pattern: '/photos/:id' }],
      limits: { maxBufferedBodyBytes: 500_000, maxBufferedPhotoBytes: 500_000 },
    });
    const slow = rawConnection(port);
    slow.send(`POST /photos/7 HTTP/1.1\r\n${PHOTO}Authorization: Bearer good\r\nContent-Length: 900000\r\n\r\n`);
    slow.send(Buffer.alloc(450_000));
    const headers = { ...KEY, 'content-type': 'image/jpeg' };
    const photo = () => fetch(`${url}/photos/8`, { method: 'POST', headers, body: 'x'.repeat(100_000) });
    await expect.poll(async () => (await photo()).status).toBe(503);
    expect((await post(url, { ...KEY, ...JSON_TYPE }, 'x'.repeat(60_000))).status).toBe(200);
  });

  it('counts a large body among the small ones where its route says so, and leaves the room of photos', async () => {
    const batches = echoRoute({
      pattern: '/batches/:id',
      body: { contentTypes: ['application/json'], maxBytes: 500_000, budget: 'small' },
    });
    const large = { ...uploadRoute(Promise.resolve()), pattern: '/photos/:id' };
    const { port, url } = await startServer({
      routes: [batches, large],
      limits: { maxBufferedBodyBytes: 500_000, maxBufferedPhotoBytes: 500_000 },
    });
    const slow = rawConnection(port, `POST /batches/7 HTTP/1.1\r\n${GOOD}Content-Length: 490000\r\n\r\n`);
    slow.send(Buffer.alloc(450_000));
    const send = (path: string, type: string) =>
      fetch(url + path, { method: 'POST', headers: { ...KEY, 'content-type': type }, body: 'x'.repeat(100_000) });
    await expect.poll(async () => (await send('/batches/8', 'application/json')).status).toBe(503);
    expect((await send('/photos/8', 'image/jpeg')).status).toBe(200);
  });
});

const PHOTO = 'Host: x\r\nContent-Type: image/jpeg\r\n';

/** Takes large bodies once `lookup` has settled, from whoever knows the key. */
function uploadRoute(lookup: Promise<unknown>) {
  return echoRoute({
    authenticate: (head) => lookup.then(() => knowsKey(head)),
    body: { contentTypes: ['image/jpeg'], maxBytes: 30_000_000 },
  });
}

describe('a route that judges a request before its body', () => {
  it('does so after 401, 415 and 413, and its listener hears the end of every request once', async () => {
    const over = vi.fn();
    const admit = vi.fn<NonNullable<Route<{ retailerId: string }>['admit']>>(({ whenOver }) => {
      whenOver(over);
      return null;
    });
    const { url, port } = await startServer({ routes: [echoRoute({ admit })], limits: { bodyDeadlineMs: 50 } });
    expect((await post(url, JSON_TYPE, '{}')).status).toBe(401);
    expect((await post(url, KEY, '{}')).status).toBe(415);
    expect((await post(url, { ...KEY, ...JSON_TYPE }, 'x'.repeat(65_537))).status).toBe(413);
    expect(admit).not.toHaveBeenCalled();
    expect((await post(url, { ...KEY, ...JSON_TYPE }, '{}')).status).toBe(200);
    await expect.poll(() => over.mock.calls.length).toBe(1);
    const silent = rawConnection(port, `POST /echo/7 HTTP/1.1\r\n${GOOD}Content-Length: 20\r\n\r\n{`);
    await expect.poll(() => silent.statuses).toEqual([408]);
    await expect.poll(() => over.mock.calls.length).toBe(2);
    admit.mockImplementationOnce(({ whenOver }) => {
      whenOver(over);
      throw new ServiceError('rate_limited', 'Too many.');
    });
    expect((await post(url, { ...KEY, ...JSON_TYPE }, '{}')).status).toBe(429);
    await expect.poll(() => over.mock.calls.length).toBe(3);
  });

  it('may answer it, and then its body is never handed to the route', async () => {
    const handle = vi.fn();
    const { port } = await startServer({
      routes: [echoRoute({ handle, admit: () => ({ status: 200, body: 'known' }) })],
    });
    const client = rawConnection(port, `POST /echo/7 HTTP/1.1\r\n${GOOD}Content-Length: 20\r\n\r\n{`);
    await expect.poll(() => client.text).toMatch(/known$/);
    expect(handle).not.toHaveBeenCalled();
  });
});

describe('a request that its route refuses by the head alone', () => {
  const shed = () => new ServiceError('unavailable', 'Too many.');

  it('is told so with Retry-After before its body came, which is dropped, and the next is served', async () => {
    const observe = vi.fn();
    let isShut = true;
    const route = echoRoute({ shed: () => (isShut ? shed() : null) });
    const { port, server } = await startServer({ routes: [route], observe });
    const client = rawConnection(port, `POST /echo/7 HTTP/1.1\r\n${GOOD}Content-Length: 30\r\n\r\n`);
    await expect.poll(() => client.statuses).toEqual([503]);
    expect(client.text).toMatch(/retry-after: 1\r\n/i);
    expect(observe).toHaveBeenCalledWith('/echo/:id', 'POST', 503, expect.any(Number));
    isShut = false;
    client.send('POST /echo/9 HTTP/1.1\r\n\r\n'.padEnd(30));
    client.send(`POST /echo/8 HTTP/1.1\r\n${GOOD}Content-Length: 2\r\n\r\n{}`);
    await expect.poll(() => client.statuses).toEqual([503, 200]);
    expect([client.ended, server.inFlight]).toEqual([false, 0]);
  });

  it('is served with all care where its end is not certain or its body too long to be dropped', async () => {
    const shedding = vi.fn(shed);
    const { port } = await startServer({
      routes: [echoRoute({ shed: shedding })],
      limits: { maxDiscardedBodyBytes: 10 },
    });
    const chunked = rawConnection(port);
    chunked.send(`POST /echo/7 HTTP/1.1\r\n${GOOD}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`);
    const ambiguous = rawConnection(port);
    ambiguous.send(`POST /echo/7 HTTP/1.1\r\n${GOOD}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}`);
    const long = rawConnection(port, `POST /echo/7 HTTP/1.1\r\n${GOOD}Content-Length: 11\r\n\r\n{"a":"abcd"}`);
    await expect.poll(() => [chunked, ambiguous, long].map(({ statuses }) => statuses)).toEqual([[200], [400], [200]]);
    expect(shedding).not.toHaveBeenCalled();
  });
});
