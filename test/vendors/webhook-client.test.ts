import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createPlain, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createSecure } from 'node:https';
import { connect, createServer as createTcp } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test, vi } from 'vitest';
import { gatherAddresses } from '../../src/vendors/resolve-host.ts';
import { createWebhookClient, readWebhookUrl } from '../../src/vendors/webhook-client.ts';
import { closedAfterTest, listenInTest } from '../harness/closed-after-test.ts';
import { temporaryFolder } from '../sandbox/temporary.ts';

const DEADLINE_MS = 300;

type Seen = { method: string; url: string; host: string; headers: IncomingMessage['headers']; body: string };

/** Starts a receiver on loopback that records its requests. */
async function receiver(answer: RequestListener = (_request, response) => void response.writeHead(204).end()) {
  const seen: Seen[] = [];
  const server = createPlain((request, response) => {
    const heard = (body: string) => {
      const { method = '', url = '', headers } = request;
      seen.push({ method, url, host: headers.host ?? '', headers, body });
      answer(request, response);
    };
    void text(request).then(heard, () => undefined);
  });
  const { port, url } = await listenInTest(server);
  return { seen, port, url: `${url}/hook` };
}

function client(options: Partial<Parameters<typeof createWebhookClient>[0]> = {}) {
  return closedAfterTest(createWebhookClient({ sandbox: true, ...options }));
}

const unanswered = (code: string) => ({ kind: 'unanswered', code });
const post = (url: string, options?: Parameters<typeof client>[0]) =>
  client(options).post({ url, headers: { 'webhook-id': '1' }, body: '{"a":"ü"}' });

test('posts the body and the headers as they are', async () => {
  const { seen, url } = await receiver();
  expect(await post(url)).toEqual({ kind: 'answered', status: 204 });
  expect(seen).toMatchObject([
    {
      method: 'POST',
      url: '/hook',
      body: '{"a":"ü"}',
      headers: { 'webhook-id': '1', 'content-type': 'application/json', 'content-length': '10', connection: 'close' },
    },
  ]);
});

test.each([301, 302, 303, 307, 308])('does not follow a redirect (%i)', async (status) => {
  const target = await receiver();
  const { url } = await receiver(
    (_request, response) => void response.writeHead(status, { location: target.url }).end(),
  );
  expect(await post(url)).toEqual({ kind: 'answered', status });
  expect(target.seen).toEqual([]);
});

test('does not go through a proxy of the environment', async () => {
  const proxy = await receiver();
  const { seen, url } = await receiver();
  const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'ALL_PROXY'] as const;
  const before = names.map((name) => process.env[name]);
  for (const name of names) process.env[name] = `http://127.0.0.1:${proxy.port}`;
  onTestFinished(() => {
    names.forEach((name, index) => {
      if (before[index] === undefined) delete process.env[name];
      else process.env[name] = before[index];
    });
  });
  expect(await post(url)).toEqual({ kind: 'answered', status: 204 });
  expect([seen.length, proxy.seen.length]).toEqual([1, 0]);
});

test('connects to the address that was checked, though the name means another one the next time', async () => {
  const { seen, port } = await receiver();
  const answers = [['127.0.0.1'], ['10.0.0.1']];
  const asked: string[] = [];
  const resolve = async (host: string) => {
    asked.push(host);
    return answers[asked.length - 1] ?? [];
  };
  const outcome = await post(`http://store.test:${port}/hook`, { resolve });
  expect(outcome).toEqual({ kind: 'answered', status: 204 });
  expect(asked).toEqual(['store.test']);
  expect(seen).toMatchObject([{ host: `store.test:${port}` }]);
});

test('refuses a name when one of its addresses is not public', async () => {
  const { seen, port } = await receiver();
  const resolve = async () => ['127.0.0.1', '10.0.0.1'];
  const outcome = await post(`http://store.test:${port}/hook`, { resolve });
  expect(outcome).toEqual(unanswered('forbidden_address'));
  expect(seen).toEqual([]);
});

