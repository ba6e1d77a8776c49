import { createServer, connect as dial, type Server, type Socket } from 'node:net';

/** A TCP link to a server that can fail as links do. */
export type Link = {
  /** The server's URL with the link's address. */
  readonly url: string;
  /** Whether it drops all data in both directions without closing connections. */
  swallows(everything: boolean): void;
  /** Breaks every connection; new ones are accepted. */
  cut(): void;
  /** Number of open connections. */
  open(): number;
  /** Breaks every connection and refuses new ones. */
  close(): Promise<void>;
  /** Accepts connections again, at the same address. */
  reopen(): Promise<void>;
};

/** Opens a link to the server of a URL, on any free port. */
export async function openLink(target: string): Promise<Link> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let isSwallowing = false;
  const join = (near: Socket): void => {
    const far = dial(Number(port), hostname);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one.on('data', (bytes) => isSwallowing || other.write(bytes));
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
  let server = await listen(0);
  const own = (server.address() as { port: number }).port;
  return {
    url: Object.assign(new URL(target), { port: String(own) }).href,
    swallows: (everything) => {
      isSwallowing = everything;
    },
    cut,
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
