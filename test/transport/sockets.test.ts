import { connect } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { WebSocket } from 'ws';
import { SOCKET_RETURN_MS } from '../../src/domain/restart.ts';
import { CLOSING_SOCKET_MS, Farewells, MAX_CLOSING_SOCKETS } from '../../src/transport/farewells.ts';
import type { HttpLimits } from '../../src/transport/http-limits.ts';
import type { LiveSocket, SocketBehaviour } from '../../src/transport/live-socket.ts';
import { SocketConnection } from '../../src/transport/socket-connection.ts';
import { gate, rawConnection, startServer } from '../http/support.ts';

type Data = { readonly token: string };

async function start(changes: Partial<SocketBehaviour<Data>> = {}, limits: Partial<HttpLimits> = {}) {
  const sockets: LiveSocket<Data>[] = [];
  const message = vi.fn();
  const closed = vi.fn();
  const accept = vi.fn(async ({ params }: { params: readonly string[] }) => ({ token: params[0] ?? '' }));
  const opened = vi.fn((socket: LiveSocket<Data>) => {
    sockets.push(socket);
  });
  const behaviour: SocketBehaviour<Data> = {
    path: '/live/:token',
    maxMessageBytes: 1_000,
    idleTimeoutSeconds: 60,
    accept,
    opened,
    message,
    closed,
    ...changes,
  };
  const running = await startServer({ sockets: [behaviour as SocketBehaviour<unknown>], limits });
  return {
    ...running,
    accept,
    opened,
    message,
    closed,
    sockets,
    open: (path = '/live/abc') => client(running.port, path),
    async connected() {
      const phone = client(running.port, '/live/abc');
      await expect.poll(() => phone.open).toBe(true);
      return phone;
    },
  };
}

