import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newDataDir, orderBody, type Running, runBuiltCli, startBuiltService } from '../harness/service.ts';
import { ask } from './clients.ts';

// Seven starts of the sandbox with a Postgres of its own, which a change of the rest does not break.
const folder = newDataDir();
const env = { DATA_DIR: folder.dataDir, SIMULATED_DRIVERS: '3' };
let service: Running;

beforeAll(async () => {
  service = await startBuiltService(env);
});
afterAll(async () => {
  await service.stop();
  folder.remove();
});

const sandbox = () =>
  JSON.parse(readFileSync(join(folder.dataDir, 'sandbox.json'), 'utf8')) as { retailerId: string; apiKey: string };

async function placeDemo(): Promise<string> {
  const { retailerId, apiKey } = sandbox();
  const answer = await ask(service, '/orders/create', { method: 'POST', key: apiKey, body: orderBody(retailerId) });
  expect(answer.status, answer.text).toBe(201);
  return answer.body.order.id;
}

async function statusOf(orderId: string): Promise<string> {
  return (await ask(service, `/orders/${orderId}`, { key: sandbox().apiKey })).body.order.status;
}

/** The embedded server's process, which is the service's child. */
function postmaster(): number {
  const children = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(service.pid)], { encoding: 'utf8' });
  const line = children.split('\n').find((each) => each.includes('postgres'));
  return Number(line?.trim().split(/\s+/)[0]);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test('the sandbox delivers an order by itself, with a photo on its page', async () => {
  const orderId = await placeDemo();
  await expect.poll(() => statusOf(orderId), { interval: 500 }).toBe('delivered');
  const { tracking_token: token } = (await ask(service, `/orders/${orderId}`, { key: sandbox().apiKey })).body.order;
  const photo = await fetch(`${service.url}/track/${token}/photo`);
  expect(photo.status).toBe(200);
  expect(photo.headers.get('content-type')).toBe('image/jpeg');
});

test('a second start beside it says so and where it is, and ends', async () => {
  await expect(startBuiltService(env)).rejects.toThrow(`is running already on ${folder.dataDir} at ${service.url}`);
  expect((await ask(service, '/readyz')).status).toBe(200);
});

test('SIGTERM ends it with 0 and leaves no Postgres; the next start has the same key and orders', async () => {
  const orderId = await placeDemo();
  const before = sandbox();
  const postgres = postmaster();
  expect(isAlive(postgres)).toBe(true);
  expect(await service.stop('SIGTERM')).toBe(0);
  // Its last trace may be init's to remove.
  await expect.poll(() => isAlive(postgres), { interval: 50 }).toBe(false);
  service = await startBuiltService(env);
  expect(sandbox()).toMatchObject({ retailerId: before.retailerId, apiKey: before.apiKey });
  expect(await statusOf(orderId)).not.toBe('');
});

test('after kill -9 of the service the next start has every acknowledged order', async () => {
  const orders = await Promise.all(Array.from({ length: 10 }, placeDemo));
  await service.stop('SIGKILL');
  service = await startBuiltService(env);
  // On a busy machine any of them may have gone on meanwhile, up to its end.
  for (const orderId of orders) expect(await statusOf(orderId)).not.toBe('');
});

test('after kill -9 of Postgres requests are refused, a stop still works, and the next start recovers', async () => {
  const orderId = await placeDemo();
  process.kill(postmaster(), 'SIGKILL');
  await expect.poll(async () => (await ask(service, '/readyz')).status).toBe(503);
  const { retailerId, apiKey } = sandbox();
  const refused = await ask(service, '/orders/create', { method: 'POST', key: apiKey, body: orderBody(retailerId) });
  expect([503, 504]).toContain(refused.status);
  await service.stop('SIGTERM');
  service = await startBuiltService(env);
  expect(await statusOf(orderId)).toMatch(/pending_dispatch|driver_assigned|picked_up|delivered/);
});

test('a stop answers every request that was accepted', async () => {
  const { retailerId, apiKey } = sandbox();
  const body = JSON.stringify(orderBody(retailerId));
  const answers = Array.from({ length: 50 }, () =>
    fetch(`${service.url}/orders/create`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body,
    }).then(
      async (reply) => ({ status: reply.status, id: ((await reply.json()) as { order?: { id: string } }).order?.id }),
      () => ({ status: 0, id: undefined }),
    ),
  );
  await Promise.race(answers);
  expect(await service.stop('SIGTERM')).toBe(0);
  const created = (await Promise.all(answers)).filter((answer) => answer.status === 201);
  expect(created.length).toBeGreaterThan(0);
  service = await startBuiltService(env);
  for (const { id } of created) expect(await statusOf(id ?? '')).not.toBe('');
  const stats = await runBuiltCli<{ mode: string }>({ DATA_DIR: folder.dataDir }, 'stats');
  expect(stats.mode).toBe('sandbox');
});
