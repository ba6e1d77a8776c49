import { createServer, connect as dial, type Server, type Socket } from 'node:net';
import { freePort } from './free-port.ts';

/** A TCP link to a server that can fail as links do. */
export type Link = {
  /** The server's URL with the link's address. */
  readonly url: string;
  /** Whether it drops all data in both directions without closing connections. */
  swallows(everything: boolean): void;
  /** Breaks every connection; new ones are accepted. */
  cut(): void;
  /** From now on the server says to new connections that it is a standby. */
  demote(): void;
  /** Whether the server refuses to listen, on connections that stay open. */
  refusesListen(refuses: boolean): void;
  /** Number of times that it did. */
  refused(): number;
  /** Number of messages that ask for something, on connections that were told so. */
  asked(): number;
  /** Number of open connections. */
  open(): number;
  /** Breaks every connection and refuses new ones. */
  close(): Promise<void>;
  /** Accepts connections again, at the same address. */
  reopen(): Promise<void>;
};

/** `Q`, `P` and `B`, the first byte of a simple statement, of one that is parsed and of one that was. */
const ASKS: ReadonlySet<number> = new Set([81, 80, 66]);
/** The message ParameterStatus: `S`, its length and two texts that end with a zero. */
const status = (name: string, value: string): Buffer => {
  const body = Buffer.from(`${name}\0${value}\0`);
  const head = Buffer.from([83, 0, 0, 0, body.length + 4]);
  return Buffer.concat([head, body]);
};
const PRIMARY = status('in_hot_standby', 'off');
const STANDBY = status('in_hot_standby', 'on');

/** What a primary says in its place of itself, as a standby says it. */
function asOfStandby(bytes: Buffer): Buffer {
  const at = bytes.indexOf(PRIMARY);
  return at < 0 ? bytes : Buffer.concat([bytes.subarray(0, at), STANDBY, bytes.subarray(at + PRIMARY.length)]);
}

const LISTEN = Buffer.from('listen "');

/** Opens a link to the server of a URL, on a port that it can have again. */
export async function openLink(target: string): Promise<Link> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let isSwallowing = false;
  let isStandby = false;
  let isRefusing = false;
  let asked = 0;
  let refused = 0;
  /** A statement that listens becomes one that Postgres does not know. */
  const asRefused = (bytes: Buffer): Buffer => {
    const at = isRefusing ? bytes.indexOf(LISTEN) : -1;
    if (at < 0) return bytes;
    refused++;
    bytes.write('refuse', at);
    return bytes;
  };
  const join = (near: Socket): void => {
    const far = dial(Number(port), hostname);
    const saysStandby = isStandby;
    if (saysStandby) near.on('data', ([first = 0]) => void (ASKS.has(first) && asked++));
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      const passed = (bytes: Buffer): Buffer => {
        if (one === near) return asRefused(bytes);
        return saysStandby ? asOfStandby(bytes) : bytes;
      };
      one.on('data', (bytes) => isSwallowing || other.write(passed(bytes)));
      one.on('error', () => undefined);
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  };
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const listen = (at: number): Promise<Server> =>
    new Promise((resolve, reject) => {
      const opened = createServer(join);
      opened.once('error', reject);
      opened.listen(at, '127.0.0.1', () => resolve(opened));
    });
  const own = await freePort();
  let server = await listen(own);
  return {
    url: Object.assign(new URL(target), { port: String(own) }).href,
    swallows: (everything) => {
      isSwallowing = everything;
    },
    cut,
    demote: () => {
      isStandby = true;
    },
    refusesListen: (refuses) => {
      isRefusing = refuses;
    },
    refused: () => refused,
    asked: () => asked,
    open: () => sockets.size / 2,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      cut();
      await closed;
    },
    async reopen() {
      server = await listen(own);
    },
  };
}