function client(port: number, path: string) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`);
  onTestFinished(() => socket.terminate());
  const state = { socket, messages: [] as string[], closed: null as [number, string] | null, status: 0, open: false };
  socket.on('open', () => {
    state.open = true;
  });
  socket.on('message', (data: Buffer) => state.messages.push(data.toString('utf8')));
  socket.on('close', (code, reason) => {
    state.closed = [code, String(reason)];
  });
  socket.on('unexpected-response', (_, response) => {
    state.status = response.statusCode ?? 0;
  });
  socket.on('error', () => {});
  return state;
}

describe('a socket', () => {
  it('is accepted with its parameters, talks both ways, and its end is told once', async () => {
    const { open, accept, message, closed, sockets } = await start();
    const phone = open('/live/a%20b');
    await expect.poll(() => phone.open).toBe(true);
    await expect.poll(() => sockets.length).toBe(1);
    expect(accept).toHaveBeenCalledWith({ params: ['a b'], remoteAddress: '127.0.0.1' });
    expect(sockets[0]?.data).toEqual({ token: 'a b' });
    phone.socket.send('grüße');
    await expect.poll(() => message.mock.calls).toEqual([[sockets[0], 'grüße']]);
    expect(sockets[0]?.send('hallo')).toBe(true);
    await expect.poll(() => phone.messages).toEqual(['hallo']);
    phone.socket.close();
    await expect.poll(() => closed.mock.calls).toEqual([[sockets[0]]]);
  });

  it('does nothing any more after its end', async () => {
    const { open, sockets, closed, server, transport } = await start();
    const phone = open();
    await expect.poll(() => sockets.length).toBe(1);
    phone.socket.terminate();
    await expect.poll(() => closed.mock.calls.length).toBe(1);
    const [socket] = sockets;
    expect(socket?.send('late')).toBe(false);
    socket?.close(1000, '');
    socket?.subscribe('topic');
    socket?.unsubscribe('topic');
    transport.publish('topic', 'nobody');
    expect(server.openSockets).toBe(0);
  });

  it.each(['close', 'dismiss'] as const)('ends with a code and a reason where its behaviour says %s', async (how) => {
    const { connected } = await start({ message: (socket) => socket[how](4001, 'wrong token') });
    const phone = await connected();
    phone.socket.send('x');
    await expect.poll(() => phone.closed).toEqual([4001, 'wrong token']);
  });

  it('is cut by its behaviour at once, without a word', async () => {
    const { connected, server, closed } = await start({ message: (socket) => socket.cut() });
    const phone = await connected();
    phone.socket.send('x');
    await expect.poll(() => phone.closed).toEqual([1006, '']);
    expect([server.openSockets, closed.mock.calls.length]).toEqual([0, 1]);
  });

  it('is cut where too many were dismissed a moment ago, as a closed one stays open for a while', () => {
    let nowMs = 0;
    const farewells = new Farewells(() => nowMs);
    const native = { getUserData: () => ({ data: null }), end: vi.fn(), close: vi.fn() };
    const dismiss = () => new SocketConnection(native as never, farewells).dismiss(4001, 'no');
    for (let times = 0; times < MAX_CLOSING_SOCKETS + 7; times++) dismiss();
    expect([native.end.mock.calls.length, native.close.mock.calls.length]).toEqual([MAX_CLOSING_SOCKETS, 7]);
    nowMs += CLOSING_SOCKET_MS;
    dismiss();
    expect(native.end).toHaveBeenCalledTimes(MAX_CLOSING_SOCKETS + 1);
  });

  it('that sends bytes is closed with 1003', async () => {
    const { connected, message } = await start();
    const phone = await connected();
    phone.socket.send(Buffer.from('x'));
    await expect.poll(() => phone.closed).toEqual([1003, 'Text messages only']);
    expect(message).not.toHaveBeenCalled();
  });

  it('that sends too large a message or no UTF-8 is dropped', async () => {
    const { open, message } = await start();
    const [large, garbled] = [open(), open()];
    await expect.poll(() => large.open && garbled.open).toBe(true);
    large.socket.send('x'.repeat(1_001));
    garbled.socket.send(Buffer.from([0xff, 0xfe]), { binary: false });
    await expect.poll(() => [large.closed !== null, garbled.closed !== null]).toEqual([true, true]);
    expect(message).not.toHaveBeenCalled();
  });

  it.each(['opened', 'message'] as const)(
    'whose behaviour throws in %s is closed with 1011 and logged',
    async (where) => {
      const broken = vi.fn(() => {
        throw new Error('cannot greet Ada Lovelace');
      });
      const { connected, log, server } = await start({ [where]: broken });
      const phone = await connected();
      if (phone.closed === null) phone.socket.send('x');
      await expect.poll(() => phone.closed).toEqual([1011, 'Internal error']);
      expect(log).toHaveLength(1);
      expect(JSON.stringify(log)).not.toContain('Ada');
      await expect.poll(() => server.openSockets).toBe(0);
    },
  );

  it('whose behaviour fails later, in a promise, is closed with 1011 too', async () => {
    const { connected, log } = await start({ message: (async () => Promise.reject(new Error('late'))) as () => void });
    const phone = await connected();
    phone.socket.send('x');
    await expect.poll(() => phone.closed).toEqual([1011, 'Internal error']);
    expect(log).toHaveLength(1);
  });

  it('whose behaviour throws at its end harms nobody', async () => {
    const closed = vi.fn(() => {
      throw new Error('broken');
    });
    const { connected, log } = await start({ closed });
    const phone = await connected();
    phone.socket.close();
    await expect.poll(() => log.length).toBe(1);
    await connected();
  });
});

describe('an upgrade', () => {
  it.each([404, 410, 503] as const)('is refused with %i where the behaviour says so', async (refuse) => {
    const { port } = await start({ accept: async () => ({ refuse }) });
    const raw = rawConnection(port, upgradeRequest('/live/abc'));
    await expect.poll(() => raw.statuses).toEqual([refuse]);
    await expect.poll(() => raw.text).toMatch(/"success":false.*"request_id":"/);
  });

  it('is refused with 500 where accepting throws, and that is logged', async () => {
    const { open, log } = await start({ accept: async () => Promise.reject(new Error('broken')) });
    const phone = open();
    await expect.poll(() => phone.status).toBe(500);
    expect(log).toHaveLength(1);
  });

  it('is refused with 503 where accepting takes too long', async () => {
    const { open } = await start({ accept: () => new Promise(() => {}) }, { upgradeDeadlineMs: 30 });
    const phone = open();
    await expect.poll(() => phone.status).toBe(503);
  });

  it('of a client that leaves before it is accepted opens nothing', async () => {
    const decided = gate();
    const accept = vi.fn(async () => {
      await decided.opened;
      return { token: 'x' };
    });
    const { port, url, opened, open } = await start({ accept });
    const leaver = connect(port, '127.0.0.1', () => leaver.write(upgradeRequest('/live/abc')));
    await expect.poll(() => accept.mock.calls.length).toBe(1);
    leaver.destroy();
    await expect.poll(() => leaver.closed).toBe(true);
    // Once this is answered the server has read what came before it.
    await fetch(`${url}/nowhere`);
    decided.open();
    const phone = open();
    await expect.poll(() => phone.open || phone.status).toBe(true);
    expect(opened).toHaveBeenCalledOnce();
  });

  it('is what a plain request to a socket’s address is told to send', async () => {
    const { url } = await start();
    const response = await fetch(`${url}/live/abc`);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ message: 'This address takes WebSocket connections only.' });
  });

  it('agrees on no subprotocol and carries the id and the mode', async () => {
    const { port } = await start();
    const raw = rawConnection(port);
    raw.send(
      upgradeRequest('/live/abc', 'Sec-WebSocket-Protocol: a, b\r\nSec-WebSocket-Extensions: permessage-deflate\r\n'),
    );
    await expect.poll(() => raw.statuses).toEqual([101]);
    expect(raw.text).not.toMatch(/sec-websocket-(protocol|extensions)/i);
    expect(raw.text).toMatch(/x-request-id: [0-9a-f-]{36}\r\n/i);
    expect(raw.text).toMatch(/x-sameday-mode: sandbox\r\n/i);
  });
});

describe('a connection', () => {
  it('beyond the most is closed at once, upgraded ones aside', async () => {
    const { port, open } = await start({}, { maxConnections: 2 });
    const viewers = [open(), open()];
    await expect.poll(() => viewers.every((viewer) => viewer.open)).toBe(true);
    const clients = [rawConnection(port), rawConnection(port), rawConnection(port)];
    await expect.poll(() => clients.filter((each) => each.ended).length).toBe(1);
    for (const each of clients) each.send('GET /none HTTP/1.1\r\nHost: x\r\n\r\n');
    await expect.poll(() => clients.filter((each) => each.statuses.length === 1).length).toBe(2);
    for (const each of clients) each.destroy();
    const served = async () => (await fetch(`http://127.0.0.1:${port}/none`).catch(() => null))?.status;
    await expect.poll(served).toBe(404);
  });
});

