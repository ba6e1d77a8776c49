import { createServer, connect as dial, type Socket } from 'node:net';

/**
 * When a connection with a creating statement is cut. `sent`: as soon as the server has the statement, which
 * then commits unheard. `replied`: while the reply is in flight. `late`: before the server has it, which gets
 * it only later.
 */
export const CUTS = ['sent', 'replied', 'late'] as const;
export type Cut = (typeof CUTS)[number];

/** The service's connection to Postgres, which can be cut at the worst moment. */
export type DatabaseProxy = {
  /** Cuts the connection of the next creating statement; resolves once it is cut. */
  cutNext(cut: Cut, lateMs: number): Promise<void>;
  close(): void;
};

/** A statement ends with Execute and Sync, as Postgres's protocol writes them. */
const END_OF_STATEMENT = Buffer.from('450000000900000000005300000004', 'hex');
const CUT_MS = 30_000;

/**
 * Starts a proxy to the database and returns its URL. `application` is the name of the connections that carry
 * creating statements.
 */
export async function openProxy(
  target: string,
  application: string,
): Promise<DatabaseProxy & { readonly url: string }> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let armed: { cut: Cut; lateMs: number; done: () => void } | null = null;

  const server = createServer((near) => {
    const far = dial(Number(port), hostname);
    let creates: boolean | null = null;
    let tail: Buffer = Buffer.alloc(0);
    let isCut = false;
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one.setNoDelay(true);
      one.on('error', () => undefined);
      one.on('close', () => {
        sockets.delete(one);
        if (!isCut) other.destroy();
      });
    }
    const carriesStatement = (bytes: Buffer): boolean => {
      // The first message of a connection names its application.
      creates ??= bytes.includes(`application_name\0${application}`);
      if (!creates) return false;
      tail = Buffer.concat([tail, bytes]).subarray(-END_OF_STATEMENT.length);
      return tail.equals(END_OF_STATEMENT);
    };
    near.on('data', (bytes) => {
      if (isCut) return;
      const isStatement = carriesStatement(bytes);
      if (!armed || !isStatement) {
        far.write(bytes);
        return;
      }
      const { cut, lateMs, done } = armed;
      armed = null;
      isCut = true;
      const breakBoth = (): void => {
        near.destroy();
        far.destroy();
        done();
      };
      if (cut === 'late') {
        near.destroy();
        done();
        setTimeout(() => far.end(bytes), lateMs);
      } else if (cut === 'replied') {
        far.write(bytes);
        far.once('data', breakBoth);
        far.once('close', breakBoth);
      } else far.write(bytes, breakBoth);
    });
    far.on('data', (bytes) => {
      if (!isCut) near.write(bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const own = (server.address() as { port: number }).port;
  return {
    url: Object.assign(new URL(target), { port: String(own) }).href,
    cutNext: (cut, lateMs) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error('No creating statement came to be cut')), CUT_MS);
        const done = (): void => {
          clearTimeout(timer);
          resolve();
        };
        armed = { cut, lateMs, done };
      }),
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
