import type { Identity } from '../../src/domain/idempotency.ts';
import { hashSecret, newId, newSecret, newTrackingToken } from '../../src/domain/ids.ts';
import type { OrderExtras } from '../../src/domain/order.ts';
import { NO_TIMES } from '../../src/domain/order-times.ts';
import { DEFAULT_SIZE } from '../../src/domain/vehicle.ts';
import type { Sql } from '../../src/postgres/connect.ts';
import type { NewOrder } from '../../src/store/orders/orders-create.ts';
import type { OutboxRow, QueueName } from '../../src/store/outbox-rows.ts';
import { storeOf } from './store.ts';

export const PICKUP = { lat: 37.76415, lng: -122.41957 };
/** A driver's action without an id and a time of the phone. */
export const UNSTAMPED = { actionId: null, capturedAt: null };

/** What an order says that says nothing more. */
export const NO_EXTRAS: OrderExtras = {
  ...NO_TIMES,
  externalId: null,
  metadata: {},
  items: [],
  pickupInstructions: null,
  dropoffInstructions: null,
  leaveAtDoor: false,
  size: DEFAULT_SIZE,
  scenario: null,
};

export type TestStore = { readonly retailerId: string; readonly keyId: string };

/** Inserts an active store with one key. */
export async function addStoreRow(
  sql: Sql,
  card: { customer: string; paymentMethod: string } | null = { customer: 'cus_1', paymentMethod: 'pm_card_visa' },
): Promise<TestStore> {
  const retailerId = newId();
  const keyId = newId();
  await storeOf(sql).createRetailer(
    {
      id: retailerId,
      name: 'Corner Market',
      address: 'One Test Square',
      point: PICKUP,
      stripeCustomerId: card?.customer ?? null,
      stripePaymentMethodId: card?.paymentMethod ?? null,
    },
    { id: keyId, keyHash: hashSecret(newSecret('api_key')) },
  );
  return { retailerId, keyId };
}

/** Inserts a driver on duty; returns their id. */
export async function addDriverRow(sql: Sql): Promise<string> {
  const id = newId();
  const tokenHash = hashSecret(newSecret('driver_token'));
  await storeOf(sql, 'test').createDriver({
    id,
    name: 'Sam Rider',
    phone: '+14155550177',
    tokenHash,
    tierIds: ['standard'],
  });
  await storeOf(sql, 'test').setDriverDuty(id, true);
  return id;
}

/** An order as `placeOrder` passes it to the commit. */
export async function draftOrder(
  sql: Sql,
  store: TestStore,
  options: {
    driverId?: string | null;
    smsOptIn?: boolean;
    name?: string;
    idempotency?: Identity;
    extras?: OrderExtras;
  } = {},
): Promise<NewOrder> {
  const { driverId = null, smsOptIn = true, name = 'Jordan Lee', idempotency = null, extras = null } = options;
  const tier = (await storeOf(sql).loadTiers()).get('standard');
  if (!tier) throw new Error('the tier table is empty');
  return {
    id: newId(),
    customerId: newId(),
    dropoffAddressId: newId(),
    trackingToken: newTrackingToken(),
    keyId: store.keyId,
    request: {
      retailerId: store.retailerId,
      customer: { name, email: 'jordan@example.com', phone: '+14155550123', smsOptIn },
      pickupAddress: 'One Test Square',
      dropoffAddress: { line1: '401 Valencia St', line2: null, city: 'San Francisco', state: 'CA', zip: '94103' },
      tierId: 'standard',
      extras,
    },
    tier,
    pickup: PICKUP,
    pickupPointSource: 'registered',
    dropoff: null,
    driver: driverId === null ? null : { driverId, shownMeters: 120 },
    idempotency,
  };
}

/** Commits an order; returns it with its jobs by queue. */
export async function addOrder(
  sql: Sql,
  store: TestStore,
  options: Parameters<typeof draftOrder>[2] = {},
): Promise<{ orderId: string; jobs: Partial<Record<QueueName, OutboxRow>>; order: NewOrder }> {
  const order = await draftOrder(sql, store, options);
  const committed = (await storeOf(sql, 'test').insertOrders([order])).get(order.id);
  if (!committed) throw new Error('the order was not committed');
  return { orderId: order.id, order, jobs: Object.fromEntries(committed.outbox.map((row) => [row.queue, row])) };
}

/** An order's columns. */
export async function orderRow(sql: Sql, orderId: string): Promise<Record<string, unknown>> {
  const [row] = await sql`select * from orders where id = ${orderId}`;
  return { ...row };
}
