import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import * as queues from '../../src/app/queues.ts';
import { type StripeStandIn, startStripeStandIn } from '../../src/sandbox/stripe-stand-in.ts';
import { startTwilioStandIn, type TwilioStandIn } from '../../src/sandbox/twilio-stand-in.ts';
import { runCommand } from '../harness/command-line.ts';
import { freshDatabase, useFreshDatabase } from '../harness/database.ts';
import { type Listening, listen } from '../harness/listen.ts';
import { type FreshRedis, findRedisServer, freshRedis } from '../harness/redis.ts';
import { newDataDir } from '../harness/service.ts';

type Row = { readonly setting: string; readonly status: string; readonly says: string };

const data = newDataDir();
const database = await useFreshDatabase();
let redis: FreshRedis | undefined;
let stripe: StripeStandIn;
let twilio: TwilioStandIn;
let env: Record<string, string>;
const servers: Listening[] = [];

beforeAll(async () => {
  redis = await freshRedis();
  stripe = await startStripeStandIn({ ledgerFile: join(data.dataDir, 'stripe.jsonl') });
  twilio = await startTwilioStandIn({ ledgerFile: join(data.dataDir, 'twilio.jsonl'), authToken: 'right' });
  env = {
    DATABASE_URL: database.url,
    DATA_DIR: data.dataDir,
    STRIPE_SECRET_KEY: 'sk_test_1',
    STRIPE_API_BASE: stripe.url,
    TWILIO_ACCOUNT_SID: 'AC1',
    TWILIO_AUTH_TOKEN: 'right',
    TWILIO_FROM: '+15005550006',
    TWILIO_API_BASE: twilio.url,
    BASE_URL: await serve((_, reply) => reply.setHeader('X-Request-Id', '1').end()),
    ...(redis ? { REDIS_URL: redis.url } : {}),
  };
});
afterAll(async () => {
  await Promise.all([...servers, stripe, twilio].map((each) => each.close()));
  await redis?.stop();
  data.remove();
});

/** The exit code of `check`, and what it says of each setting. */
async function check(changes: Record<string, string> = {}, ...options: string[]) {
  const { code, stdout } = await runCommand({ ...env, ...changes }, 'check', '--json', ...options);
  const rows = JSON.parse(stdout) as Row[];
  return { code, rows, of: (name: string) => rows.find(({ setting }) => new RegExp(`\\b${name}\\b`).test(setting)) };
}

