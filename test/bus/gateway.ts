import { createServer, connect as dial, type Socket } from 'node:net';
import { freePort } from '../harness/free-port.ts';

/**
 * Starts a TCP gateway in front of a server, which can be cut: connections break and new ones are refused
 * until it is restored.
 */
export type Gateway = { readonly url: string; cut(): Promise<void>; restore(): Promise<void>; close(): Promise<void> };

export async function openGateway(serverUrl: string): Promise<Gateway> {
  const target = new URL(serverUrl);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = dial(Number(target.port), target.hostname);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    client.pipe(upstream).pipe(client);
  });
  const port = await freePort();
  const listen = () => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  await listen();
  const url = new URL(serverUrl);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  const cut = async () => {
    if (!server.listening) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  return { url: url.href, cut, restore: listen, close: cut };
}
