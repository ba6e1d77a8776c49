import { hashSecret, newId, newSecret } from '../../../src/domain/ids.ts';
import type { TierId } from '../../../src/domain/tier.ts';
import type { Point } from '../../../src/geo/point.ts';
import type { Sql } from '../../../src/postgres/connect.ts';
import type { RetailerKey } from '../../../src/store/accounts/retailers.ts';
import { STORE_ADDRESS } from '../../harness/order-world.ts';
import { storeOf } from '../../harness/store.ts';
import { offset } from '../../harness/world.ts';
import { DRIVERS, RING_METERS, STORES } from './commands.ts';

export type PlaceStore = RetailerKey & { readonly apiKey: string };
export type PlaceDriver = {
  readonly id: string;
  readonly token: string;
  readonly tierIds: readonly TierId[];
};

/** Stores at one point with drivers around it, far from every other place. */
export type Place = {
  readonly point: Point;
  readonly stores: readonly PlaceStore[];
  readonly drivers: readonly PlaceDriver[];
};

const TIERS_OF: readonly (readonly TierId[])[] = [
  ['standard', 'priority', 'scheduled'],
  ['standard', 'priority'],
  ['priority', 'scheduled'],
  ['standard'],
];

let places = 0;

/** An unused point, more than 200 km from every other place and so out of every tier's reach. */
function nextPoint(): Point {
  const i = places++;
  return { lat: -50 + 2 * (i % 50), lng: -170 + 4 * (Math.floor(i / 50) % 85) };
}

/** Makes a place with new stores and new drivers, off duty and without a position. */
export async function makePlace(sql: Sql): Promise<Place> {
  const point = nextPoint();
  const stores = Array.from({ length: STORES }, () => {
    return {
      keyId: newId(),
      retailerId: newId(),
      name: 'Model store',
      address: STORE_ADDRESS,
      point,
      apiKey: newSecret('api_key'),
      keyEnds: false,
      ordersPerSecond: null,
    };
  });
  const drivers = Array.from({ length: DRIVERS }, (_, i) => {
    return {
      id: newId(),
      token: newSecret('driver_token'),
      tierIds: TIERS_OF[i % TIERS_OF.length] as TierId[],
    };
  });
  for (const { keyId, retailerId, apiKey, name, address, point: at } of stores) {
    await storeOf(sql).createRetailer(
      { id: retailerId, name, address, point: at, ...cardOf(retailerId) },
      { id: keyId, keyHash: hashSecret(apiKey) },
    );
  }
  for (const { token, ...rest } of drivers) {
    const driver = { ...rest, name: 'Model driver', phone: '+14155550177', tokenHash: hashSecret(token) };
    await storeOf(sql, 'faults').createDriver(driver);
  }
  return { point, stores, drivers };
}

/** A driver's point on a ring, no two at the same distance. */
export function onRing(point: Point, ring: number, driver: number): Point {
  return offset(point, RING_METERS[ring % RING_METERS.length] as number, 40 * (driver + 1));
}

/** A card of the store's own: how often it is tried is counted. */
const cardOf = (retailerId: string) => ({
  stripeCustomerId: 'cus_sandbox_ok',
  stripePaymentMethodId: `pm_card_visa_${retailerId}`,
});
