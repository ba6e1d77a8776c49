import { randomBytes } from 'node:crypto';
import type { Sql, TransactionSql } from 'postgres';
import { uuidv7 } from 'uuidv7';

export type PlainTier = {
  readonly id: 'standard' | 'priority' | 'scheduled';
  readonly feeCents: number;
  readonly payoutCents: number;
  readonly radiusMeters: number;
  readonly maxWaitSeconds: number;
};

export type PlainOrderBody = {
  readonly retailer_id: string;
  readonly customer: {
    readonly name: string;
    readonly email: string;
    readonly phone: string;
    readonly sms_opt_in: boolean;
  };
  readonly pickup_address: string;
  readonly dropoff_address: {
    readonly line1: string;
    readonly line2?: string;
    readonly city: string;
    readonly state: string;
    readonly zip: string;
  };
  readonly delivery_tier: PlainTier['id'];
};

export type Place = { readonly lat: number; readonly lng: number };

export type NewPlainOrder = {
  readonly body: PlainOrderBody;
  readonly tier: PlainTier;
  readonly pickup: Place;
  readonly ids: { readonly order: string; readonly customer: string; readonly address: string };
  readonly token: string;
};

export function newOrder(body: PlainOrderBody, tier: PlainTier, pickup: Place): NewPlainOrder {
  const ids = { order: uuidv7(), customer: uuidv7(), address: uuidv7() };
  return { body, tier, pickup, ids, token: randomBytes(18).toString('base64url') };
}

/** Assigns the nearest free driver and writes the order, in one transaction of two statements. */
export function placeInTransaction(sql: Sql, order: NewPlainOrder) {
  return sql.begin(async (tx) => {
    const driver = await takeNearest(tx, order.tier, order.pickup);
    const [row] = await insertOrder(tx, order, driver);
    return toReply(order, driver !== undefined, row?.created_at);
  });
}

/** The store's reply, as in the contract. */
export function toReply({ ids, tier, token }: NewPlainOrder, assigned: boolean, createdAt: Date) {
  return {
    id: ids.order,
    status: assigned ? 'driver_assigned' : 'pending_dispatch',
    delivery_tier: tier.id,
    delivery_fee: tier.feeCents,
    payment_status: assigned ? 'processing' : 'not_charged',
    tracking_token: token,
    created_at: createdAt.toISOString(),
  };
}

export const pointOf = (sql: Sql | TransactionSql, { lat, lng }: Place) =>
  sql`st_setsrid(st_makepoint(${lng}, ${lat}), 4326)::geography`;

/** More than there are connections, so that mostly one is left that no other request is taking. */
const CANDIDATES = 16;
const ATTEMPTS = 3;

/**
 * The common tables `near` (free drivers who may take the order, nearest first) and `taken` (the one who
 * does). Drivers are found first and locked after: locked below an index scan in order of distance, Postgres
 * 15 fails with "attempted to lock invisible tuple".
 */
export function takingNearest(sql: Sql | TransactionSql, tier: PlainTier, pickup: Place) {
  const serves = { standard: sql`serves_standard`, priority: sql`serves_priority`, scheduled: sql`serves_scheduled` };
  const point = pointOf(sql, pickup);
  return sql`
    near as materialized (
      select id, location <-> ${point} as meters
      from drivers
      where status = 'free' and ${serves[tier.id]} and st_dwithin(location, ${point}, ${tier.radiusMeters})
      order by location <-> ${point}
      limit ${CANDIDATES}
    ), nearest as (
      select drivers.id, near.meters from near join drivers using (id)
      where drivers.status = 'free'
      order by near.meters
      limit 1
      for update of drivers skip locked
    ), taken as (
      update drivers set status = 'busy', updated_at = now()
      from nearest where drivers.id = nearest.id
      returning drivers.id, nearest.meters
    )`;
}

type Taken = { readonly id: string; readonly meters: number };

/** Looks further where others were taking all of the nearest. */
async function takeNearest(tx: TransactionSql, tier: PlainTier, pickup: Place): Promise<Taken | undefined> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const [found] = await tx<{ seen: number; id: string | null; meters: number }[]>`
      with ${takingNearest(tx, tier, pickup)}
      select seen, taken.id, taken.meters from (select count(*)::int as seen from near) n left join taken on true`;
    if (found?.id) return { id: found.id, meters: found.meters };
    if (found?.seen !== CANDIDATES) return undefined;
  }
  return undefined;
}

/** Writes all rows of an order in one statement and so one round trip. */
function insertOrder(tx: TransactionSql, order: NewPlainOrder, driver: Taken | undefined) {
  const { body, tier, pickup, ids, token } = order;
  const { customer, dropoff_address: to } = body;
  const event = driver ? { driver_id: driver.id, distance_meters: Math.round(driver.meters) } : {};
  return tx`
    with customer as (
      insert into customers (id, name, email, phone, sms_opt_in)
      values (${ids.customer}, ${customer.name}, ${customer.email}, ${customer.phone}, ${customer.sms_opt_in})
    ), address as (
      insert into dropoff_addresses (id, line1, line2, city, state, zip)
      values (${ids.address}, ${to.line1}, ${to.line2 ?? null}, ${to.city}, ${to.state}, ${to.zip})
    ), event as (
      insert into order_events (order_id, type, data)
      values (${ids.order}, ${driver ? 'driver_assigned' : 'created'}, ${tx.json(event)})
    )
    insert into orders (id, retailer_id, customer_id, dropoff_address_id, driver_id, status, delivery_tier,
      delivery_fee_cents, driver_payout_cents, payment_status, sms_status, tracking_token, pickup_address,
      pickup_location, assigned_at, expires_at)
    values (${ids.order}, ${body.retailer_id}, ${ids.customer}, ${ids.address}, ${driver?.id ?? null},
      ${driver ? 'driver_assigned' : 'pending_dispatch'}, ${tier.id}, ${tier.feeCents}, ${tier.payoutCents},
      ${driver ? 'processing' : 'not_charged'}, ${customer.sms_opt_in ? 'queued' : 'none'}, ${token},
      ${body.pickup_address}, ${pointOf(tx, pickup)}, case when ${driver !== undefined} then now() end,
      now() + make_interval(secs => ${tier.maxWaitSeconds}))
    returning created_at`;
}
