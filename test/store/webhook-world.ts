import { beforeEach } from 'vitest';
import type { Sql } from '../../src/postgres/connect.ts';
import type { OwedDelivery } from '../../src/store/events/webhook-deliveries.ts';
import { type FreshDatabase, useFreshDatabase } from '../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow, type TestStore } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';

export const URL_OF_STORE = 'https://store.test/hook';

let sql: Sql;
let store: TestStore;
export let retailerId: string;

/** Gives the test file that awaits this its own database, and each of its tests a new store with a webhook. */
export async function useWebhookWorld(): Promise<FreshDatabase> {
  const database = await useFreshDatabase();
  ({ sql } = database);
  beforeEach(async () => {
    store = await addStoreRow(sql);
    retailerId = store.retailerId;
    await storeOf(sql).setWebhook(retailerId, URL_OF_STORE, 'whsec_c2VjcmV0');
  });
  return database;
}

export const newDriver = () => addDriverRow(sql);

export async function newOrder(driverId: string | null = null): Promise<string> {
  return (await addOrder(sql, store, { driverId })).orderId;
}

/** Makes the deliveries of all that has happened. */
export const tell = () => storeOf(sql).numberEvents();

/** The deliveries of an order by sequence. */
export async function deliveriesOf(
  orderId: string,
): Promise<{ type: string; timestamp: string; data: Record<string, unknown> }[]> {
  await tell();
  const rows = await sql`
    select payload from webhook_deliveries where order_id = ${orderId} order by sequence`;
  return rows.map((row) => row.payload);
}

export const types = async (orderId: string) => (await deliveriesOf(orderId)).map(({ type }) => type);

/** The delivery of a new order's assignment to a webhook, the operator's by default, as its job opens it. */
export async function newDelivery(webhookId = retailerId): Promise<OwedDelivery> {
  const orderId = await newOrder(await newDriver());
  await tell();
  const [row] = await sql`
    select outbox_id from webhook_deliveries
    where order_id = ${orderId} and webhook_id = ${webhookId} and type = 'order.assigned'`;
  return (await storeOf(sql).openDelivery(row?.outbox_id)) as OwedDelivery;
}

export const show = async (id: string) => (await sql`select * from webhook_deliveries where id = ${id}`)[0];
export const job = async (id: number) => (await sql`select * from outbox where id = ${id}`)[0];
export const endpoint = async () => (await sql`select * from webhook_endpoints where retailer_id = ${retailerId}`)[0];
export const fail = (
  delivery: OwedDelivery,
  retryInSeconds: number | null = 5,
  receiver: 'failing' | 'refuses' | 'gone' = 'failing',
) => storeOf(sql).recordFailedAttempt(delivery, { result: '500', retryInSeconds, receiver });
export const reopened = async ({ outboxId }: OwedDelivery) =>
  (await storeOf(sql).openDelivery(outboxId)) as OwedDelivery;
/** Makes the endpoint fail since some time ago. */
export const failingFor = (seconds: number) => sql`
  update webhook_endpoints set failing_since = now() - make_interval(secs => ${seconds})
  where retailer_id = ${retailerId}`;
