import { resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  type Config,
  ConfigError,
  doubtsAbout,
  misspeltSettings,
  parseConfig,
  readCliConfig,
  readConfig,
} from '../src/config.ts';
import { urlsOfHosts } from '../src/postgres/hosts.ts';

/** What a service outside the sandbox can't start without. */
const LIVE = {
  DATABASE_URL: 'postgres://sameday@db.example/sameday',
  STRIPE_SECRET_KEY: 'sk_live_1',
  TWILIO_ACCOUNT_SID: 'AC1',
  TWILIO_AUTH_TOKEN: 'token',
  TWILIO_FROM: '+14155550100',
  TRACKING_URL: 'https://track.example',
};
type Environment = Record<string, string | undefined>;

function problemsOf(env: Environment): string[] {
  try {
    parseConfig(env);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as Error).message.split('\n').slice(1);
  }
  return [];
}

test('with nothing set it is the sandbox, complete with its defaults', () => {
  expect(parseConfig({})).toEqual({
    sandbox: true,
    roles: new Set(['api', 'worker']),
    port: 8080,
    portIsSet: false,
    host: '127.0.0.1',
    baseUrl: null,
    trackingUrl: null,
    tls: null,
    trustProxy: false,
    stopNoticeSeconds: 0,
    databaseUrl: null,
    redisUrl: null,
    dataDir: resolve('.data'),
    photoBucket: null,
    stripe: null,
    twilio: null,
    sms: { countries: new Set(['US', 'CA', 'PR', 'VI', 'GU', 'AS', 'MP']), delaySeconds: 5, perPhone: 0, perStore: 0 },
    geocoderUrl: null,
    routerUrl: null,
    tileUrl: null,
    tileAttribution: expect.stringContaining('OpenStreetMap'),
    paymentWaitMs: 3_000,
    storeRate: 0,
    unpaidOrdersAllowed: 3,
    readRate: 0,
    releasesPerHour: 10,
    supportEmail: 'support@localhost',
    metricsToken: null,
    logLevel: 'warn',
    requestLog: 'failed',
    simulatedDrivers: 20,
    idleDriversWait: true,
  } satisfies Config);
});

test('outside the sandbox the defaults are those of a server', () => {
  expect(parseConfig(LIVE)).toMatchObject({
    sandbox: false,
    host: '0.0.0.0',
    logLevel: 'info',
    requestLog: 'all',
    simulatedDrivers: 0,
    idleDriversWait: false,
    storeRate: 50,
    readRate: 100,
    databaseUrl: LIVE.DATABASE_URL,
    stopNoticeSeconds: 2,
    trackingUrl: LIVE.TRACKING_URL,
    stripe: { secretKey: 'sk_live_1', apiBase: null, rate: 25 },
    twilio: { accountSid: 'AC1', authToken: 'token', from: '+14155550100', apiBase: null, rate: 1 },
    sms: { delaySeconds: 5, perPhone: 20, perStore: 5_000 },
  });
});

test('outside the sandbox a level above info leaves out the lines of requests', () => {
  expect(parseConfig({ ...LIVE, LOG_LEVEL: 'warn' }).requestLog).toBe('off');
  expect(parseConfig({ ...LIVE, LOG_LEVEL: 'debug' }).requestLog).toBe('all');
});

const SMS = parseConfig({}).sms;

