import { connect } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { bytes } from '../../src/transport/reply.ts';
import { anyone, type Route } from '../../src/transport/route.ts';
import { queuesOf, readSendQueues } from '../../src/transport/send-queues.ts';
import { UnsentReplies } from '../../src/transport/unsent.ts';
import { gate, startServer } from '../http/support.ts';

const SCRIPT = Buffer.alloc(8_000_000, 'x');
const script: Route<null> = {
  method: 'get',
  pattern: '/script',
  authenticate: anyone,
  handle: () => bytes(200, 'text/javascript', SCRIPT, { 'Cache-Control': 'max-age=60' }),
};
const small: Route<null> = { ...script, pattern: '/small', handle: () => bytes(200, 'text/plain', Buffer.from('ok')) };
const changing: Route<null> = { ...script, method: 'delete', pattern: '/change' };
const limits = { maxUnsentBytesPerNetwork: 20_000_000, maxUnsentBytes: 60_000_000 };

/** Above what the systems of both ends take of a connection that reads nothing, seen with 4 MB. */
const SYSTEM_BYTES = 12_000_000;

/** A client of an address of this machine who asks for a path and reads nothing until told. */
function asker(port: number, localAddress = '127.0.0.1', request = 'GET /script') {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  onTestFinished(() => void socket.destroy());
  socket.pause();
  socket.write(`${request} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`);
  return socket;
}

/** The body's length, of a client who reads. */
async function read(url: string, path = '/script'): Promise<[number, number]> {
  const response = await fetch(url + path);
  return [response.status, (await response.arrayBuffer()).byteLength];
}

describe('a network whose clients do not read', () => {
  async function start() {
    const observe = vi.fn();
    const running = await startServer({ routes: [script, small, changing], limits, observe });
    const statuses = () => observe.mock.calls.map((call) => Number(call[2]));
    return { ...running, statuses };
  }
  const countOf = (statuses: readonly number[], status: number) => statuses.filter((each) => each === status).length;

  it('is given a bounded number of bytes, and 503 from then on, while others and small replies are served', async () => {
    const { port, url, statuses } = await start();
    for (let client = 0; client < 30; client++) asker(port);
    await expect.poll(() => statuses().length).toBe(30);
    // The readers' own buffers take a part of each, which the sender no longer has.
    expect(countOf(statuses(), 200)).toBeLessThan(15);
    const queued = await readSendQueues(port);
    expect(queued?.get('127.0.0.1') ?? 0).toBeLessThanOrEqual(limits.maxUnsentBytesPerNetwork);
    expect(await read(url, '/small')).toEqual([200, 2]);
    const before = statuses().length;
    const other = asker(port, '127.0.0.2');
    other.resume();
    await expect.poll(() => statuses()[before]).toBe(200);
    asker(port, '127.0.0.1', 'DELETE /change');
    await expect.poll(() => statuses()[before + 1]).toBe(200);
  });

  it('is served again once they have read, or are gone', async () => {
    const { port, url, statuses } = await start();
    const clients = Array.from({ length: 20 }, () => asker(port));
    await expect.poll(() => countOf(statuses(), 503)).toBeGreaterThan(0);
    for (const client of clients.slice(0, 10)) client.resume();
    for (const client of clients.slice(10)) client.destroy();
    await expect.poll(() => read(url)).toEqual([200, SCRIPT.length]);
  });

  it('is never refused where it reads, however much that is', async () => {
    const { url, statuses } = await start();
    for (let time = 0; time < 15; time++) expect(await read(url)).toEqual([200, SCRIPT.length]);
    expect(countOf(statuses(), 503)).toBe(0);
  });
});

describe('a connection that reads nothing and goes on asking', () => {
  it.each([8_000_000, 500_000, 20_000])(
    'is cut once the system takes no more, of replies of %d bytes',
    async (size) => {
      const observe = vi.fn();
      const body = Buffer.alloc(size, 'x');
      const routes = [{ ...script, handle: () => bytes(200, 'text/javascript', body) }];
      const unbounded = { maxUnsentBytesPerNetwork: Number.MAX_SAFE_INTEGER, maxUnsentBytes: Number.MAX_SAFE_INTEGER };
      const { port } = await startServer({ routes, limits: unbounded, observe });
      const client = asker(port);
      client.on('error', () => undefined);
      const requests = 'GET /script HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(Math.ceil((3 * SYSTEM_BYTES) / size));
      client.write(requests);
      // Who reads nothing learns of the end when they write.
      const isCut = () => {
        client.write('GET /script HTTP/1.1\r\n');
        return client.destroyed;
      };
      await expect.poll(isCut).toBe(true);
      expect(observe.mock.calls.length * size).toBeLessThanOrEqual(SYSTEM_BYTES + size);
    },
  );
});

