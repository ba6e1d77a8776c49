import { chmodSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { WebSocket } from 'ws';
import { hashSecret, newId, newSecret } from '../../src/domain/ids.ts';
import { TIER_IDS } from '../../src/domain/tier.ts';
import type { Point } from '../../src/geo/point.ts';
import { connect, type Sql } from '../../src/postgres/connect.ts';
import { migrateDatabase } from '../../src/postgres/migrate.ts';
import { startEmbeddedPostgres } from '../../src/sandbox/postgres.ts';
import { TEST_CARDS } from '../../src/sandbox/test-cards.ts';
import { newDataDir, type Running, startBuiltService } from '../../test/harness/service.ts';
import { storeOf } from '../../test/harness/store.ts';

const CENTRE: Point = { lat: 40.73, lng: -73.99 };
/** Beyond the radius of every order. */
const FAR: Point = { lat: 45, lng: -73.99 };
const STORES = 20;
const REQUEST_MS = 10_000;
const MIGRATIONS = join(import.meta.dirname, '../../migrations');

/** A running service that rebuilt its waiting orders from the tables, with drivers who are off duty. */
export type World = {
  readonly sql: Sql;
  readonly drivers: readonly Driver[];
  /**
   * When a notice of a commit that changed this order first arrived since the last `forget`, by
   * `performance.now()`.
   */
  heardMs(orderId: string): number | undefined;
  forget(): void;
  cancel(orderId: string): Promise<number>;
  waiting(): Promise<number>;
  close(): Promise<void>;
};

/** A durable embedded Postgres, filled before the built service starts on it. */
export async function openWorld(orders: number, drivers: number, failed: (what: string) => void): Promise<World> {
  const folder = newDataDir();
  // Root's Postgres runs as another user, which must be able to enter.
  chmodSync(folder.dataDir, 0o755);
  const { dataDir } = folder;
  const postgres = await startEmbeddedPostgres({ dataDir, log: () => undefined });
  const { folder: cluster } = JSON.parse(readFileSync(join(dataDir, 'postgres.json'), 'utf8')) as { folder: string };
  await migrateDatabase({ url: postgres.url, dir: MIGRATIONS });
  const sql = connect({
    url: postgres.url,
    applicationName: 'bench',
    max: 3,
    statementTimeoutMs: 120_000,
    deadlineMs: 120_000,
  });
  const stores = await addStores(sql);
  await addOrders(sql, orders, [...stores.keys()]);
  const tokens = await addDrivers(sql, drivers);
  await sql`analyze`;
  const service = await startBuiltService({
    DATA_DIR: dataDir,
    DATABASE_URL: postgres.url,
    LOG_LEVEL: 'warn',
    RELEASES_PER_HOUR: '0',
  });
  const heard = new Map<string, number>();
  await sql.listen('sameday', (payload) => {
    const [, kind, ids = ''] = payload.split(':');
    if (kind !== 'order') return;
    for (const id of ids.split(',')) if (!heard.has(id)) heard.set(id, performance.now());
  });
  const phones = await Promise.all(tokens.map((token) => Driver.open(service, token, failed)));
  return {
    sql,
    drivers: phones,
    heardMs: (orderId) => heard.get(orderId),
    forget: () => heard.clear(),
    async cancel(orderId) {
      const [row] = await sql`select retailer_id from orders where id = ${orderId}`;
      const key = stores.get(row?.retailer_id as string) as string;
      return send(service, 'POST', `/orders/${orderId}/cancel`, key, { reason: 'other' });
    },
    async waiting() {
      const [row] = await sql`select count(*)::int as n from orders where status = 'pending_dispatch'`;
      return row?.n as number;
    },
    async close() {
      for (const phone of phones) phone.close();
      await service.stop();
      await sql.end({ timeout: 5 });
      await postgres.stop();
      rmSync(resolve(dataDir, cluster), { recursive: true, force: true });
      folder.remove();
    },
  };
}

/** Stores with their keys, by id. */
async function addStores(sql: Sql): Promise<Map<string, string>> {
  const card = { stripeCustomerId: TEST_CARDS.ok.customer, stripePaymentMethodId: TEST_CARDS.ok.paymentMethod };
  const stores = new Map<string, string>();
  for (let index = 0; index < STORES; index += 1) {
    const [id, apiKey] = [newId(), newSecret('api_key')];
    const store = { id, name: `Store ${index}`, address: 'One Bench Square', point: CENTRE, ...card };
    await storeOf(sql).createRetailer(store, { id: newId(), keyHash: hashSecret(apiKey) });
    stores.set(id, apiKey);
  }
  return stores;
}

/**
 * Orders of every tier, up to half an hour old, two thirds of them in a town of 10 km and the others up to 40
 * km around it.
 */
async function addOrders(sql: Sql, count: number, stores: readonly string[]): Promise<void> {
  await sql`create unlogged table made (id uuid, customer_id uuid, address_id uuid, retailer_id uuid, tier text,
    created_at timestamptz, spread float8, north float8, east float8)`;
  await sql`insert into made
    select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(),
      (${[...stores]}::uuid[])[1 + n % ${stores.length}::int],
      (array['standard', 'standard', 'standard', 'priority', 'scheduled'])[1 + n % 5],
      now() - random() * interval '30 minutes', case when n % 3 = 0 then 0.36 else 0.045 end,
      random() - 0.5, random() - 0.5
    from generate_series(1, ${count}::int) n`;
  await sql`insert into customers select customer_id, 'Jordan Lee', 'jordan@example.com', '+14155550123', false from made`;
  await sql`insert into dropoff_addresses (id, line1, city, state, zip)
    select address_id, '401 Valencia St', 'New York', 'NY', '10001' from made`;
  await sql`
    insert into orders (id, retailer_id, customer_id, dropoff_address_id, status, delivery_tier, delivery_fee_cents,
      driver_payout_cents, payment_status, sms_status, tracking_token, pickup_address, pickup_lat, pickup_lng,
      pickup_point_source, created_at, expires_at)
    select m.id, retailer_id, customer_id, address_id, 'pending_dispatch', tier, fee_cents, payout_cents,
      'not_charged', 'none', replace(m.id::text, '-', ''), 'One Bench Square', ${CENTRE.lat} + north * spread * 2,
      ${CENTRE.lng} + east * spread * 2.6, 'registered', created_at, created_at + interval '1 day'
    from made m join tiers t on t.id = m.tier`;
  await sql`insert into order_events (order_id, sequence, type, at) select id, 1, 'created', created_at from made`;
  await sql`insert into outbox (queue, order_id, retailer_id, run_at, lease_until)
    select 'redispatch', id, retailer_id, created_at + interval '1 day', created_at + interval '25 hours' from made`;
  await sql`drop table made`;
}

async function addDrivers(sql: Sql, count: number): Promise<string[]> {
  const tokens = Array.from({ length: count }, () => newSecret('driver_token'));
  for (const [index, token] of tokens.entries()) {
    const driver = { id: newId(), name: `Driver${index} Bench`, phone: '+14155550177', tierIds: TIER_IDS };
    await storeOf(sql, 'bench').createDriver({ ...driver, tokenHash: hashSecret(token) });
  }
  return tokens;
}

type Step = 'pick-up' | 'release' | 'undeliverable' | 'return';
const REASONS: Partial<Record<Step, string>> = { release: 'vehicle', undeliverable: 'nobody_home' };

/** A driver's phone, which sends over HTTP and gets its order over its socket. */
export class Driver {
  /** The last order that it got, and when. */
  orderId: string | null = null;
  toldMs = 0;
  readonly #service: Running;
  readonly #token: string;
  readonly #socket: WebSocket;
  #closing = false;

  private constructor(service: Running, token: string, socket: WebSocket) {
    this.#service = service;
    this.#token = token;
    this.#socket = socket;
  }

  /** Resolves when it has its state. */
  static open(service: Running, token: string, failed: (what: string) => void): Promise<Driver> {
    const url = `${service.url.replace(/^http/, 'ws')}/driver/live`;
    const socket = new WebSocket(url, { handshakeTimeout: REQUEST_MS, perMessageDeflate: false });
    const driver = new Driver(service, token, socket);
    socket.on('open', () => socket.send(JSON.stringify({ type: 'hello', token })));
    socket.on('error', () => failed("a driver's socket failed"));
    socket.on('close', (code) => driver.#closing || failed(`a driver's socket was closed with ${code}`));
    return new Promise((opened) => {
      socket.on('message', (data) => {
        const message = JSON.parse(String(data)) as { type: string; order?: { id: string } | null };
        if (message.type === 'error') failed(`a driver's socket was told: ${String(data)}`);
        if (message.type !== 'state') return;
        const orderId = message.order?.id ?? null;
        if (orderId !== driver.orderId) driver.toldMs = performance.now();
        driver.orderId = orderId;
        opened(driver);
      });
    });
  }

  duty(onDuty: boolean): Promise<number> {
    return send(this.#service, 'PUT', '/driver/duty', this.#token, { on_duty: onDuty });
  }

  /** Reports a position some way from the middle of the town. */
  near(meters: number): Promise<number> {
    return this.#report({ lat: CENTRE.lat + meters / 111_195, lng: CENTRE.lng });
  }

  far(): Promise<number> {
    return this.#report(FAR);
  }

  step(step: Step): Promise<number> {
    const reason = REASONS[step];
    const path = `/driver/orders/${this.orderId}/${step}`;
    return send(this.#service, 'POST', path, this.#token, reason ? { reason } : {});
  }

  close(): void {
    this.#closing = true;
    this.#socket.terminate();
  }

  #report(point: Point): Promise<number> {
    return send(this.#service, 'POST', '/driver/location', this.#token, { ...point });
  }
}

async function send(service: Running, method: string, path: string, key: string, body: object): Promise<number> {
  const answer = await fetch(service.url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(REQUEST_MS),
  });
  await answer.arrayBuffer();
  return answer.status;
}