test.each<[string, Environment, Partial<Config>]>([
  ['PORT', { PORT: '0' }, { port: 0, portIsSet: true }],
  ['HOST', { HOST: '::1' }, { host: '::1' }],
  ['BASE_URL', { BASE_URL: 'https://api.example/' }, { baseUrl: 'https://api.example' }],
  ['TRACKING_URL', { TRACKING_URL: 'http://t.example/a//' }, { trackingUrl: 'http://t.example/a' }],
  ['TLS', { TLS_CERT_FILE: 'c.pem', TLS_KEY_FILE: 'k.pem' }, { tls: { certFile: 'c.pem', keyFile: 'k.pem' } }],
  ['UNPAID_ORDERS_ALLOWED', { UNPAID_ORDERS_ALLOWED: '0' }, { unpaidOrdersAllowed: 0 }],
  ['TRUST_PROXY', { TRUST_PROXY: '1' }, { trustProxy: true }],
  ['STOP_NOTICE_SECONDS', { STOP_NOTICE_SECONDS: '60' }, { stopNoticeSeconds: 60 }],
  ['REDIS_URL', { SANDBOX: '1', REDIS_URL: 'rediss://r.example:6380' }, { redisUrl: 'rediss://r.example:6380' }],
  ['DATA_DIR', { DATA_DIR: '/srv/sameday' }, { dataDir: '/srv/sameday' }],
  ['SMS_COUNTRIES', { SMS_COUNTRIES: 'GB, IE' }, { sms: { ...SMS, countries: new Set(['GB', 'IE']) } }],
  ['SMS_COUNTRIES', { SMS_COUNTRIES: '*' }, { sms: { ...SMS, countries: null } }],
  ['SMS_DELAY_SECONDS', { SMS_DELAY_SECONDS: '0' }, { sms: { ...SMS, delaySeconds: 0 } }],
  ['SMS_PER_PHONE', { SMS_PER_PHONE: '3' }, { sms: { ...SMS, perPhone: 3 } }],
  ['SMS_PER_STORE', { SMS_PER_STORE: '7' }, { sms: { ...SMS, perStore: 7 } }],
  ['GEOCODER_URL', { GEOCODER_URL: 'https://geo.example/' }, { geocoderUrl: 'https://geo.example' }],
  ['ROUTER_URL', { ROUTER_URL: 'http://osrm:5000/' }, { routerUrl: 'http://osrm:5000' }],
  ['TILE_URL', { TILE_URL: 'https://t/{z}/{x}/{y}.png' }, { tileUrl: 'https://t/{z}/{x}/{y}.png' }],
  ['TILE_ATTRIBUTION', { TILE_ATTRIBUTION: '© us' }, { tileAttribution: '© us' }],
  ['PAYMENT_WAIT_MS', { PAYMENT_WAIT_MS: '0' }, { paymentWaitMs: 0 }],
  ['SUPPORT_EMAIL', { SUPPORT_EMAIL: 'help@example.com' }, { supportEmail: 'help@example.com' }],
  ['LOG_LEVEL', { LOG_LEVEL: 'silent' }, { logLevel: 'silent', requestLog: 'off' }],
  ['REQUEST_LOG', { REQUEST_LOG: 'all', LOG_LEVEL: 'silent' }, { requestLog: 'all' }],
  ['SIMULATED_DRIVERS', { SIMULATED_DRIVERS: '200' }, { simulatedDrivers: 200 }],
  ['IDLE_DRIVERS_WAIT', { IDLE_DRIVERS_WAIT: '0' }, { idleDriversWait: false }],
  [
    'STRIPE_RATE',
    { STRIPE_RATE: '7', ...LIVE },
    { stripe: { secretKey: 'sk_live_1', apiBase: null, rate: 7, webhookSecrets: [] } },
  ],
  [
    'STRIPE_WEBHOOK_SECRET',
    { STRIPE_WEBHOOK_SECRET: 'whsec_0123456789abcdef, whsec_fedcba9876543210', ...LIVE },
    {
      stripe: {
        secretKey: 'sk_live_1',
        apiBase: null,
        rate: 25,
        webhookSecrets: ['whsec_0123456789abcdef', 'whsec_fedcba9876543210'],
      },
    },
  ],
])('%s is read', (_name, env, expected) => {
  expect(parseConfig(env)).toMatchObject(expected);
});

test.each<[string, Environment, number]>([
  ['a live key', LIVE, 25],
  ['a key of the test mode', { ...LIVE, STRIPE_SECRET_KEY: 'sk_test_1' }, 12],
  ['a key of the test mode in the sandbox', { SANDBOX: '1', STRIPE_SECRET_KEY: 'sk_test_1' }, 12],
  ['a stand-in', { SANDBOX: '1', STRIPE_SECRET_KEY: 'sk_test_1', STRIPE_API_BASE: 'http://127.0.0.1:12111' }, 0],
])('with %s charges keep what Stripe takes of an endpoint', (_name, env, rate) => {
  expect(parseConfig(env).stripe).toMatchObject({ rate });
});

