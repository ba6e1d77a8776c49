import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type StripeStandIn, startStripeStandIn } from '../../src/sandbox/stripe-stand-in.ts';
import { startTwilioStandIn, type TwilioStandIn } from '../../src/sandbox/twilio-stand-in.ts';
import { runCommand } from '../harness/command-line.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { type FreshRedis, freshRedis } from '../harness/redis.ts';
import { newDataDir } from '../harness/service.ts';

type Row = { readonly setting: string; readonly status: string; readonly says: string };

const data = newDataDir();
let database: FreshDatabase;
let redis: FreshRedis | undefined;
let stripe: StripeStandIn;
let twilio: TwilioStandIn;
let env: Record<string, string>;

beforeAll(async () => {
  database = await freshDatabase();
  redis = await freshRedis();
  stripe = await startStripeStandIn({ ledgerFile: join(data.dataDir, 'stripe.jsonl') });
  twilio = await startTwilioStandIn({ ledgerFile: join(data.dataDir, 'twilio.jsonl'), authToken: 'right' });
  env = {
    DATABASE_URL: database.url,
    DATA_DIR: data.dataDir,
    BASE_URL: 'https://sameday.test',
    STRIPE_SECRET_KEY: 'sk_test_1',
    STRIPE_API_BASE: stripe.url,
    TWILIO_ACCOUNT_SID: 'AC1',
    TWILIO_AUTH_TOKEN: 'right',
    TWILIO_FROM: '+15005550006',
    TWILIO_API_BASE: twilio.url,
    ...(redis ? { REDIS_URL: redis.url } : {}),
  };
});
afterAll(async () => {
  await Promise.all([stripe.close(), twilio.close(), redis?.stop()]);
  await database.drop();
  data.remove();
});

/** The exit code of `check`, and what it says of each setting. */
async function check(changes: Record<string, string> = {}) {
  const { code, stdout } = await runCommand({ ...env, ...changes }, 'check', '--json');
  const rows = JSON.parse(stdout) as Row[];
  return { code, rows, of: (name: string) => rows.find(({ setting }) => setting.includes(name)) };
}

describe('the check of the settings', () => {
  test('tries every one that is set, charges nothing and texts nobody', async () => {
    const { code, rows, of } = await check();
    expect(rows.filter(({ status }) => status === 'failed')).toEqual([]);
    expect(code).toBe(0);
    expect(of('STRIPE')).toMatchObject({ status: 'ok', says: expect.stringContaining('test mode') });
    expect(of('schema')).toMatchObject({ says: 'is that of this version' });
    expect(of('GEOCODER_URL')).toMatchObject({ status: 'not_set' });
    expect([stripe.payments(), twilio.entries()]).toEqual([[], []]);
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
});

function tlsFiles(cert: string, key: string): Record<string, string> {
  for (const name of ['key.pem', 'key2.pem']) {
    const path = join(data.dataDir, name);
    writeFileSync(path, execFileSync('openssl', ['ecparam', '-name', 'prime256v1', '-genkey', '-noout']));
  }
  const of = ['-key', join(data.dataDir, 'key.pem'), '-subj', '/CN=test', '-days', '2'];
  execFileSync('openssl', ['req', '-x509', ...of, '-out', join(data.dataDir, 'cert.pem')], { stdio: 'ignore' });
  return { TLS_CERT_FILE: join(data.dataDir, cert), TLS_KEY_FILE: join(data.dataDir, key) };
}
