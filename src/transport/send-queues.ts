import { readFile } from 'node:fs/promises';
import { networkOf } from '../domain/network.ts';

/** Of a socket: local port, remote address, and the bytes that its peer has not acknowledged. All are hex. */
const SOCKET = /^ *\d+: [0-9A-F]+:([0-9A-F]{4}) ([0-9A-F]+):[0-9A-F]{4} [0-9A-F]{2} ([0-9A-F]{8}):/gm;
const NOTHING = '00000000';

/**
 * The bytes that Linux holds for the peers of a port and could not pass on, by network, those of connections
 * that are closed already included; null on other systems.
 */
export async function readSendQueues(port: number): Promise<ReadonlyMap<string, number> | null> {
  const [ipv4, ipv6] = await Promise.all(['tcp', 'tcp6'].map(tableOf));
  if (!ipv4) return null;
  return queuesOf(`${ipv4}\n${ipv6 ?? ''}`, port);
}

function tableOf(name: string): Promise<string | null> {
  return readFile(`/proc/self/net/${name}`, 'latin1').catch(() => null);
}

/** As `readSendQueues`, of the text of such a table. */
export function queuesOf(table: string, port: number): Map<string, number> {
  const own = port.toString(16).toUpperCase().padStart(4, '0');
  const queues = new Map<string, number>();
  for (const [, local, remote = '', bytes = NOTHING] of table.matchAll(SOCKET)) {
    if (local !== own || bytes === NOTHING) continue;
    const network = networkOf(addressOf(remote));
    queues.set(network, (queues.get(network) ?? 0) + Number.parseInt(bytes, 16));
  }
  return queues;
}

/** Words of 32 bits in the order of the machine, which is little-endian wherever the transport runs. */
function addressOf(hex: string): string {
  const bytes = Buffer.from(hex, 'hex').swap32();
  if (bytes.length === 4) return bytes.join('.');
  return Array.from({ length: 8 }, (_, group) => bytes.readUInt16BE(2 * group).toString(16)).join(':');
}