test.each<[string, Environment, string[]]>([
  ['the worker alone', { ROLES: ' worker ' }, ['worker']],
  ['the API alone', { ROLES: 'api' }, ['api']],
  ['both, in any order', { ROLES: 'worker, api' }, ['worker', 'api']],
])('ROLES names %s', (_name, env, roles) => {
  expect(parseConfig({ ...LIVE, REDIS_URL: 'redis://r', ...env }).roles).toEqual(new Set(roles));
});

test('another server that speaks the vendors’ API can be named, also in the sandbox with a test key', () => {
  const env = {
    SANDBOX: '1',
    STRIPE_SECRET_KEY: 'sk_test_1',
    STRIPE_API_BASE: 'http://127.0.0.1:12111/',
    TWILIO_ACCOUNT_SID: 'AC1',
    TWILIO_AUTH_TOKEN: 'token',
    TWILIO_FROM: '+15005550006',
    TWILIO_API_BASE: 'http://127.0.0.1:12112',
  };
  expect(parseConfig(env)).toMatchObject({
    stripe: { apiBase: 'http://127.0.0.1:12111', rate: 0 },
    twilio: { apiBase: 'http://127.0.0.1:12112', rate: 0 },
  });
});

const BUCKET = { S3_BUCKET: 'proofs', S3_REGION: 'eu-west-1', S3_ACCESS_KEY_ID: 'AK', S3_SECRET_ACCESS_KEY: 's/3+' };

