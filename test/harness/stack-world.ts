import { createHash } from 'node:crypto';
import { hashSecret } from '../../src/domain/ids.ts';
import { TIER_IDS } from '../../src/domain/tier.ts';
import type { Sql } from '../../src/postgres/connect.ts';
import { TEST_CARDS } from '../../src/sandbox/test-cards.ts';
import { copyRows, type OrderWorld, STORE_ADDRESS } from './order-world.ts';

/** `phones`: further drivers, who report each second, far from every store, so that they get no order. */
export type StackWorld = OrderWorld & { readonly phones: number };

/** Where the `phones` are. */
export const PHONES_AT = { lat: 61.2, lng: -149.9 };
const DAY_MS = 86_400_000;

export const phoneToken = (i: number): string =>
  `sdd_${createHash('sha256').update(`bench phone ${i}`).digest('base64url').slice(0, 32)}`;

/** The token of a driver who is none of the `phones`. */
export const driverToken = (id: string): string => `sdd_${id.replaceAll('-', '')}`;

/** Fills empty tables with stores, their keys and drivers on duty. */
export async function fillWorld(sql: Sql, world: StackWorld): Promise<void> {
  const { ok } = TEST_CARDS;
  await copyRows(
    sql,
    'retailers (id, name, address, lat, lng, stripe_customer_id, stripe_payment_method_id)',
    world.stores.map(({ id, point }) => {
      return [id, 'Bench store', STORE_ADDRESS, point.lat, point.lng, ok.customer, ok.paymentMethod];
    }),
  );
  await copyRows(
    sql,
    'api_keys (id, retailer_id, key_hash)',
    world.stores.map(({ id, apiKey }) => [id, id, hashSecret(apiKey)]),
  );
  await fillDrivers(sql, world);
}

/** Replaces the drivers with those of a world. */
export async function fillDrivers(sql: Sql, { drivers, phones }: Pick<StackWorld, 'drivers' | 'phones'>) {
  await sql`truncate drivers, driver_positions`;
  const phoneIds = Array.from(
    { length: phones },
    (_, i) => `01920000-0000-7000-a000-${i.toString(16).padStart(12, '0')}`,
  );
  const row = (id: string, tiers: readonly string[], token: string) => {
    return [id, 'Bench driver', '+14155550177', hashSecret(token), `{${tiers}}`, 'true'];
  };
  await copyRows(sql, 'drivers (id, name, phone, token_hash, tiers, on_duty)', [
    ...drivers.map(({ id, tierIds }) => row(id, tierIds, driverToken(id))),
    ...phoneIds.map((id, i) => row(id, TIER_IDS, phoneToken(i))),
  ]);
  // They do not move, so their positions are dated a day ahead to stay fresh.
  const until = new Date(Date.now() + DAY_MS).toISOString();
  await copyRows(
    sql,
    'driver_positions (driver_id, lat, lng, captured_at)',
    drivers.map(({ id, point }) => [id, point.lat, point.lng, until]),
  );
  await sql`vacuum analyze`;
}

/** Removes every order and vacuums, so that the next round starts with free drivers and clean tables. */
export async function resetOrders(sql: Sql): Promise<void> {
  await sql`truncate orders, order_events, customers, dropoff_addresses, payments, messages, outbox, unheard_requests,
    unnumbered_events, store_events`;
  await sql`drop schema if exists bullmq cascade`;
  await sql`vacuum analyze`;
  await sql`checkpoint`;
}
