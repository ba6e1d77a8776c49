import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DEFAULT_STOP_NOTICE_SECONDS, parseConfig } from '../../src/config.ts';
import { STOP_DEADLINE_MS } from '../../src/runtime/signals.ts';
import { COMPOSE, type ComposeService, PASSWORDS, readCompose, readTwo, services } from './compose-file.ts';

const LIVE = {
  ...PASSWORDS,
  SANDBOX: '0',
  STRIPE_SECRET_KEY: 'sk_live_1',
  TWILIO_ACCOUNT_SID: `AC${'1'.repeat(32)}`,
  TWILIO_AUTH_TOKEN: 'token',
  TWILIO_FROM: '+14155550100',
  BASE_URL: 'https://delivery.example.com',
};

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
    ['BASE_URL', 'BASE_URL is missing'],
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
      const graceMs = Number.parseInt(service.stop_grace_period ?? '', 10) * 1_000;
      expect(graceMs).toBeGreaterThan(DEFAULT_STOP_NOTICE_SECONDS * 1_000 + STOP_DEADLINE_MS);
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

describe('docker-compose.two.yml', () => {
  const root = join(import.meta.dirname, '../..');
  const haproxyCfg = readFileSync(join(root, 'deploy/haproxy.cfg'), 'utf8');
  const variables = { ...LIVE, TLS_PEM: '/etc/sameday.pem' };

  it('adds a second API process that differs in its address alone', () => {
    const { api, 'api-b': second, worker } = readTwo(variables);
    const { ports, ...alike } = api as ComposeService;
    expect(ports).toHaveLength(1);
    expect({ ...second, networks: null }).toEqual({ ...alike, networks: null });
    expect(parseConfig(second?.environment ?? {})).toMatchObject({ roles: new Set(['api']), trustProxy: true });
    expect(worker).toEqual(services(variables).worker);
  });

  it('leads HAProxy to both of them, at the port of the image', () => {
    const { api, 'api-b': second, haproxy } = readTwo(variables);
    const [, port] = /^ENV .*\bPORT=(\d+)/m.exec(readFileSync(join(root, 'Dockerfile'), 'utf8')) ?? [];
    const addresses = [api, second].map((each) => `${each?.networks?.default.ipv4_address}:${port}`);
    expect(haproxy?.environment).toEqual({ API_A: addresses[0], API_B: addresses[1], LOG_TO: 'stdout' });
    const read = [...haproxyCfg.matchAll(/"\$\{([A-Z_]+)-/g)].map(([, name]) => name);
    expect(new Set(read)).toEqual(new Set(Object.keys(haproxy?.environment ?? {})));
  });

  it('gives HAProxy its configuration, its certificate, and the files of its connections', () => {
    expect(() => readTwo(LIVE)).toThrow('required variable TLS_PEM is missing a value');
    const { haproxy } = readTwo(variables);
    expect(haproxy?.volumes).toEqual([
      './deploy/haproxy.cfg:/usr/local/etc/haproxy/haproxy.cfg:ro',
      '/etc/sameday.pem:/etc/haproxy/sameday.pem:ro',
    ]);
    expect(haproxyCfg).toContain('ssl crt /etc/haproxy/sameday.pem ');
    expect(haproxy?.ports).toEqual(['0.0.0.0:80:80', '0.0.0.0:443:443']);
    const [, connections] = /^ {2}maxconn (\d+)$/m.exec(haproxyCfg) ?? [];
    expect(haproxy?.ulimits?.nofile).toBeGreaterThan(2 * Number(connections));
  });
});