describe('the bucket for photos', () => {
  test('is Amazon’s by its region, or another store’s by its address alone', () => {
    const keys = { accessKeyId: 'AK', secretAccessKey: 's/3+' };
    expect(parseConfig(BUCKET)).toMatchObject({
      sandbox: true,
      photoBucket: { bucket: 'proofs', region: 'eu-west-1', endpoint: null, prefix: '', ...keys },
    });
    const other = { ...BUCKET, S3_REGION: '', S3_ENDPOINT: 'http://minio:9000/', S3_PREFIX: 'sameday/proofs' };
    expect(parseConfig(other)).toMatchObject({
      photoBucket: { region: 'us-east-1', endpoint: 'http://minio:9000', prefix: 'sameday/proofs', ...keys },
    });
  });

  test.each(Object.keys(BUCKET))('is refused without %s, since photos would go elsewhere', (name) => {
    expect(problemsOf({ ...BUCKET, [name]: '' })).toEqual([expect.stringContaining(`${name} is missing`)]);
  });

  test.each(['S3_BUCKET', 'S3_ENDPOINT', 'S3_PREFIX'])('is refused where %s stands alone', (name) => {
    const value = { S3_ENDPOINT: 'https://s3.example' }[name] ?? 'proofs';
    const problems = problemsOf({ [name]: value }).join('\n');
    for (const needed of ['S3_BUCKET', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY']) {
      expect(problems.includes(`${needed} is missing`), needed).toBe(needed !== name);
    }
  });

  test.each<[string, string]>([
    ['S3_BUCKET', 's3://proofs'],
    ['S3_BUCKET', 'arn:aws:s3:::proofs'],
    ['S3_BUCKET', 'proofs/here'],
    ['S3_REGION', 'Frankfurt'],
    ['S3_ENDPOINT', 'minio:9000'],
    ['S3_PREFIX', '../proofs'],
    ['S3_PREFIX', 'a/../b'],
    ['S3_PREFIX', '/proofs/'],
    ['S3_PREFIX', 'a//b'],
  ])('is refused with %s=%s, which is repeated nowhere', (name, value) => {
    const problems = problemsOf({ ...BUCKET, [name]: value });
    expect(problems).toEqual([expect.stringContaining(`${name} must be`)]);
    expect(problems.join()).not.toContain(value);
  });
});

test('a setting that is empty or blank is one that is not set, as compose files pass them on', () => {
  const names = [
    ...Object.keys(LIVE),
    'REDIS_URL',
    'PORT',
    'HOST',
    'ROLES',
    'SANDBOX',
    'LOG_LEVEL',
    'DATA_DIR',
    'TILE_URL',
    'S3_BUCKET',
    'S3_ENDPOINT',
    'S3_SECRET_ACCESS_KEY',
  ];
  expect(parseConfig(Object.fromEntries(names.map((name) => [name, ''])))).toEqual(parseConfig({}));
  expect(parseConfig(Object.fromEntries(names.map((name) => [name, '  '])))).toEqual(parseConfig({}));
});

describe('the sandbox is never an accident', () => {
  test.each(['DATABASE_URL', 'REDIS_URL', 'STRIPE_SECRET_KEY', 'TWILIO_ACCOUNT_SID'])('%s alone ends it', (name) => {
    const value = { ...LIVE, REDIS_URL: 'redis://r' }[name] ?? '';
    expect(problemsOf({ [name]: value })).not.toEqual([]);
    expect(parseConfig({ ...LIVE, [name]: value }).sandbox).toBe(false);
  });

  test.each(['PORT', 'BASE_URL', 'DATA_DIR', 'GEOCODER_URL', 'LOG_LEVEL'])('%s does not end it', (name) => {
    const value = { PORT: '1', LOG_LEVEL: 'info' }[name] ?? 'http://x.example';
    expect(parseConfig({ [name]: value }).sandbox).toBe(true);
  });

  test('outside it every missing setting is named, at once', () => {
    const text = problemsOf({ SANDBOX: '0' }).join('\n');
    for (const name of [
      'STRIPE_SECRET_KEY',
      'TWILIO_ACCOUNT_SID',
      'TWILIO_AUTH_TOKEN',
      'TWILIO_FROM',
      'DATABASE_URL',
    ]) {
      expect(text).toContain(`${name} is missing`);
    }
    expect(text).toContain('BASE_URL is missing');
    expect(problemsOf({ SANDBOX: '0' })).toHaveLength(6);
  });

  test.each(Object.keys(LIVE))('outside it a start without %s is refused', (name) => {
    expect(problemsOf({ ...LIVE, SANDBOX: '0', [name]: undefined })).toHaveLength(1);
  });

  test.each(['sk_live_1', 'rk_live_1', ' sk_live_1 '])('it is refused with the live key "%s"', (key) => {
    expect(problemsOf({ SANDBOX: '1', STRIPE_SECRET_KEY: key })).toEqual([
      '  - SANDBOX=1 is refused with a live STRIPE_SECRET_KEY',
    ]);
  });

  test('it works beside any database and any Redis', () => {
    const env = { SANDBOX: '1', DATABASE_URL: LIVE.DATABASE_URL, REDIS_URL: 'redis://r' };
    expect(parseConfig(env)).toMatchObject({ sandbox: true, stripe: null, twilio: null, simulatedDrivers: 20 });
  });

  test('in it half of Twilio’s settings are refused, since texts would go nowhere', () => {
    expect(problemsOf({ SANDBOX: '1', TWILIO_ACCOUNT_SID: 'AC1', TWILIO_FROM: '+1' })).toEqual([
      '  - TWILIO_AUTH_TOKEN is missing',
    ]);
  });

  test('simulated drivers drive nowhere else', () => {
    expect(problemsOf({ ...LIVE, SIMULATED_DRIVERS: '1' })).toEqual(['  - SIMULATED_DRIVERS is for the sandbox only']);
  });
});

test('roles run apart only where jobs and rows can meet', () => {
  expect(problemsOf({ ...LIVE, ROLES: 'api' })).toEqual([
    expect.stringContaining('ROLES with one role needs REDIS_URL'),
  ]);
  expect(problemsOf({ SANDBOX: '1', ROLES: 'worker', REDIS_URL: 'redis://r' })).toEqual([
    expect.stringContaining('ROLES with one role needs DATABASE_URL'),
  ]);
});

test.each<[string, string]>([
  ['PORT', '65536'],
  ['PORT', '-1'],
  ['PORT', '80.5'],
  ['PORT', '0x50'],
  ['PORT', 'http'],
  ['PAYMENT_WAIT_MS', '10001'],
  ['SIMULATED_DRIVERS', '201'],
  ['STRIPE_RATE', 'fast'],
  ['TWILIO_RATE', '-1'],
  ['SMS_COUNTRIES', 'US,Canada'],
  ['SMS_COUNTRIES', ','],
  ['SMS_DELAY_SECONDS', '61'],
  ['SMS_PER_PHONE', '-1'],
  ['SMS_PER_STORE', '1000001'],
  ['SANDBOX', 'true'],
  ['TRUST_PROXY', 'yes'],
  ['LOG_LEVEL', 'verbose'],
  ['REQUEST_LOG', 'some'],
  ['IDLE_DRIVERS_WAIT', 'on'],
  ['BASE_URL', 'api.example'],
  ['BASE_URL', 'ftp://api.example'],
  ['TRACKING_URL', 'javascript:alert(1)'],
  ['GEOCODER_URL', '/search'],
  ['ROUTER_URL', 'osrm:5000'],
  ['DATABASE_URL', 'mysql://db'],
  ['DATABASE_URL', 'postgres://u:a#b@db/d'],
  ['DATABASE_URL', 'postgres://u@db:5432,other:x/d'],
  ['DATABASE_URL', 'postgres://u:1#b@db/d'],
  ['DATABASE_URL', 'postgres://u:1%4@db/d'],
  ['REDIS_URL', 'redis://:a#b@r'],
  ['STRIPE_SECRET_KEY', 'pk_live_1'],
  ['REDIS_URL', 'http://r'],
  ['STRIPE_API_BASE', 'stripe'],
  ['STRIPE_WEBHOOK_SECRET', 'whsec_0123456789abcdef'],
  ['TWILIO_API_BASE', 'twilio'],
  ['ROLES', 'api,boss'],
  ['ROLES', ','],
  ['TLS_CERT_FILE', 'cert.pem'],
  ['TLS_KEY_FILE', 'key.pem'],
])('%s=%s stops the start by its name', (name, value) => {
  expect(problemsOf({ SANDBOX: '1', [name]: value })).toEqual([expect.stringContaining(name)]);
});

test('DATABASE_URL may name several hosts, each with its port', () => {
  const url = 'postgres://u:a,b@db:5432,[::1]:5433,other/d?sslmode=require';
  expect(problemsOf({ ...LIVE, DATABASE_URL: url })).toEqual([]);
  expect(urlsOfHosts(url)).toEqual([
    'postgres://u:a,b@db:5432/d?sslmode=require',
    'postgres://u:a,b@[::1]:5433/d?sslmode=require',
    'postgres://u:a,b@other/d?sslmode=require',
  ]);
});

test('a number of the sender without its country, and an id that is no account, stop the start', () => {
  expect(problemsOf({ ...LIVE, TWILIO_FROM: '4155550199' })).toEqual([expect.stringContaining('TWILIO_FROM')]);
  expect(problemsOf({ ...LIVE, TWILIO_ACCOUNT_SID: 'SK1' })).toEqual([expect.stringContaining('TWILIO_ACCOUNT_SID')]);
});

test('a setting that is misspelt is named with the one that is meant', () => {
  const nearest = (name: string) => /Is (\w+) meant/.exec(misspeltSettings({ [name]: '1' }).join())?.[1];
  expect(nearest('TRUST_PROXI')).toBe('TRUST_PROXY');
  expect(nearest('trust_proxy')).toBe('TRUST_PROXY');
  expect(nearest('STRIPE_SECRETKEY')).toBe('STRIPE_SECRET_KEY');
  const others = [
    'PATH',
    'HOSTNAME',
    'HOME',
    'PWD',
    'SHELL',
    'NODE_ENV',
    'POSTGRES_PASSWORD',
    'DATABASE_NAME',
    'PORTS',
  ];
  for (const name of [...others, ...Object.keys(LIVE)]) expect(nearest(name), name).toBeUndefined();
});

test('a setting that is seldom meant is told: a port that believes everybody, an address without https', () => {
  const told = (env: Environment) => doubtsAbout(parseConfig({ ...LIVE, ...env })).map((line) => line.split(/[ =]/)[0]);
  expect(told({ TRUST_PROXY: '1' })).toEqual(['TRUST_PROXY', 'SUPPORT_EMAIL']);
  expect(told({ TRUST_PROXY: '1', HOST: '127.0.0.1', SUPPORT_EMAIL: 'help@x.example' })).toEqual([]);
  const support = { SUPPORT_EMAIL: 'help@x.example' };
  expect(told({ ...support, BASE_URL: 'http://x.example' })).toEqual(['BASE_URL']);
  expect(told({ ...support, BASE_URL: 'https://x.example/delivery/' })).toEqual(['BASE_URL']);
  for (const BASE_URL of ['http://localhost:8080', 'http://[::1]', 'HTTPS://X.example:443/']) {
    expect(told({ ...support, BASE_URL }), BASE_URL).toEqual([]);
  }
  for (const key of ['sk_test_1', 'rk_test_1']) {
    expect(told({ ...support, STRIPE_SECRET_KEY: key })).toEqual(['STRIPE_SECRET_KEY']);
    expect(told({ SANDBOX: '1', STRIPE_SECRET_KEY: key })).toEqual([]);
  }
  const borrowed = { GEOCODER_URL: 'https://nominatim.openstreetmap.org', SUPPORT_EMAIL: 'help@x.example' };
  expect(told(borrowed)).toEqual(['GEOCODER_URL']);
  expect(doubtsAbout(parseConfig({}))).toEqual([]);
});

test('a start without a setting names the variable that was meant to be it', () => {
  const { DATABASE_URL, ...others } = LIVE;
  const [missing, meant] = problemsOf({ ...others, DATABSE_URL: DATABASE_URL });
  expect(missing).toContain('DATABASE_URL is missing');
  expect(meant).toContain('DATABSE_URL is no setting and counts for nothing. Is DATABASE_URL meant?');
});

test('a setting that is unusable is not missing, too', () => {
  for (const [name, value] of Object.entries({ DATABASE_URL: 'postgres://u:a/b@db/d', TRACKING_URL: 'x.example' })) {
    expect(problemsOf({ ...LIVE, [name]: value })).toEqual([expect.stringContaining(name)]);
  }
  expect(problemsOf({ ...LIVE, ROLES: 'api', REDIS_URL: 'r:6379' })).toEqual([expect.stringContaining('REDIS_URL')]);
});

test('one message lists every problem, one a line, and repeats no value', () => {
  const env = { SANDBOX: '0', PORT: 'secret1', LOG_LEVEL: 'secret2', REDIS_URL: 'secret3', ROLES: 'secret4' };
  expect(problemsOf(env)).toHaveLength(10);
  expect(problemsOf(env).join('\n')).not.toContain('secret');
});

describe('the process’s own environment', () => {
  beforeEach(() => {
    for (const name of [...Object.keys(LIVE), 'SANDBOX', 'REDIS_URL', 'ROLES', 'PORT', 'BASE_URL'])
      vi.stubEnv(name, '');
  });
  afterEach(() => vi.unstubAllEnvs());

  test('is where the service reads its settings', () => {
    vi.stubEnv('PORT', '4321');
    expect(readConfig()).toMatchObject({ sandbox: true, port: 4321 });
  });

  test('serves the command line without Stripe, Twilio or an address, and says whether it is the sandbox', () => {
    expect(readCliConfig()).toMatchObject({ sandbox: true, databaseUrl: null });
    vi.stubEnv('DATABASE_URL', LIVE.DATABASE_URL);
    expect(readCliConfig()).toMatchObject({ sandbox: false, databaseUrl: LIVE.DATABASE_URL });
    vi.stubEnv('SANDBOX', '1');
    expect(readCliConfig()).toMatchObject({ sandbox: true, databaseUrl: LIVE.DATABASE_URL });
  });
});
