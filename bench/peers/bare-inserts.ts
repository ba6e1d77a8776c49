/**
 * Runs the service's own statement that creates orders in a loop with one commit in flight: no HTTP, no
 * matching, no hand-over of jobs, and every order made before the clock starts. Batches are as large as those
 * of the service under load, which are given; each order has a driver of its own and as many rejected
 * candidates as the service records.
 */
import { hashSecret, newId, newTrackingToken } from '../../src/domain/ids.ts';
import { TIER_IDS } from '../../src/domain/tier.ts';
import { MAX_REJECTED_CANDIDATES } from '../../src/matcher/rejected-candidates.ts';
import { connect } from '../../src/postgres/connect.ts';
import type { NewOrder } from '../../src/store/orders/orders-create.ts';
import { makeOrderWorld, STORE_ADDRESS } from '../../test/harness/order-world.ts';
import { storeOf } from '../../test/harness/store.ts';

const env = (name: string): string => process.env[name] as string;
const seconds = Number(env('SECONDS'));
const sizes = env('BATCHES').split(',').map(Number);
const sql = connect({ url: env('DATABASE_URL'), applicationName: 'bench bare inserts' });
const { stores, drivers } = makeOrderWorld(Number(env('DRIVERS')), Number(env('STORES')));
const tiers = await storeOf(sql).loadTiers();

function orderOf(i: number): NewOrder {
  const store = stores[i % stores.length] as (typeof stores)[number];
  const tier = tiers.get(TIER_IDS[i % TIER_IDS.length] as (typeof TIER_IDS)[number]);
  const driver = drivers[i];
  if (!tier || !driver) throw new Error('there are fewer drivers than orders');
  const rejectedCandidates = Array.from({ length: MAX_REJECTED_CANDIDATES }, (_, n) => {
    const driverId = drivers[(i + n + 1) % drivers.length]?.id as string;
    return { driverId, distanceMeters: 1_000 + n, reason: 'farther' as const };
  });
  return {
    id: newId(),
    customerId: newId(),
    dropoffAddressId: newId(),
    trackingToken: newTrackingToken(),
    keyId: store.id,
    request: {
      retailerId: store.id,
      customer: { name: 'Jordan Lee', email: 'jordan@example.com', phone: '+14155550123', smsOptIn: true },
      pickupAddress: STORE_ADDRESS,
      dropoffAddress: { line1: '401 Valencia St', line2: null, city: 'San Francisco', state: 'CA', zip: '94103' },
      tierId: tier.id,
      extras: null,
    },
    tier,
    pickup: store.point,
    pickupPointSource: 'registered',
    dropoff: { point: store.point, accuracyMeters: 10_000, source: 'zip_centroid' },
    driver: { driverId: driver.id, shownMeters: 1_000, rejectedCandidates },
    idempotency: { key: null, fingerprint: hashSecret(newId()) },
  };
}

/** Runs for this time, or until the drivers are used up. */
async function insertFor(forMs: number, orders: readonly NewOrder[]): Promise<{ inserted: number; tookMs: number }> {
  const startedMs = performance.now();
  let inserted = 0;
  for (let batch = 0; performance.now() - startedMs < forMs; batch++) {
    const some = orders.slice(inserted, inserted + (sizes[batch % sizes.length] as number));
    if (some.length === 0) break;
    const created = await storeOf(sql, 'bench').insertOrders(some);
    if (created.size !== some.length) throw new Error(`${some.length - created.size} orders were not inserted`);
    inserted += some.length;
  }
  return { inserted, tookMs: performance.now() - startedMs };
}

const all = drivers.map((_, i) => orderOf(i));
// Half at most, as a fast warm-up would leave nothing to measure.
const warmUp = await insertFor(Number(env('WARM_UP')) * 1_000, all.slice(0, all.length >> 1));
const measured = await insertFor(seconds * 1_000, all.slice(warmUp.inserted));
await sql.end({ timeout: 5 });
console.log(`ready ${measured.inserted / (measured.tookMs / 1_000)}`);
