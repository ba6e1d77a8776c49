import type { Point } from '../../src/geo/point.ts';
import type { RetailerKey } from '../../src/store/accounts/retailers.ts';
import type { Store } from '../../src/store/store.ts';
import { STORE_ADDRESS } from '../harness/order-world.ts';
import { allTowns, type Dropoff, dropoffIn } from '../harness/towns.ts';
import { offset } from '../harness/world.ts';

export const STORES = 2;
export const DRIVERS = 4;
export const DOORS = 6;

/** Where a driver can be sent, in meters north and east of the first store. */
export const SPOTS: readonly (readonly [north: number, east: number])[] = [
  [0, 0],
  [250, 150],
  [-900, 400],
  [2_600, -1_500],
  [-5_000, 4_500],
  [7_500, 6_500],
  [-12_000, 9_000],
  [90_000, 60_000],
];

export type Town = {
  readonly stores: readonly RetailerKey[];
  /** Addresses that orders go to; nobody knows the ZIP of the last one. */
  readonly doors: readonly Dropoff[];
  readonly driverIds: readonly string[];
  pointOf(spot: number): Point;
};

/** A ZIP in a city with many others near. */
const ZIP = '94110';
const NEW_ZIPS = ['94100', '94101', '94106', '94113', '94135', '94136', '94148', '94149', '94150'];

const uuid = (kind: number, i: number): string =>
  `01920000-0000-7000-8${kind}00-${(i + 1).toString(16).padStart(12, '0')}`;

let doors: readonly Dropoff[] | undefined;

/** Five ZIPs near the store and one that is in no table. */
function doorsNear(): readonly Dropoff[] {
  if (doors) return doors;
  const known = new Set(allTowns().map(({ zip }) => zip));
  const near = ['94110', '94103', '94117', '94014', '94501'].map((zip) => dropoffIn(zip));
  const unknown = NEW_ZIPS.find((zip) => !known.has(zip));
  const all = near.filter((each) => each !== undefined);
  const [first] = all;
  if (!first || !unknown || all.length < 5) throw new Error('the towns of the model are not in the table');
  doors = [...all, { ...first, zip: unknown }];
  return doors;
}

/** Two stores 2 km apart, with drivers and doors around them; all the same each time. */
export function makeTown(): Town {
  const center = allTowns().find(({ zip }) => zip === ZIP)?.point;
  if (!center) throw new Error(`there is no ZIP ${ZIP}`);
  const pointOf = (spot: number): Point => {
    const [north, east] = SPOTS[spot % SPOTS.length] as readonly [number, number];
    return offset(center, north, east);
  };
  return {
    stores: Array.from({ length: STORES }, (_, i) => ({
      keyId: uuid(1, i),
      retailerId: uuid(2, i),
      name: `Store ${i}`,
      address: STORE_ADDRESS,
      point: offset(center, 1_500 * i, -1_400 * i),
      keyEnds: false,
      ordersPerSecond: null,
    })),
    doors: doorsNear(),
    driverIds: Array.from({ length: DRIVERS }, (_, i) => uuid(3, i)),
    pointOf,
  };
}

const VEHICLES = ['car', 'car', 'van', 'bike'] as const;
const CAPACITIES = [1, 3, 2, 1];
const ALL_TIERS = ['standard', 'priority', 'scheduled'];
const TIERS = [ALL_TIERS, ['standard', 'priority'], ALL_TIERS, ['standard']];

/** Writes the town's stores and drivers, who are off duty. */
export async function fillTown(town: Town, store: Store): Promise<void> {
  for (const { keyId, retailerId: id, name, address, point } of town.stores) {
    const card = { stripeCustomerId: 'cus_sandbox_ok', stripePaymentMethodId: 'pm_card_visa' };
    await store.createRetailer({ id, name, address, point, ...card }, { id: keyId, keyHash: `hash of ${keyId}` });
  }
  for (const [i, id] of town.driverIds.entries()) {
    await store.createDriver({
      id,
      name: `Driver ${i}`,
      phone: '+14155550177',
      tokenHash: `hash of ${id}`,
      tierIds: TIERS[i % TIERS.length] as string[],
      vehicle: VEHICLES[i % VEHICLES.length] as (typeof VEHICLES)[number],
      capacity: CAPACITIES[i % CAPACITIES.length] as number,
    });
  }
}