test.each(['localhost', 'a.localhost', 'LOCALHOST', 'localhost.'])(
  '%s is this machine, reached in the sandbox only',
  async (host) => {
    const { port } = await receiver();
    expect(await post(`http://${host}:${port}/`)).toEqual({ kind: 'answered', status: 204 });
    const outside = await post(`https://${host}:${port}/`, { sandbox: false });
    expect(outside).toEqual(unanswered('forbidden_address'));
  },
);

test.each([
  'https://127.0.0.1/',
  'https://127.1/',
  'https://0x7f.1/',
  'https://0x7f000001/',
  'https://2130706433/',
  'https://017700000001/',
  'https://0177.0.0.1/',
  'https://127.0.0.1./',
  'https://１２７.0.0.1/',
  'https://127%2e0.0.1/',
  'https://0/',
  'https://10.1/',
  'https://0xa9fea9fe/',
  'https://[::1]/',
  'https://[::]/',
  'https://[0:0:0:0:0:ffff:7f00:1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[fe80::1]/',
  'https://[64:ff9b::10.0.0.1]/',
  'https://[2002:7f00:1::]/',
])('outside the sandbox %s is refused', async (url) => {
  expect(readWebhookUrl(url, false)).toMatch(/not on the public Internet/);
  expect(await post(url, { sandbox: false })).toEqual(unanswered('bad_url'));
});

test.each([
  ['http://example.com/', /https/],
  ['ftp://example.com/', /https/],
  ['file:///etc/passwd', /https/],
  ['https://user:secret@example.com/', /user name/],
  ['https://[fe80::1%25eth0]/', /not a URL/],
  ['example.com/hook', /not a URL/],
  ['', /not a URL/],
  [`https://example.com/${'a'.repeat(2_000)}`, /longer/],
])('outside the sandbox %s is not a webhook’s URL', (url, why) => {
  expect(readWebhookUrl(url, false)).toMatch(why);
});

test('a private address is refused in the sandbox, too', () => {
  expect(readWebhookUrl('http://10.0.0.1/', true)).toMatch(/public/);
  expect(readWebhookUrl('http://[::ffff:127.0.0.1]/', true)).toMatch(/public/);
  expect(readWebhookUrl('http://127.0.0.1:1/', true)).toBeInstanceOf(URL);
});

test('a public URL is taken without its fragment', () => {
  expect(String(readWebhookUrl('https://Example.com/hook?a=1#top', false))).toBe('https://example.com/hook?a=1');
});

test('a receiver that never answers is cut at the deadline', async () => {
  const { url } = await listenInTest(createTcp());
  expect(await post(url, { timeoutMs: DEADLINE_MS })).toEqual(unanswered('timeout'));
});

test('a receiver that sends its status line byte by byte is cut at the deadline', async () => {
  const { url } = await listenInTest(
    createTcp((socket) => {
      const text = `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(1_000)}`;
      let sent = 0;
      const timer = setInterval(() => socket.write(text[sent++] ?? 'y'), 20);
      socket.on('error', () => undefined);
      socket.on('close', () => clearInterval(timer));
    }),
  );
  expect(await post(url, { timeoutMs: DEADLINE_MS })).toEqual(unanswered('timeout'));
});

test('a status counts though the body never ends, and the connection is cut at the deadline', async () => {
  let cut = false;
  const { url } = await receiver((_request, response) => {
    response.writeHead(200).write('…');
    response.on('close', () => {
      cut = true;
    });
  });
  expect(await post(url, { timeoutMs: 5 * DEADLINE_MS })).toEqual({ kind: 'answered', status: 200 });
  await expect.poll(() => cut).toBe(true);
});

test('a name server that never answers is cut at the deadline', async () => {
  const resolve = () => new Promise<string[]>(() => undefined);
  const outcome = await post('https://store.test/', { sandbox: false, resolve, timeoutMs: DEADLINE_MS });
  expect(outcome).toEqual(unanswered('timeout'));
});

