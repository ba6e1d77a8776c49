import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Sql } from 'postgres';
import { TIER_IDS } from '../../src/domain/tier.ts';
import type { Point } from '../../src/geo/point.ts';
import { orderBody } from './service.ts';
import { type Dropoff, dropoffNear, townNear } from './towns.ts';
import { driversOf, placesOf, seeded, type WorldDriver } from './world.ts';

const SEED = 20_262;

export type BenchStore = {
  readonly id: string;
  readonly apiKey: string;
  readonly point: Point;
  /** An address of its town. */
  readonly dropoff: Dropoff;
};
export type OrderWorld = { readonly stores: readonly BenchStore[]; readonly drivers: readonly WorldDriver[] };
export type OrderRequest = { readonly headers: Record<string, string>; readonly body: string };

export const STORE_ADDRESS = 'One Bench Square';
const CUSTOMER = { email: 'jordan@example.com', phone: '+14155550123', sms_opt_in: true };

/** Drivers and stores of the same towns. A store's orders are picked up at its point and stay in its town. */
export function makeOrderWorld(drivers: number, stores: number): OrderWorld {
  const random = seeded(SEED);
  const place = placesOf('cities', random, (anywhere) => townNear(anywhere).point);
  return {
    drivers: driversOf(drivers, place, random).map((driver, i) => ({ ...driver, id: uuid(8, i) })),
    stores: Array.from({ length: stores }, (_, i) => {
      const point = place();
      return { id: uuid(9, i), apiKey: keyOf(i), point, dropoff: dropoffNear(point) };
    }),
  };
}

let customers = 0;

/**
 * Requests for orders of every tier and any store, the same for the same seed but for their customers. No two
 * requests of a run are equal, as an equal one would get the order of a client that was stopped.
 */
export function ordersOf({ stores }: OrderWorld, count: number, seed: number): OrderRequest[] {
  const random = seeded(seed);
  const any = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  return Array.from({ length: count }, () => {
    const store = any(stores);
    const customer = { ...CUSTOMER, name: `Customer ${++customers}` };
    const tier = any(TIER_IDS);
    const { dropoff } = store;
    const changes = { customer, pickup_address: STORE_ADDRESS, dropoff_address: dropoff, delivery_tier: tier };
    return {
      headers: { authorization: `Bearer ${store.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(orderBody(store.id, changes)),
    };
  });
}

const uuid = (kind: 8 | 9, i: number): string => `01920000-0000-7000-${kind}000-${i.toString(16).padStart(12, '0')}`;

const keyOf = (i: number): string =>
  `sdk_${createHash('sha256').update(`bench store ${i}`).digest('base64url').slice(0, 32)}`;

/** Inserts rows by Postgres's COPY; `into` is the table with its columns. */
export async function copyRows(sql: Sql, into: string, rows: readonly (readonly (string | number)[])[]): Promise<void> {
  const target = await sql.unsafe(`copy ${into} from stdin`).writable();
  await pipeline(Readable.from(rows.map((row) => `${row.join('\t')}\n`)), target);
}
