import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import type { OwedDelivery } from '../../src/store/events/webhook-deliveries.ts';
import type { NewOrder } from '../../src/store/orders/orders-create.ts';
import { type FreshDatabase, freshDatabase } from '../harness/database.ts';
import { storeOf } from '../harness/store.ts';

const PROCESS_ID = 'test';
export const STAMP = { actionId: null, capturedAt: null };
export const URL_OF_STORE = 'https://store.test/hook';
const CUSTOMER = { name: 'Jordan Lee', email: 'jordan@example.com', phone: '+14155550123', smsOptIn: true };
const DROPOFF = { line1: '401 Valencia St', line2: null, city: 'San Francisco', state: 'CA', zip: '94103' };

export let database: FreshDatabase;
export let retailerId: string;
let keyId: string;

/** Gives the test file that calls this its own database, and each of its tests a new store with a webhook. */
export function useWebhookWorld(): void {
  beforeAll(async () => {
    database = await freshDatabase();
  });
  afterAll(() => database.drop());
  beforeEach(async () => {
    const { sql } = database;
    retailerId = newId();
    keyId = newId();
    const store = { id: retailerId, name: 'Corner Market', address: 'One Test Square', point: { lat: 1, lng: 2 } };
    const card = { stripeCustomerId: 'cus_1', stripePaymentMethodId: 'pm_1' };
    await storeOf(sql).createRetailer({ ...store, ...card }, { id: keyId, keyHash: keyId });
    await storeOf(sql).setWebhook(retailerId, URL_OF_STORE, 'whsec_c2VjcmV0');
  });
}

export async function newDriver(): Promise<string> {
  const id = newId();
  await database.sql`
    insert into drivers (id, name, phone, token_hash, tiers, on_duty)
    values (${id}, 'Sam', '+14155550177', ${id}, '{standard}', true)`;
  return id;
}

export async function newOrder(driverId: string | null = null): Promise<string> {
  const tier = (await storeOf(database.sql).loadTiers()).get('standard') as NewOrder['tier'];
  const order: NewOrder = {
    idempotency: null,
    id: newId(),
    customerId: newId(),
    dropoffAddressId: newId(),
    trackingToken: newId(),
    keyId,
    request: {
      retailerId,
      customer: CUSTOMER,
      pickupAddress: 'x',
      dropoffAddress: DROPOFF,
      tierId: 'standard',
      extras: null,
    },
    tier,
    pickup: { lat: 1, lng: 2 },
    pickupPointSource: 'registered',
    dropoff: null,
    driver: driverId ? { driverId, shownMeters: 10 } : null,
  };
  const committed = (await storeOf(database.sql, PROCESS_ID).insertOrders([order])).get(order.id);
  expect(committed).toBeDefined();
  return order.id;
}

/** Makes the deliveries of all that has happened. */
export const tell = () => storeOf(database.sql, PROCESS_ID).numberEvents();

/** The deliveries of an order by sequence. */
export async function deliveriesOf(
  orderId: string,
): Promise<{ type: string; timestamp: string; data: Record<string, unknown> }[]> {
  await tell();
  const rows = await database.sql`
    select payload from webhook_deliveries where order_id = ${orderId} order by sequence`;
  return rows.map((row) => row.payload);
}

export const types = async (orderId: string) => (await deliveriesOf(orderId)).map(({ type }) => type);

/** The delivery of a new order's assignment to a webhook, the operator's by default, as its job opens it. */
export async function newDelivery(webhookId = retailerId): Promise<OwedDelivery> {
  const orderId = await newOrder(await newDriver());
  await tell();
  const [row] = await database.sql`
    select outbox_id from webhook_deliveries
    where order_id = ${orderId} and webhook_id = ${webhookId} and type = 'order.assigned'`;
  return (await storeOf(database.sql).openDelivery(row?.outbox_id)) as OwedDelivery;
}

export const show = async (id: string) => (await database.sql`select * from webhook_deliveries where id = ${id}`)[0];
export const job = async (id: number) => (await database.sql`select * from outbox where id = ${id}`)[0];
export const endpoint = async () =>
  (await database.sql`select * from webhook_endpoints where retailer_id = ${retailerId}`)[0];
export const fail = (
  delivery: OwedDelivery,
  retryInSeconds: number | null = 5,
  receiver: 'failing' | 'refuses' | 'gone' = 'failing',
) => storeOf(database.sql).recordFailedAttempt(delivery, { result: '500', retryInSeconds, receiver });
export const reopened = async ({ outboxId }: OwedDelivery) =>
  (await storeOf(database.sql).openDelivery(outboxId)) as OwedDelivery;
/** Makes the endpoint fail since some time ago. */
export const failingFor = (seconds: number) => database.sql`
  update webhook_endpoints set failing_since = now() - make_interval(secs => ${seconds})
  where retailer_id = ${retailerId}`;