test('of an endless body no more than the bound and what is on its way is read', async () => {
  let written = 0;
  const { url } = await receiver((_request, response) => {
    const chunk = Buffer.alloc(16 * 1024);
    const write = () => {
      while (!response.destroyed) {
        written += chunk.length;
        if (!response.write(chunk)) return void response.once('drain', write);
      }
    };
    write();
  });
  expect(await post(url, { timeoutMs: 5_000 })).toEqual({ kind: 'answered', status: 200 });
  // The rest is what the kernel buffers for a loopback connection.
  expect(written).toBeLessThan(16 * 1024 * 1024);
});

test('says why there was no answer', async () => {
  const closed = await listenInTest(createTcp());
  await closed.close();
  expect(await post(closed.url)).toEqual(unanswered('unreachable'));
  const hangsUp = await listenInTest(createTcp((socket) => socket.destroy()));
  expect(await post(hangsUp.url)).toEqual(unanswered('connection_lost'));
  const babbles = await listenInTest(createTcp((socket) => socket.end('220 mail.example ESMTP\r\n')));
  expect(await post(babbles.url)).toEqual(unanswered('bad_reply'));
  expect(await post(`https://127.0.0.1:${babbles.port}/`)).toEqual(unanswered('tls_failed'));
  const resolve = async () => [];
  expect(await post('https://no.test/', { resolve })).toEqual(unanswered('name_not_resolved'));
  const fails = () => Promise.reject(new Error('SERVFAIL'));
  expect(await post('https://no.test/', { resolve: fails })).toEqual(unanswered('name_not_resolved'));
});

test('an answer that switches protocols is no answer', async () => {
  const { url } = await listenInTest(
    createTcp((socket) => socket.end('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n')),
  );
  expect((await post(url, { timeoutMs: DEADLINE_MS })).kind).toBe('unanswered');
});