describe('the check of the settings', () => {
  test('tries every one that is set, charges nothing and texts nobody', async () => {
    const { code, rows, of } = await check();
    expect(rows.filter(({ status }) => status === 'failed')).toEqual([]);
    expect(code).toBe(0);
    expect(of('STRIPE_SECRET_KEY')).toMatchObject({ status: 'ok', says: expect.stringContaining('test mode') });
    expect(of('schema')).toMatchObject({ says: 'is that of this version' });
    expect(of('GEOCODER_URL')).toMatchObject({ status: 'not_set' });
    expect(of('BASE_URL')).toMatchObject({ status: 'ok', says: 'leads to the service' });
    expect([stripe.payments(), twilio.entries()]).toEqual([[], []]);
  });

  test('a schema of a later version that takes this one is named', async () => {
    const newer = await freshDatabase();
    onTestFinished(() => newer.drop());
    await newer.sql`insert into schema_migrations (id, name, sha256, oldest) values (9001, '9001_more.sql', '', 54)`;
    const says = 'is that of a newer version, by 9001_more.sql, which takes this one';
    expect((await check({ DATABASE_URL: newer.url })).of('schema')).toMatchObject({ status: 'ok', says });
  });

  test('for a roll, a schema on which the build before does not start is a failure', async () => {
    const older = await freshDatabase();
    onTestFinished(() => older.drop());
    await older.sql`delete from schema_migrations where id > 50`;
    const changes = { DATABASE_URL: older.url };
    expect((await check(changes)).of('schema')).toMatchObject({ status: 'ok' });
    expect((await check(changes, '--roll')).of('schema')).toMatchObject({
      status: 'failed',
      says: expect.stringContaining('on which the build before does not start: stop every process first'),
    });
    expect((await check({}, '--roll')).of('schema')).toMatchObject({ status: 'ok' });
  });

  test.each<[string, () => Record<string, string>, string, string]>([
    ['a key that Stripe refuses', () => ({ STRIPE_SECRET_KEY: 'sk_live_1' }), 'STRIPE_SECRET_KEY', 'refused'],
    ['a token that Twilio refuses', () => ({ TWILIO_AUTH_TOKEN: 'wrong' }), 'TWILIO_AUTH_TOKEN', 'refused'],
    ['a number that the account has not', () => ({ TWILIO_FROM: '+15005550007' }), 'TWILIO_FROM', 'no number of this'],
    [
      'a password that Postgres refuses, or a database that there is not',
      () => ({ DATABASE_URL: database.url.replace(/[^/]*$/, 'nowhere') }),
      'DATABASE_URL',
      'There is no database of the name in DATABASE_URL',
    ],
    [
      'a file of sslrootcert that is missing',
      () => ({ DATABASE_URL: `${database.url}?sslrootcert=/nowhere.pem` }),
      'DATABASE_URL',
      'The file of sslrootcert in DATABASE_URL cannot be read',
    ],
    ['a Redis that is away', () => ({ REDIS_URL: 'redis://127.0.0.1:1' }), 'REDIS_URL', 'Nothing listens'],
    ['a geocoder that is away', () => ({ GEOCODER_URL: 'http://127.0.0.1:1' }), 'GEOCODER_URL', 'no usable answer'],
    ['a router that is away', () => ({ ROUTER_URL: 'http://127.0.0.1:1' }), 'ROUTER_URL', 'no usable answer'],
    ['an address of something else', () => ({ TRACKING_URL: stripe.url }), 'TRACKING_URL', 'leads to something else'],
    ['a folder that cannot be made', () => ({ DATA_DIR: '/proc/nodir' }), 'DATA_DIR', 'cannot be made'],
    ['a certificate that is missing', () => tlsFiles('no.pem', 'key.pem'), 'TLS_CERT_FILE', 'TLS_CERT_FILE cannot'],
    [
      'a key of another certificate',
      () => tlsFiles('cert.pem', 'key2.pem'),
      'TLS_CERT_FILE',
      'cannot be used together',
    ],
  ])('names the setting and the remedy of %s', async (_, changes, setting, says) => {
    const { code, of } = await check(changes());
    expect(of(setting)).toMatchObject({ status: 'failed', says: expect.stringContaining(says) });
    expect(code).toBe(1);
  });

  test('says when the certificate ends, and that it ended', async () => {
    const files = tlsFiles('cert.pem', 'key.pem');
    const said = async () => (await check(files)).of('TLS_CERT_FILE');
    expect(await said()).toMatchObject({
      status: 'ok',
      says: expect.stringMatching(/^fits its key, and ends on 20\d\d-/),
    });
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3 * 86_400_000 });
    onTestFinished(() => void vi.useRealTimers());
    expect(await said()).toMatchObject({ status: 'failed', says: expect.stringMatching(/^ended on .*: renew it$/) });
  });

  test('tries the connections of the queues, where these are on Postgres', async () => {
    const refused = Object.assign(new Error('refused'), { code: '53300' });
    const tries = vi.spyOn(queues, 'tryQueuePool').mockRejectedValue(refused);
    onTestFinished(() => tries.mockRestore());
    const says = 'Postgres has no connection left for this one. Raise max_connections, or end other clients. (53300)';
    expect((await check({ REDIS_URL: '' })).of('DATABASE_URL')).toMatchObject({ status: 'failed', says });
    expect((await check({ REDIS_URL: 'redis://127.0.0.1:1' })).of('DATABASE_URL')).toMatchObject({ status: 'ok' });
  });

  test.each<[string, () => Promise<string>, string]>([
    ['nothing listens', async () => 'http://127.0.0.1:1', 'does not answer from here (ECONNREFUSED)'],
    ['a proxy finds no service', () => serve((_, reply) => reply.writeHead(502).end()), 'a proxy answers 502'],
  ])('fails at no public address while %s, as before the first start', async (_, baseUrl, says) => {
    const { code, of } = await check({ BASE_URL: await baseUrl() });
    expect(of('BASE_URL')).toMatchObject({ status: 'unknown', says: expect.stringContaining(says) });
    expect(code).toBe(0);
  });

  // Not of a shared server, whose settings are not the tests' own.
  test.skipIf(!findRedisServer() || process.env.REDIS_URL !== undefined)(
    'says what is lost where Redis writes nothing to its disk, and fails at nothing',
    async () => {
      const admin = new Redis(redis?.url as string);
      const says = async (appendonly: string, save: string) => {
        await admin.config('SET', 'appendonly', appendonly);
        await admin.config('SET', 'save', save);
        const { code, of } = await check();
        return [code, of('REDIS_URL')?.says];
      };
      try {
        expect(await says('no', '')).toEqual([0, expect.stringContaining('has neither appendonly nor a save')]);
        expect(await says('no', '60 1')).toEqual([0, 'answers']);
        expect(await says('yes', '')).toEqual([0, 'answers']);
      } finally {
        admin.disconnect();
      }
    },
  );

  test('names a user of Postgres who may not make the tables', async () => {
    const empty = await freshDatabase({ migrated: false });
    const url = new URL(empty.url);
    url.username = `weak_${url.pathname.slice(1)}`;
    url.password = 'weak';
    await empty.sql`create role ${empty.sql(url.username)} login password 'weak'`;
    try {
      const { of } = await check({ DATABASE_URL: url.href });
      expect(of('schema')).toMatchObject({ status: 'failed', says: expect.stringContaining('Make it the owner') });
    } finally {
      await empty.sql`drop role ${empty.sql(url.username)}`;
      await empty.drop();
    }
  });

  test('says on standard error what is seldom meant', async () => {
    const { stderr } = await runCommand({ ...env, TRUST_PROXY: '1' }, 'check', '--json');
    expect(stderr).toContain('TRUST_PROXY=1 believes X-Forwarded-For');
  });
});

/** The address of a server on this machine. */
async function serve(listener: RequestListener): Promise<string> {
  const server = await listen(createServer(listener));
  servers.push(server);
  return server.url;
}

function tlsFiles(cert: string, key: string): Record<string, string> {
  for (const name of ['key.pem', 'key2.pem']) {
    const path = join(data.dataDir, name);
    writeFileSync(path, execFileSync('openssl', ['ecparam', '-name', 'prime256v1', '-genkey', '-noout']));
  }
  const of = ['-key', join(data.dataDir, 'key.pem'), '-subj', '/CN=test', '-days', '2'];
  execFileSync('openssl', ['req', '-x509', ...of, '-out', join(data.dataDir, 'cert.pem')], { stdio: 'ignore' });
  return { TLS_CERT_FILE: join(data.dataDir, cert), TLS_KEY_FILE: join(data.dataDir, key) };
}