describe('a connection, with the open sockets', () => {
  it('beyond the most of both is closed at once, and one is taken again when a socket ends', async () => {
    const { port, open } = await start({}, { maxOpenConnections: 2 });
    const viewers = [open(), open()];
    await expect.poll(() => viewers.every((viewer) => viewer.open)).toBe(true);
    const client = rawConnection(port);
    await expect.poll(() => client.ended).toBe(true);
    viewers[0]?.socket.close();
    const served = async () => (await fetch(`http://127.0.0.1:${port}/none`).catch(() => null))?.status;
    await expect.poll(served).toBe(404);
  });
});

describe('publishing', () => {
  it('reaches the subscribers of a topic, in order, and nobody else', async () => {
    const { open, server, transport, sockets } = await start({
      opened: (socket) => socket.subscribe(`order:${socket.data.token}`),
      message: (socket) => socket.unsubscribe(`order:${socket.data.token}`),
      closed: () => {},
    });
    expect(sockets).toEqual([]);
    const [one, two, other] = [open('/live/a'), open('/live/a'), open('/live/b')];
    await expect.poll(() => server.openSockets).toBe(3);
    for (let number = 0; number < 50; number++) transport.publish('order:a', String(number));
    transport.publish('order:b', 'b');
    const numbers = Array.from({ length: 50 }, (_, number) => String(number));
    await expect.poll(() => [one.messages, two.messages, other.messages]).toEqual([numbers, numbers, ['b']]);
    transport.publish('order:none', 'x');
  });

  it('no longer reaches one that unsubscribed', async () => {
    const left = vi.fn();
    const { connected, transport } = await start({
      opened: (socket) => socket.subscribe('t'),
      message: (socket) => {
        socket.unsubscribe('t');
        left();
      },
    });
    const phone = await connected();
    phone.socket.send('leave');
    await expect.poll(() => left.mock.calls.length).toBe(1);
    transport.publish('t', 'missed');
    const marker = await connected();
    transport.publish('t', 'seen');
    await expect.poll(() => marker.messages).toEqual(['seen']);
    expect(phone.messages).toEqual([]);
  });

  it.each(['publish', 'send'] as const)(
    'drops a reader too slow for what %s gives it, and no one else',
    async (how) => {
      const { open, server, transport, port, closed, sockets } = await start();
      const slow = rawConnection(port, upgradeRequest('/live/slow'));
      await expect.poll(() => slow.statuses).toEqual([101]);
      await expect.poll(() => sockets.length).toBe(1);
      slow.pause();
      const quick = open('/live/quick');
      await expect.poll(() => sockets.length).toBe(2);
      for (const socket of sockets) socket.subscribe('t');
      const message = 'x'.repeat(60_000);
      // The kernel's buffers take some megabytes before the first byte waits in ours; the quick one reads in between.
      let sent = 0;
      let refused = false;
      const send = () => {
        sent++;
        if (how === 'publish') transport.publish('t', message);
        else {
          const taken = sockets.map((socket) => socket.send(message));
          // Told at once, before its end is.
          if (closed.mock.calls.length === 0 && taken.includes(false)) refused = true;
        }
        return closed;
      };
      await expect.poll(send, { interval: 1 }).toHaveBeenCalled();
      expect(closed.mock.calls).toEqual([[sockets[0]]]);
      expect(refused).toBe(how === 'send');
      await expect.poll(() => quick.messages.length).toBe(sent);
      expect(server.openSockets).toBe(1);
    },
  );
});

describe('a server that stops', () => {
  it('tells its sockets at once to come back one after the other, and takes no more of them', async () => {
    const { open, server, transport, closed, port } = await start();
    const phones = [open(), open(), open()];
    await expect.poll(() => phones.every((phone) => phone.open)).toBe(true);
    const kept = rawConnection(port, 'GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n');
    await expect.poll(() => kept.statuses).toEqual([404]);
    server.stopAccepting();
    kept.send(upgradeRequest('/live/abc'));
    await expect.poll(() => kept.statuses).toEqual([404, 503]);
    const told = () => phones.map((phone) => phone.closed ?? []).toSorted();
    const inTurn = ['0', String(SOCKET_RETURN_MS), String(2 * SOCKET_RETURN_MS)].map((wait) => [1012, wait]);
    await expect.poll(told).toEqual(inTurn);
    expect(closed).toHaveBeenCalledTimes(3);
    server.close();
    expect(server.openSockets).toBe(0);
    transport.publish('t', 'nobody');
  });
});

function upgradeRequest(path: string, more = ''): string {
  const key = 'dGhlIHNhbXBsZSBub25jZQ==';
  return `GET ${path} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n${more}\r\n`;
}
