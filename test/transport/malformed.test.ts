import { describe, expect, it, vi } from 'vitest';
import { json } from '../../src/transport/reply.ts';
import { echoing, echoRoute, GOOD, gate, rawConnection, startServer } from '../http/support.ts';

const POST = 'POST /echo/1 HTTP/1.1\r\n';
/**
 * From Node 22 on the transport refuses more than 4 KB of headers, or more than 98 of them, with 431 and a page of
 * its own. On Node 20 headers in one packet may be longer and the service refuses them, with 400; after more than 98
 * it answers 431 where they are longer than 4 KB, else nothing, and cuts the connection after ten seconds.
 */
const LIMITS_HEADERS = Number(process.versions.node.split('.')[0]) >= 22;

async function start() {
  const handle = vi.fn(() => json(200, {}));
  const { port, server, log } = await startServer({ routes: [echoRoute({ handle })] });
  return { handle, server, log, client: rawConnection(port), another: () => rawConnection(port) };
}

/** The server still serves a well-formed request. */
async function expectServing(client: ReturnType<typeof rawConnection>) {
  client.send(`${POST}${GOOD}Content-Length: 2\r\n\r\n{}`);
  await expect.poll(() => client.statuses).toEqual([200]);
}

describe('a malformed request', () => {
  it.each([
    ['two lengths that differ', 'Content-Length: 2\r\nContent-Length: 4\r\n\r\n{}'],
    ['two lengths that agree', 'Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}'],
    ['a length and chunks', 'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n'],
    ['an unknown transfer encoding', 'Transfer-Encoding: gzip\r\n\r\n2\r\n{}\r\n0\r\n\r\n'],
    ['an encoding before chunked', 'Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n'],
    ['two transfer encodings', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n'],
    ['a length with letters', 'Content-Length: 2x\r\n\r\n{}'],
    ['a length with a sign', 'Content-Length: +2\r\n\r\n{}'],
    ['a negative length', 'Content-Length: -2\r\n\r\n{}'],
    ['a length too long for a number', `Content-Length: ${'9'.repeat(40)}\r\n\r\n{}`],
    ['two keys', 'Authorization: Bearer other\r\nContent-Length: 2\r\n\r\n{}'],
    ['two types', 'Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}'],
    ['two hosts', 'Host: y\r\nContent-Length: 2\r\n\r\n{}'],
    ['two idempotency keys', 'Idempotency-Key: a\r\nIdempotency-Key: b\r\nContent-Length: 2\r\n\r\n{}'],
  ])('with %s is answered 400, its connection ended and its route not asked', async (_, rest) => {
    const { client, handle, another } = await start();
    client.send(POST + GOOD + rest);
    await expect.poll(() => [client.statuses, client.ended]).toEqual([[400], true]);
    expect(handle).not.toHaveBeenCalled();
    await expectServing(another());
  });

  it('with a header twice that may come once is told which one', async () => {
    const { client } = await start();
    client.send(`${POST}${GOOD}Idempotency-Key: a\r\nIdempotency-Key: b\r\nContent-Length: 2\r\n\r\n{}`);
    await expect.poll(() => client.text).toContain('The header idempotency-key came twice and may come only once.');
  });

  it.each<readonly [string, string, number]>([
    ['twenty thousand characters of headers', `X: ${'a'.repeat(20_000)}\r\n`, LIMITS_HEADERS ? 431 : 400],
    ['five thousand characters of headers', `X: ${'a'.repeat(5_000)}\r\n`, LIMITS_HEADERS ? 431 : 200],
    ['a thousand headers', 'X: a\r\n'.repeat(1_000), 431],
    ['ninety headers', 'X: a\r\n'.repeat(90), 200],
    ...(LIMITS_HEADERS ? [['two hundred headers', 'X: a\r\n'.repeat(200), 431] as const] : []),
  ])('with %s is answered as this version of the transport does', async (_, headers, status) => {
    const { client, handle, another } = await start();
    client.send(`${POST}${GOOD}${headers}Content-Length: 2\r\n\r\n{}`);
    const isTaken = status === 200;
    await expect.poll(() => [client.statuses, client.ended]).toEqual([[status], !isTaken]);
    expect(handle).toHaveBeenCalledTimes(isTaken ? 1 : 0);
    if (!isTaken) await expectServing(another());
  });

  it.each([
    ['an escape that is none', '/echo/%zz'],
    ['an escaped NUL', '/echo/1%00'],
    ['escaped bytes that are not UTF-8', '/echo/%ff'],
    ['bytes beyond ASCII', '/echo/\xe9'],
    ['a fragment', '/echo/1#2'],
    ['a bad escape in its query', '/echo/1?a=%f'],
    ['an escaped NUL in its query', '/echo/1?a=b%00'],
    ['an escaped NUL in a name of its query', '/echo/1?%00=b'],
    ['half of a surrogate pair', '/echo/%ed%a0%80'],
    ['half of a surrogate pair in its query', '/echo/1?a=%ed%a0%80'],
    ['thousands of characters', `/echo/${'a'.repeat(3_600)}`],
  ])('with %s in its address is answered 400, and its route not asked', async (_, target) => {
    const { client, handle, another } = await start();
    client.send(Buffer.from(`POST ${target} HTTP/1.1\r\n${GOOD}Content-Length: 2\r\n\r\n{}`, 'latin1'));
    await expect.poll(() => [client.statuses, client.ended]).toEqual([[400], true]);
    expect(handle).not.toHaveBeenCalled();
    await expectServing(another());
  });

  it.each([
    ['two lengths, the first one short', 'Content-Length: 0\r\nContent-Length: 99\r\n\r\n'],
    ['an empty length', 'Content-Length:\r\n\r\n'],
    ['an unknown transfer encoding', 'Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n'],
    ['chunks that end without a line end', 'Transfer-Encoding: chunked\r\n\r\n2\r\n{}XX0\r\n\r\n'],
    ['chunks with bare line feeds', 'Transfer-Encoding: chunked\r\n\r\n2\n{}\r\n0\r\n\r\n'],
    ['a header without a name before its length', ': x\r\nContent-Length: 99\r\n\r\n'],
    ['no length', '\r\n'],
  ])('with %s hides no other request', async (_, rest) => {
    const handle = vi.fn(({ head }: { head: { params: readonly string[] } }) => json(200, head.params));
    const { port } = await startServer({ routes: [echoRoute({ handle })] });
    const client = rawConnection(port);
    client.send(`${POST}${GOOD}${rest}POST /echo/hidden HTTP/1.1\r\n${GOOD}Content-Length: 2\r\n\r\n{}`);
    await expect.poll(() => client.ended).toBe(true);
    expect(handle.mock.calls.map(([{ head }]) => head.params)).not.toContainEqual(['hidden']);
    expect(client.statuses.length).toBeLessThan(2);
  });

  it.each([
    ['no HTTP at all', '\x16\x03\x01\x02\x00 hello\r\n\r\n'],
    ['HTTP/1.0', 'GET /echo/1 HTTP/1.0\r\nHost: x\r\n\r\n'],
    ['no host', 'GET /echo/1 HTTP/1.1\r\n\r\n'],
    ['a space before a colon', 'GET /echo/1 HTTP/1.1\r\nHost: x\r\nAuthorization : Bearer good\r\n\r\n'],
    ['a hundred kilobytes of headers', `GET /echo/1 HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(100_000)}\r\n\r\n`],
    ['two hundred headers', `GET /echo/1 HTTP/1.1\r\nHost: x\r\n${'X: a\r\n'.repeat(200)}\r\n`],
  ])('with %s gets no success and harms nobody else', async (_, bytes) => {
    const { client, handle, another } = await start();
    client.send(bytes);
    await expectServing(another());
    expect(client.statuses.every((status) => status >= 400)).toBe(true);
    expect(handle).toHaveBeenCalledOnce();
  });

  it('in chunks with a bad size is answered 400 or cut, and harms nobody else', async () => {
    const { client, handle, another } = await start();
    client.send(`${POST}${GOOD}Transfer-Encoding: chunked\r\n\r\nZZ\r\n{}\r\n0\r\n\r\n`);
    await expect.poll(() => client.ended).toBe(true);
    expect(handle).not.toHaveBeenCalled();
    await expectServing(another());
  });
});

describe('an unusual request', () => {
  it('in chunks arrives whole', async () => {
    const client = await echoing(`${POST}${GOOD}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`);
    client.send('1\r\n}\r\n0\r\n\r\n');
    await expect.poll(() => client.text.endsWith('{"id":"1","bytes":2}')).toBe(true);
  });

  it('that arrives byte by byte is one request', async () => {
    const { port } = await startServer({ routes: [echoRoute()] });
    const client = rawConnection(port);
    for (const byte of `${POST}${GOOD}Content-Length: 2\r\n\r\n{}`) client.send(byte);
    await expect.poll(() => client.text.endsWith('{"id":"1","bytes":2}')).toBe(true);
  });

  it('with a long header still fits', async () => {
    const { client } = await start();
    client.send(`${POST}${GOOD}X-Long: ${'a'.repeat(3_000)}\r\nContent-Length: 2\r\n\r\n{}`);
    await expect.poll(() => client.statuses).toEqual([200]);
  });

  it('that expects 100-continue is told to go on', async () => {
    const { client } = await start();
    client.send(`${POST}${GOOD}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n`);
    await expect.poll(() => client.statuses).toEqual([100]);
    client.send('{}');
    await expect.poll(() => client.statuses).toEqual([100, 200]);
  });

  it('without a body reaches the route with an empty one', async () => {
    const client = await echoing(`${POST}${GOOD}\r\n`);
    await expect.poll(() => client.text.endsWith('{"id":"1","bytes":0}')).toBe(true);
  });

  it('after a refused body on the same connection is served', async () => {
    const { client } = await start();
    client.send(`${POST}Host: x\r\nContent-Length: 20\r\n\r\n{"a":`);
    await expect.poll(() => client.statuses).toEqual([401]);
    client.send(`123456789012345${POST}${GOOD}Content-Length: 2\r\n\r\n{}`);
    await expect.poll(() => client.statuses).toEqual([401, 200]);
  });

  it('with far more body than allowed is answered, and its connection ended', async () => {
    const { client } = await start();
    client.send(`${POST}${GOOD}Content-Length: 50000000\r\n\r\n`);
    await expect.poll(() => [client.statuses, client.ended]).toEqual([[413], true]);
  });

  it('sent before the last one was answered ends the connection, and nothing leaks', async () => {
    const work = gate();
    const handle = vi.fn(async () => {
      await work.opened;
      return json(200, {});
    });
    const { port, server } = await startServer({ routes: [echoRoute({ handle })] });
    const client = rawConnection(port, `${POST}${GOOD}Content-Length: 2\r\n\r\n{}`.repeat(2));
    await expect.poll(() => client.ended).toBe(true);
    work.open();
    await expect.poll(() => server.inFlight).toBe(0);
  });

  it('in chunks is the last one of its connection', async () => {
    const { client } = await start();
    client.send(`${POST}${GOOD}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`);
    await expect.poll(() => [client.statuses, client.ended]).toEqual([[200], true]);
    expect(client.text).toContain('Connection: close');
  });

  it('of a client that closes its side is worked on, though the reply has nowhere to go', async () => {
    const aborted = vi.fn();
    const handle = vi.fn(async ({ signal }: { signal: { onAbort(listener: () => void): void } }) => {
      await new Promise<void>((resolve) => signal.onAbort(resolve));
      aborted();
      return json(200, {});
    });
    const { port, server } = await startServer({ routes: [echoRoute({ handle })] });
    const client = rawConnection(port, `${POST}${GOOD}Content-Length: 2\r\n\r\n{}`);
    await expect.poll(() => handle).toHaveBeenCalled();
    client.halfClose();
    await expect.poll(() => aborted).toHaveBeenCalled();
    await expect.poll(() => server.inFlight).toBe(0);
  });
});
