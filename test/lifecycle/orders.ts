import { newId, newTrackingToken } from '../../src/domain/ids.ts';
import type { OrderStatus, PaymentStatus } from '../../src/domain/order.ts';
import type { Point } from '../../src/geo/point.ts';
import type { Sql } from '../../src/postgres/connect.ts';
import { addDriverRow, addStoreRow } from '../harness/orders.ts';

export const STORE_POINT: Point = { lat: 40.73, lng: -73.99 };

/** Adds a store with a card of its own, whose tries count; returns its id. */
export async function addRetailer(sql: Sql): Promise<string> {
  const card = { customer: 'cus_test', paymentMethod: `pm_card_visa_${newId()}` };
  return (await addStoreRow(sql, card)).retailerId;
}

/** Adds a driver on duty with a position, by default at the store; returns their id. */
export async function addDriverOnDuty(sql: Sql, point: Point = STORE_POINT): Promise<string> {
  const id = await addDriverRow(sql);
  await sql`
    insert into driver_positions (driver_id, lat, lng, captured_at) values (${id}, ${point.lat}, ${point.lng}, now())`;
  return id;
}

/** Adds an order in a status, with one event; returns its id. */
export async function addOrder(
  sql: Sql,
  retailerId: string,
  status: OrderStatus,
  driverId: string | null,
  options: { readonly payment?: PaymentStatus; readonly expired?: boolean } = {},
): Promise<string> {
  const id = newId();
  const payment = options.payment ?? (driverId === null ? 'not_charged' : 'processing');
  await sql`
    insert into orders (id, retailer_id, customer_id, dropoff_address_id, driver_id, status, delivery_tier,
      delivery_fee_cents, driver_payout_cents, payment_status, sms_status, tracking_token, pickup_address, pickup_lat,
      pickup_lng, pickup_point_source, created_at, assigned_at, expires_at)
    values (${id}, ${retailerId}, ${newId()}, ${newId()}, ${driverId}, ${status}, 'standard', 799, 550, ${payment}, 'none',
      ${newTrackingToken()}, 'One Test Square', ${STORE_POINT.lat}, ${STORE_POINT.lng}, 'registered', now(),
      ${driverId === null ? null : new Date()}, now() + make_interval(hours => ${options.expired ? -1 : 1}))`;
  await sql`insert into order_events (order_id, sequence, type) values (${id}, 1, 'created')`;
  return id;
}

export type OrderRow = Record<string, unknown> & {
  readonly status: OrderStatus;
  readonly sequence: number;
  readonly driver_id: string | null;
  readonly payment_status: PaymentStatus;
};

/** Everything that a change of an order could write, to compare before and after. */
export async function everythingOf(sql: Sql, orderId: string) {
  // To the microsecond, as two changes may share a millisecond.
  const [order] = await sql`select *, updated_at::text as updated_at from orders where id = ${orderId}`;
  const events = await sql`select sequence, type, data from order_events where order_id = ${orderId} order by sequence`;
  const jobs = await sql`select queue, done_at is not null as done from outbox where order_id = ${orderId} order by id`;
  const actions = await sql`select * from driver_actions where order_id = ${orderId} order by action_id`;
  return {
    order: { ...order } as OrderRow,
    events: events.map(
      (row) => ({ ...row }) as { sequence: number; type: string; data: Record<string, unknown> | null },
    ),
    jobs: jobs.map((row) => ({ ...row }) as { queue: string; done: boolean }),
    actions: actions.map((row) => ({ ...row }) as Record<string, unknown>),
  };
}
