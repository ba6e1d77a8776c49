import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { idempotencyKeyOf } from '../../src/http/idempotency.ts';
import { json } from '../../src/transport/reply.ts';
import { deployFile } from '../harness/deploy-file.ts';
import { findHaproxy, hasHaproxy, startHaproxy } from '../harness/haproxy.ts';
import { STEP_MS } from '../harness/patience.ts';
import { echoRoute, GOOD, rawConnection, startServer } from '../http/support.ts';

const folder = mkdtempSync(join(tmpdir(), 'sameday-haproxy-'));
const certificate = join(folder, 'sameday.pem');

beforeAll(() => {
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const subject = ['-nodes', '-newkey', 'rsa:2048', '-days', '2', '-subj', '/CN=localhost'];
  execFileSync('openssl', ['req', '-x509', ...subject, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  writeFileSync(certificate, readFileSync(cert, 'utf8') + readFileSync(key, 'utf8'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.skipIf(!hasHaproxy())(
  'HAProxy takes the files of deploy/ as they are, one below the other, without a warning',
  async () => {
    const file = join(folder, 'haproxy.cfg');
    const all = [
      deployFile('haproxy.cfg', { '/etc/haproxy/sameday.pem': certificate }),
      deployFile('haproxy-postgres.cfg', {}),
      deployFile('haproxy-redis.cfg', {}),
    ];
    writeFileSync(file, all.join('\n'));
    const { stderr } = await promisify(execFile)(findHaproxy() ?? '', ['-c', '-f', file]);
    expect(stderr).not.toMatch(/WARNING|ALERT/);
  },
);

test.skipIf(!hasHaproxy())('HAProxy shows no metrics, which would be those of either process by turns', async () => {
  const { port } = await startServer({ routes: [] });
  const haproxy = await startHaproxy(folder, [port, port]);
  onTestFinished(haproxy.stop);
  expect((await fetch(`${haproxy.url}/metrics`)).status).toBe(403);
});

test.skipIf(!hasHaproxy())('a key with bytes outside ASCII is 400 behind HAProxy, wherever they are', async () => {
  const { port } = await startServer({
    routes: [echoRoute({ handle: ({ head }) => json(200, { key: idempotencyKeyOf(head) }) })],
  });
  const haproxy = await startHaproxy(folder, [port, port]);
  onTestFinished(haproxy.stop);
  const send = async (key: string | Buffer) => {
    const client = rawConnection(Number(new URL(haproxy.url).port));
    const head = `POST /echo/1 HTTP/1.1\r\n${GOOD}Content-Length: 2\r\nIdempotency-Key: `;
    client.send(Buffer.concat([Buffer.from(head), Buffer.from(key), Buffer.from('\r\n\r\n{}')]));
    await expect.poll(() => client.text).toMatch(/\}$/);
    return client;
  };
  for (const key of ['k-1', '(k)', '~ !']) expect((await send(key)).text).toContain(JSON.stringify({ key }));
  for (const key of ['k-ä', 'ä-k', 'k-ö', 'k-ä-k', 'ä', Buffer.from('k-\xe4', 'latin1')]) {
    const { statuses, text } = await send(key);
    expect(statuses, String(key)).toEqual([400]);
    expect(text).toContain('"field":"Idempotency-Key"');
  }
});

test.skipIf(!hasHaproxy())(
  'HAProxy sends again what a process took without a reply only where the key is read',
  async () => {
    const taken: string[] = [];
    const server = createServer(({ method, url }, reply) => {
      if (url === '/readyz') return void reply.end();
      taken.push(`${method} ${url}`);
      reply.destroy();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const haproxy = await startHaproxy(folder, [port, port]);
    onTestFinished(async () => {
      await haproxy.stop();
      server.close();
    });
    const timesSent = async (path: string, headers: Record<string, string>) => {
      taken.length = 0;
      const method = 'POST';
      await fetch(`${haproxy.url}${path}`, { method, headers, body: '{}', signal: AbortSignal.timeout(STEP_MS) });
      return new Set(taken).size === 1 ? taken.length : taken;
    };
    const keyed = { 'Idempotency-Key': 'k-1' };
    expect(await timesSent('/orders/create', keyed)).toBeGreaterThan(1);
    expect(await timesSent('/orders/x/cancel', keyed)).toBeGreaterThan(1);
    expect(await timesSent('/orders/create', {})).toBe(1);
    expect(await timesSent('/webhooks', keyed)).toBe(1);
    expect(await timesSent('/webhooks/x/rotate-secret', keyed)).toBe(1);
  },
);