/** A receiver at 127.0.0.1 that takes no connection until it is let go; another one is asked for once a second. */
async function crowded() {
  const go = new Int32Array(new SharedArrayBuffer(4));
  const receive = `
    const { parentPort, workerData } = require('node:worker_threads');
    const server = require('node:http').createServer((_request, response) => response.writeHead(204).end());
    server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
      parentPort.postMessage(server.address().port);
      setImmediate(() => Atomics.wait(workerData, 0, 0));
    });`;
  const worker = new Worker(receive, { eval: true, workerData: go });
  onTestFinished(async () => void (await worker.terminate()));
  const [port] = (await once(worker, 'message')) as [number];
  const others = Array.from({ length: 3 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
  onTestFinished(() => others.forEach((socket) => void socket.destroy()));
  // One more than the queue holds, which is one more than its length.
  await Promise.all(others.slice(0, 2).map((socket) => once(socket, 'connect')));
  const letGo = () => {
    Atomics.store(go, 0, 1);
    Atomics.notify(go, 0);
  };
  return { port, letGo };
}

test('a receiver that is slow to connect is reached where its other family of addresses is not', async () => {
  const { port, letGo } = await crowded();
  const outcome = post(`http://store.test:${port}/`, { resolve: async () => ['127.0.0.1', '::1'] });
  // The system asks again after a second. Node gives an address up after a quarter while it knows another one.
  setTimeout(letGo, 100);
  expect(await outcome).toEqual({ kind: 'answered', status: 204 });
});

test('a receiver with both families of addresses is asked over IPv4, which every host has', async () => {
  const answer = (status: number) => createPlain((_request, response) => response.writeHead(status).end());
  const { port } = await listenInTest(answer(204));
  const other = answer(500)
    .on('error', () => undefined)
    .listen(port, '::1');
  onTestFinished(() => void other.close());
  await Promise.race([once(other, 'listening'), once(other, 'error')]);
  const resolve = async () => ['::1', '127.0.0.1'];
  expect(await post(`http://store.test:${port}/`, { resolve })).toEqual({ kind: 'answered', status: 204 });
});

test('a certificate must be of a known authority and of the name', async () => {
  const folder = temporaryFolder();
  const files = { key: join(folder, 'key.pem'), cert: join(folder, 'cert.pem') };
  const command = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -keyout ${files.key} -out ${files.cert} -subj /CN=store.test -addext subjectAltName=DNS:store.test`;
  execFileSync('openssl', command.split(' '), { stdio: 'ignore' });
  const ca = readFileSync(files.cert, 'utf8');
  const server = createSecure({ key: readFileSync(files.key), cert: ca }, (_request, response) => {
    response.writeHead(204).end();
  });
  const { port } = await listenInTest(server);
  const resolve = async () => ['127.0.0.1'];
  const url = `https://store.test:${port}/`;
  expect(await post(url, { resolve, ca })).toEqual({ kind: 'answered', status: 204 });
  expect(await post(url, { resolve })).toEqual(unanswered('tls_failed'));
  const other = await post(`https://other.test:${port}/`, { resolve, ca });
  expect(other).toEqual(unanswered('tls_failed'));
});

const later = (ms: number, addresses: string[]) =>
  new Promise<string[]>((resolve) => setTimeout(() => resolve(addresses), ms));
const [IPV4, IPV6] = ['192.0.2.1', '2001:db8::1'];

test.each([
  ['that is never answered', () => new Promise<string[]>(() => undefined), [IPV4], 500],
  ['that is answered too late', () => later(501, [IPV6]), [IPV4], 500],
  ['that is answered in time', () => later(499, [IPV6]), [IPV4, IPV6], 499],
  ['that there is none of', () => Promise.reject(new Error('ENODATA')), [IPV4], 0],
])('a family of addresses %s is waited for shortly once the other one is known', async (_what, ask, known, ms) => {
  vi.useFakeTimers({ now: 0 });
  onTestFinished(() => void vi.useRealTimers());
  let after = -1;
  const gathered = gatherAddresses([Promise.resolve([IPV4]), ask()], 500).finally(() => {
    after = Date.now();
  });
  await vi.runAllTimersAsync();
  expect(await gathered).toEqual(known);
  expect(after).toBe(ms);
});

test('a family without addresses does not shorten the wait for the other one', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const gathered = gatherAddresses([Promise.reject(new Error('ENODATA')), later(2_000, ['2001:db8::1'])], 500);
  await vi.runAllTimersAsync();
  expect(await gathered).toEqual(['2001:db8::1']);
  expect(await gatherAddresses([Promise.resolve([]), Promise.reject(new Error('ENODATA'))], 500)).toEqual([]);
});

test('opens no more connections at once than its bound', async () => {
  const { seen, url } = await receiver(() => undefined);
  const bounded = client({ timeoutMs: 5_000 });
  const outcomes = Array.from({ length: 70 }, () => bounded.post({ url, headers: {}, body: '{}' }));
  await expect.poll(() => seen.length).toBe(64);
  bounded.close();
  const kinds = (await Promise.all(outcomes)).map((outcome) => ('code' in outcome ? outcome.code : outcome.kind));
  expect(kinds.filter((kind) => kind === 'busy')).toHaveLength(6);
  expect(kinds.filter((kind) => kind === 'stopped')).toHaveLength(64);
});

test('a stop cuts requests in flight and blames no receiver', async () => {
  const { seen, url } = await receiver(() => undefined);
  const stopping = client({ timeoutMs: 30_000 });
  const outcome = stopping.post({ url, headers: {}, body: '{}' });
  await expect.poll(() => seen.length).toBe(1);
  stopping.close();
  expect(await outcome).toEqual({ kind: 'stopped' });
  expect(await stopping.post({ url, headers: {}, body: '{}' })).toEqual({ kind: 'stopped' });
});