describe('what is unread', () => {
  const [one, two] = ['one', 'two'].map((network) => ({ network, peer: network })) as never as [
    { network: string; peer: string },
    { network: string; peer: string },
  ];

  it('is all that was handed over, until the system says otherwise', async () => {
    let queues: ReadonlyMap<string, number> | null = new Map([['one', 60]]);
    const unsent = new UnsentReplies({ perNetwork: 100, total: 150, small: 0 }, async () => queues);
    const handedOver = unsent.begin(one, 90);
    const ten = unsent.beginIfRead(one, 10) as () => void;
    expect(ten).toBeInstanceOf(Function);
    // Of what this process keeps the system knows nothing.
    expect(await unsent.beginIfRead(one, 1)).toBeNull();
    handedOver();
    ten();
    expect(await unsent.beginIfRead(one, 41)).toBeNull();
    expect(unsent.beginIfRead(one, 40)).toBeInstanceOf(Function);
    unsent.begin(two, 80)();
    expect(await unsent.beginIfRead(two, 20)).not.toBeNull();
    unsent.begin({ network: 'three', peer: 'three' }, 80)();
    queues = null;
    // Of the 60 that were handed over the system has none any more, and the 40 are kept here.
    expect(await unsent.beginIfRead(one, 60)).not.toBeNull();
    expect(unsent.networks).toBe(2);
  });

  it('is bounded for all networks together', async () => {
    const queues = new Map([
      ['one', 80],
      ['two', 60],
    ]);
    const unsent = new UnsentReplies({ perNetwork: 100, total: 150, small: 0 }, async () => queues);
    unsent.begin(one, 80)();
    unsent.begin(two, 60)();
    expect(await unsent.beginIfRead({ network: 'three', peer: 'three' }, 11)).toBeNull();
    expect(unsent.beginIfRead({ network: 'three', peer: 'three' }, 10)).toBeInstanceOf(Function);
  });

  it('is little for the others where a few networks have all: they are given as much again together', async () => {
    const queues = new Map(['one', 'two', '3', '4', '5', '6'].map((peer) => [peer, 100] as const));
    const unsent = new UnsentReplies({ perNetwork: 100, total: 150, small: 50 }, async () => queues);
    unsent.begin(one, 80)();
    unsent.begin(two, 70)();
    const give = async (network: string, bytes: number) => {
      const handedOver = await unsent.beginIfRead({ network, peer: network }, bytes);
      handedOver?.();
      return handedOver !== null;
    };
    expect([await give('3', 50), await give('3', 1)]).toEqual([true, false]);
    expect([await give('4', 51), await give('4', 50)]).toEqual([false, true]);
    expect([await give('5', 50), await give('6', 1)]).toEqual([true, false]);
  });

  it('behind a proxy is no more than what the proxy has unread', async () => {
    const unsent = new UnsentReplies({ perNetwork: 100, total: 1_000, small: 0 }, async () => new Map([['proxy', 30]]));
    unsent.begin({ network: 'one', peer: 'proxy' }, 100)();
    expect(await unsent.beginIfRead({ network: 'one', peer: 'proxy' }, 71)).toBeNull();
    expect(unsent.beginIfRead({ network: 'one', peer: 'proxy' }, 70)).toBeInstanceOf(Function);
  });

  it('of one who reads nothing behind a proxy counts once, however many others are behind it', async () => {
    const unsent = new UnsentReplies({ perNetwork: 100, total: 200, small: 0 }, async () => new Map([['proxy', 100]]));
    const behindProxy = (network: number) => ({ network: String(network), peer: 'proxy' });
    for (let network = 0; network < 4; network++) {
      const handedOver = await unsent.beginIfRead(behindProxy(network), 100);
      expect(handedOver).not.toBeNull();
      handedOver?.();
    }
    expect(await unsent.beginIfRead(behindProxy(4), 100)).not.toBeNull();
  });

  it('counts what was handed over while the system was asked', async () => {
    const asked = gate<ReadonlyMap<string, number>>();
    const unsent = new UnsentReplies({ perNetwork: 100, total: 1_000, small: 0 }, () => asked.opened);
    unsent.begin(one, 100)();
    const first = unsent.beginIfRead(one, 1);
    await Promise.resolve();
    const late = unsent.begin(one, 70);
    late();
    asked.open(new Map());
    expect(await first).not.toBeNull();
    expect(unsent.beginIfRead(one, 29)).toBeInstanceOf(Function);
    expect(await unsent.beginIfRead(one, 31)).not.toBeNull();
  });

  it('makes room for no more of the replies that wait for one look than there is', async () => {
    const unsent = new UnsentReplies({ perNetwork: 100, total: 1_000, small: 0 }, async () => new Map());
    unsent.begin(one, 100)();
    const begun = await Promise.all(Array.from({ length: 10 }, async () => unsent.beginIfRead(one, 100)));
    expect(begun.filter((handedOver) => handedOver !== null)).toHaveLength(1);
  });
});

it('the queues of a port are read of the system’s tables by network, in both families', () => {
  const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 336427 1
   1: 0100007F:1F90 0100007F:8163 01 00000010:00000000 01:00000014 00000000     0        0 365951 1
   2: 0100007F:1F90 0100007F:8164 04 00000001:00000000 01:00000014 00000000     0        0 0 1
   3: 0100007F:1F91 0100007F:8165 01 00000020:00000000 01:00000014 00000000     0        0 365952 1
  sl  local_address                         remote_address                        st tx_queue rx_queue
   0: 0000000000000000FFFF00000100007F:1F90 0000000000000000FFFF0000077100CB:C2A6 01 00000005:00000000 00:00000000
   1: 00000000000000000000000001000000:1F90 B80D0120020001000000000001000000:C2A6 01 00000007:00000000 00:00000000`;
  expect([...queuesOf(table, 8080)]).toEqual([
    ['127.0.0.1', 17],
    ['203.0.113.7', 5],
    ['8193:3512:1:2', 7],
  ]);
});
