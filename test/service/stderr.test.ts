import { spawnSync } from 'node:child_process';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { startBuiltService } from '../harness/service.ts';
import { useService } from './world.ts';

const world = useService(startBuiltService);
const { addStore, addDriver, ask, place, openPhone, openSocket } = world;

/** Sends bytes and leaves, at once or when something has come back. */
function leave(bytes: string, after: 'sending' | 'an answer'): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(world.url).port), '127.0.0.1');
    socket.on('close', () => resolve());
    socket.on('error', () => undefined);
    if (after === 'an answer') socket.on('data', () => socket.destroy());
    socket.write(bytes, () => after === 'sending' && socket.destroy());
  });
}

const transportLines = () =>
  world
    .output()
    .split('\n')
    .filter((line) => /uWS|cork/i.test(line));

it('the transport has nothing to say of sockets, large, refused, aborted and slow requests beside an open socket', async () => {
  const store = await addStore();
  const driver = await addDriver();
  const phone = await openPhone(driver.token);
  const { body } = await place(store);
  const live = `/track/${body.order.tracking_token}/live`;
  const pages = await Promise.all(Array.from({ length: 20 }, () => openSocket(live)));
  await expect.poll(() => pages.every(({ messages }) => messages.length > 0)).toBe(true);
  await expect(openSocket(`/track/${'a'.repeat(24)}/live`)).rejects.toThrow('refused with 404');
  const script = /src="(\/assets\/docs[^"]+)"/.exec((await ask('/docs')).text)?.[1] ?? '';
  // A client that reads slower than the bytes come takes the end of the connection for a broken reply.
  const headers = { connection: 'keep-alive' };
  for (const method of ['GET', 'HEAD', 'DELETE']) await ask(script, { method, headers });
  const head = `Host: x\r\nAuthorization: Bearer ${store.apiKey}\r\nContent-Type: application/json\r\n`;
  await leave(`GET ${script} HTTP/1.1\r\nHost: x\r\n\r\n`, 'an answer');
  await leave(`POST /orders/create HTTP/1.1\r\n${head}Content-Length: 20\r\n\r\n{"a"`, 'sending');
  await leave(
    `POST /orders/create HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    'an answer',
  );
  await leave(`POST /orders/create HTTP/1.1\r\n${head}Content-Length: 99999999\r\n\r\n`, 'an answer');
  for (const page of pages.slice(1)) page.close();
  const again = await openSocket(live);
  await expect.poll(() => again.messages.length).toBeGreaterThan(0);
  expect(transportLines()).toEqual([]);
  for (const socket of [phone, again, ...pages]) socket.close();
});

it('an older Node is named before anything is loaded that it may not read', () => {
  const older = "Object.defineProperty(process,'versions',{value:{...process.versions,node:'18.20.8'}})";
  const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, ['--import', `data:text/javascript,${older}`, main]);
  expect([status, String(stderr)]).toEqual([1, 'Sameday needs Node 20.11 or newer and this is 18.20.8.\n']);
});
