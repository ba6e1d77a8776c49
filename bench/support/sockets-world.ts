import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { hashSecret, newId, newSecret } from '../../src/domain/ids.ts';
import { TIER_IDS } from '../../src/domain/tier.ts';
import { startEmbeddedPostgres } from '../../src/embedded/postgres.ts';
import type { Point } from '../../src/geo/point.ts';
import { connect, type Sql } from '../../src/postgres/connect.ts';
import { migrateDatabase } from '../../src/postgres/migrate.ts';
import { TEST_CARDS } from '../../src/sandbox/test-cards.ts';
import { type Running, startBuiltService } from '../../test/harness/service.ts';
import { storeOf } from '../../test/harness/store.ts';
import { newCluster } from './cluster.ts';

const MIGRATIONS = join(import.meta.dirname, '../../migrations');
const LONG_MS = 60_000;

/** The status of a driver's order when the service starts; null for none. */
export type SeededStatus = 'driver_assigned' | 'picked_up' | null;

export type SocketWorld = {
  readonly service: Running;
  readonly port: number;
  readonly sql: Sql;
  close(): Promise<void>;
};

/** Ids and secrets follow from a number, so that the processes of a benchmark need not exchange them. */
export const driverId = (index: number): string => idOf('0192', index);
export const orderId = (index: number): string => idOf('0193', index);
export const driverToken = (index: number): string => `sdd_${digest(`driver ${index}`).slice(0, 32)}`;
export const trackingToken = (index: number): string => digest(`order ${index}`).slice(0, 24);

function idOf(prefix: string, index: number): string {
  const number = index.toString(16).padStart(8, '0');
  return `${prefix}${number.slice(0, 4)}-${number.slice(4)}-7000-8000-000000000000`;
}

const digest = (text: string): string => createHash('sha256').update(text).digest('base64url');

/**
 * The built service on a durable embedded Postgres, filled before it starts: drivers on duty, each with a
 * position and, where stated, an order.
 *
 * @param env additional environment, such as `REDIS_URL`
 */
export async function openSocketWorld(
  drivers: number,
  placeOf: (index: number) => Point,
  statusOf: (index: number) => SeededStatus,
  env: Readonly<Record<string, string>> = {},
): Promise<SocketWorld> {
  const { dataDir, stop: removeFolders } = newCluster();
  const postgres = await startEmbeddedPostgres({ dataDir, log: () => undefined });
  const timeouts = { statementTimeoutMs: LONG_MS, deadlineMs: LONG_MS };
  const sql = connect({ url: postgres.url, applicationName: 'bench', max: 4, ...timeouts });
  const end = async () => {
    await sql.end({ timeout: 5 });
    await postgres.stop();
    await removeFolders();
  };
  try {
    await migrateDatabase({ url: postgres.url, dir: MIGRATIONS });
    const indexes = Array.from({ length: drivers }, (_, index) => index);
    await addDrivers(sql, indexes, placeOf);
    const storeId = await addStore(sql, { lat: 40.73, lng: -73.99 }, 'One Bench Square', newSecret('api_key'));
    for (const status of ['driver_assigned', 'picked_up'] as const) {
      const carrying = indexes.filter((index) => statusOf(index) === status);
      if (carrying.length > 0) await addOrders(sql, storeId, carrying, status, placeOf);
    }
    await sql`analyze`;
    const service = await startBuiltService({
      DATA_DIR: dataDir,
      DATABASE_URL: postgres.url,
      LOG_LEVEL: 'warn',
      ...env,
    });
    const port = Number(new URL(service.url).port);
    const close = () => service.stop().then(end);
    return { service, port, sql, close };
  } catch (error) {
    await end();
    throw error;
  }
}

/** Makes an active store at this point. */
export async function addStore(sql: Sql, point: Point, address: string, apiKey: string): Promise<string> {
  const id = newId();
  const card = { stripeCustomerId: TEST_CARDS.ok.customer, stripePaymentMethodId: TEST_CARDS.ok.paymentMethod };
  const key = { id: newId(), keyHash: hashSecret(apiKey) };
  await storeOf(sql).createRetailer({ id, name: 'Bench Store', address, point, ...card }, key);
  return id;
}

async function addDrivers(sql: Sql, indexes: readonly number[], placeOf: (index: number) => Point): Promise<void> {
  const places = indexes.map(placeOf);
  await sql`
    insert into drivers (id, name, phone, token_hash, tiers, on_duty)
    select id, 'Dana Bench', '+14155550177', hash, ${[...TIER_IDS]}::text[], true
    from unnest(${indexes.map(driverId)}::uuid[], ${indexes.map((index) => hashSecret(driverToken(index)))}::text[])
      as made (id, hash)`;
  await sql`
    insert into driver_positions (driver_id, lat, lng, captured_at)
    select id, lat, lng, now() from unnest(${indexes.map(driverId)}::uuid[],
      ${places.map(({ lat }) => lat)}::float8[], ${places.map(({ lng }) => lng)}::float8[]) as made (id, lat, lng)`;
}

/**
 * Makes one paid order for each of these drivers, picked up at the driver's position, with a dropoff some way
 * to the north.
 */
async function addOrders(
  sql: Sql,
  storeId: string,
  indexes: readonly number[],
  status: 'driver_assigned' | 'picked_up',
  placeOf: (index: number) => Point,
): Promise<void> {
  const places = indexes.map(placeOf);
  await sql`create unlogged table made (id uuid, driver_id uuid, token text, lat float8, lng float8)`;
  await sql`
    insert into made select * from unnest(${indexes.map(orderId)}::uuid[], ${indexes.map(driverId)}::uuid[],
      ${indexes.map(trackingToken)}::text[], ${places.map(({ lat }) => lat)}::float8[],
      ${places.map(({ lng }) => lng)}::float8[])`;
  await sql`insert into customers select id, 'Jordan Lee', 'jordan@example.com', '+14155550123', false from made`;
  await sql`
    insert into dropoff_addresses (id, line1, city, state, zip, lat, lng, accuracy_meters, point_source)
    select id, '401 Valencia St', 'New York', 'NY', '10001', lat + 0.05, lng, 50, 'geocoder' from made`;
  await sql`
    insert into orders (id, retailer_id, customer_id, dropoff_address_id, driver_id, status, delivery_tier,
      delivery_fee_cents, driver_payout_cents, payment_status, sms_status, tracking_token, pickup_address, pickup_lat,
      pickup_lng, pickup_point_source, sequence, created_at, assigned_at, picked_up_at, expires_at)
    select made.id, ${storeId}::uuid, made.id, made.id, driver_id, ${status}::text, t.id, fee_cents, payout_cents, 'paid', 'none',
      token, 'One Bench Square', lat, lng, 'registered', ${status === 'picked_up' ? 3 : 2}, now(), now(),
      case when ${status}::text = 'picked_up' then now() end, now() + interval '1 day'
    from made join tiers t on t.id = 'standard'`;
  await sql`
    insert into order_events (order_id, sequence, type) select id, n, (array['created', 'assigned', 'picked_up'])[n]
    from made, generate_series(1, ${status === 'picked_up' ? 3 : 2}::int) n`;
  await sql`drop table made`;
}
