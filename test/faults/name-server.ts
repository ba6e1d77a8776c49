import { createSocket } from 'node:dgram';
import { isIPv6 } from 'node:net';

/** The addresses of a name, by how often each family was asked for before. */
export type Answers = (asked: number) => readonly string[];

const A = 1;
const AAAA = 28;
const ANSWER = 0x8180;
/** The name as in the question. */
const SAME_NAME = 0xc00c;

/** Starts a name server on 127.0.0.1 whose answers must not be cached. Unknown names have no address. */
export async function startNameServer(
  zone: ReadonlyMap<string, Answers>,
): Promise<{ readonly address: string; close(): void }> {
  const socket = createSocket('udp4');
  const asked = new Map<string, number>();
  socket.on('message', (query, { port, address }) => {
    const labels: string[] = [];
    let at = 12;
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.toString('latin1', at + 1, at + 1 + length));
      at += length + 1;
    }
    const name = labels.join('.').toLowerCase();
    const type = query.readUInt16BE(at + 1);
    const times = asked.get(`${name} ${type}`) ?? 0;
    asked.set(`${name} ${type}`, times + 1);
    const addresses = (zone.get(name)?.(times) ?? []).filter((each) => isIPv6(each) === (type === AAAA));
    const known = type === A || type === AAAA ? addresses : [];
    const head = Buffer.alloc(12);
    head.writeUInt16BE(query.readUInt16BE(0), 0);
    head.writeUInt16BE(ANSWER, 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(known.length, 6);
    socket.send(Buffer.concat([head, query.subarray(12, at + 5), ...known.map((each) => record(each))]), port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return { address: `127.0.0.1:${socket.address().port}`, close: () => socket.close() };
}

function record(address: string): Buffer {
  const data = bytesOf(address);
  const head = Buffer.alloc(12);
  head.writeUInt16BE(SAME_NAME, 0);
  head.writeUInt16BE(data.length === 4 ? A : AAAA, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

function bytesOf(address: string): Buffer {
  if (!isIPv6(address)) return Buffer.from(address.split('.').map(Number));
  // The URL parser turns every notation into hexadecimal groups.
  const [before = '', after] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const groups = (text = ''): string[] => text.split(':').filter(Boolean);
  const zeros = Array<string>(8 - groups(before).length - groups(after).length).fill('0');
  const all = [...groups(before), ...(after === undefined ? [] : zeros), ...groups(after)];
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}

/**
 * An option in `NODE_OPTIONS` that makes a Node process ask only this name server, as the machine's own
 * settings must not change and the service has none for it.
 */
export function askingOnly(address: string): string {
  const code = `
    import dns from 'node:dns/promises';
    import { syncBuiltinESMExports } from 'node:module';
    const { Resolver } = dns;
    dns.Resolver = class extends Resolver {
      constructor(options) {
        super(options);
        this.setServers(['${address}']);
      }
    };
    syncBuiltinESMExports();`;
  return `--import data:text/javascript,${encodeURIComponent(code)}`;
}
