import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { WebSocket } from 'ws';
import { ServiceError } from '../../src/domain/errors.ts';
import type { LiveSocket, SocketBehaviour } from '../../src/transport/live-socket.ts';
import { bytes, json, text } from '../../src/transport/reply.ts';
import { anyone, type Route } from '../../src/transport/route.ts';
import { rawConnection, startServer } from '../http/support.ts';

/** All below U+0100, above it, beyond 16 bits, and together. */
const TEXTS = ['é', '’', '😀', 'José’s 😀'] as const;
const GET = 'GET /thing/1 HTTP/1.1\r\nHost: x\r\n\r\n';

function thing(handle: Route['handle'], changes: Partial<Route> = {}): Route {
  return { method: 'get', pattern: '/thing/:id', authenticate: anyone, handle, ...changes };
}

/** Sends one request; its reply, whose body is whole where it has the length that was announced. */
async function exchange(port: number, request = GET) {
  const client = rawConnection(port, request);
  return readReply(client);
}

async function readReply(client: ReturnType<typeof rawConnection>) {
  const split = () => {
    const end = client.text.indexOf('\r\n\r\n');
    return { head: client.text.slice(0, end), body: client.text.slice(end + 4) };
  };
  await expect.poll(() => split().body.length === lengthOf(client.text)).toBe(true);
  const { head, body } = split();
  return { head, body: Buffer.from(body, 'latin1') };
}

const lengthOf = (reply: string) => {
  const length = /content-length: (\d+)\r\n/i.exec(reply)?.[1];
  return length === undefined ? undefined : Number(length);
};

async function startSocket(behaviour: Partial<SocketBehaviour<null>>) {
  const sockets: LiveSocket<null>[] = [];
  const { port, transport } = await startServer({
    sockets: [
      {
        path: '/live',
        maxMessageBytes: 1_000,
        idleTimeoutSeconds: 60,
        accept: async () => null,
        message: () => {},
        closed: () => {},
        ...behaviour,
        opened: (socket) => {
          sockets.push(socket as LiveSocket<null>);
          behaviour.opened?.(socket as LiveSocket<null>);
        },
      } as SocketBehaviour<unknown>,
    ],
  });
  const phone = new WebSocket(`ws://127.0.0.1:${port}/live`);
  onTestFinished(() => phone.terminate());
  const heard: { data: Buffer; isBinary: boolean }[] = [];
  const closed = vi.fn();
  phone.on('message', (data: Buffer, isBinary) => void heard.push({ data, isBinary }));
  phone.on('close', (code, reason) => closed(code, reason.toString('hex')));
  phone.on('error', () => {});
  await expect.poll(() => phone.readyState).toBe(WebSocket.OPEN);
  return { transport, sockets, phone, heard, closed };
}

const asText = (data: string) => ({ data: Buffer.from(data), isBinary: false });
const hex = (data: string) => Buffer.from(data).toString('hex');

describe.each(TEXTS)('%s goes out as UTF-8', (sent) => {
  it('in a reply, whose length counts bytes', async () => {
    const { port } = await startServer({ routes: [thing(() => json(200, { sent }))] });
    const { body } = await exchange(port);
    expect(body).toEqual(Buffer.from(JSON.stringify({ sent })));
  });

  it('in the last reply of a connection', async () => {
    const { port, server } = await startServer({ routes: [thing(() => text(200, sent))] });
    const client = rawConnection(port, 'GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n');
    await expect.poll(() => client.statuses).toEqual([404]);
    const before = client.text.length;
    server.stopAccepting();
    client.send(GET);
    await expect.poll(() => client.ended).toBe(true);
    const reply = client.text.slice(before);
    expect(lengthOf(reply)).toBe(Buffer.byteLength(sent));
    expect(Buffer.from(reply.slice(reply.indexOf('\r\n\r\n') + 4), 'latin1')).toEqual(Buffer.from(sent));
  });

  it('in the length of a reply to HEAD', async () => {
    const { port } = await startServer({ routes: [thing(() => text(200, sent))] });
    const client = rawConnection(port, GET.replace('GET', 'HEAD'));
    await expect.poll(() => client.ended).toBe(true);
    expect(client.text.endsWith('\r\n\r\n')).toBe(true);
    expect(lengthOf(client.text)).toBe(Buffer.byteLength(sent));
  });

  it('in a page, given as text or as bytes', async () => {
    const page = `<!doctype html><title>${sent}</title>`;
    const type = 'text/html; charset=utf-8';
    const asWritten = thing(() => ({ status: 200, headers: { 'Content-Type': type }, body: page }));
    const asBytes = thing(() => bytes(200, type, Buffer.from(page)), { pattern: '/bytes/:id' });
    const { port } = await startServer({ routes: [asWritten, asBytes] });
    expect((await exchange(port)).body.toString()).toBe(page);
    expect((await exchange(port, GET.replace('thing', 'bytes'))).body.toString()).toBe(page);
  });

  it('in an error, and in one that is shed', async () => {
    const error = new ServiceError('unauthorized', sent);
    const fails = thing(() => Promise.reject(error));
    const sheds = thing(() => json(200, {}), { pattern: '/shed/:id', shed: () => error });
    const { port } = await startServer({ routes: [fails, sheds], supportEmail: `${sent}@sameday.test` });
    for (const path of ['thing', 'shed']) {
      const { body } = await exchange(port, GET.replace('thing', path));
      expect(JSON.parse(body.toString()).message).toBe(`${sent} For help with keys write to ${sent}@sameday.test.`);
    }
  });

  it('in a reply that its client reads late', async () => {
    const whole = sent.repeat(8_000_000 / Buffer.byteLength(sent));
    const handle = vi.fn(() => text(200, whole));
    const { port } = await startServer({ routes: [thing(handle)] });
    const client = rawConnection(port);
    client.pause();
    client.send(GET);
    await expect.poll(() => handle).toHaveBeenCalled();
    client.resume();
    const { body } = await readReply(client);
    expect(body.equals(Buffer.from(whole))).toBe(true);
    client.send(GET);
    await expect.poll(() => handle.mock.calls.length).toBe(2);
  });

  it('in a message to a socket', async () => {
    const { heard } = await startSocket({ opened: (socket) => void socket.send(sent) });
    await expect.poll(() => heard).toEqual([asText(sent)]);
  });

  it('in a message to a topic, and in the topic’s name', async () => {
    const { heard, transport, phone, sockets } = await startSocket({
      opened: (socket) => socket.subscribe(sent),
      message: (socket) => socket.unsubscribe(sent),
    });
    transport.publish(sent, sent);
    await expect.poll(() => heard).toEqual([asText(sent)]);
    phone.send('leave');
    phone.ping();
    await new Promise((resolve) => phone.once('pong', resolve));
    transport.publish(sent, 'missed');
    sockets[0]?.send('last');
    await expect.poll(() => heard).toEqual([asText(sent), asText('last')]);
  });

  it('in the reason of a close', async () => {
    const { closed, phone } = await startSocket({ message: (socket) => socket.close(4_000, sent) });
    phone.send('end it');
    await expect.poll(() => closed.mock.calls).toEqual([[4_000, hex(sent)]]);
  });

  it('nowhere in a header, which stays ASCII', async () => {
    const { port, log } = await startServer({ routes: [thing(() => json(200, {}, { Location: sent }))] });
    const { head, body } = await exchange(port);
    expect(head).toMatch(/^HTTP\/1\.1 500 /);
    expect(head).not.toMatch(/location|[^\r\n -~]/i);
    expect(JSON.parse(body.toString()).error.code).toBe('internal');
    expect(log).toHaveLength(1);
  });
});
