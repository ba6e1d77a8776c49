import type { Fragment, Sql } from 'postgres';
import type { Point } from '../../geo/point.ts';
import type { Db } from '../db.ts';
import { changeAndTell, keyIsGood } from '../fragments.ts';

/** The store and the key of an authenticated request. */
export type RetailerKey = {
  readonly keyId: string;
  /** Whether the key has an end, after a rotation with an overlap. */
  readonly keyEnds: boolean;
  readonly retailerId: string;
  readonly name: string;
  readonly address: string;
  readonly point: Point;
  /** Most orders it may create a second; 0 for no bound, null for the bound of all stores. */
  readonly ordersPerSecond: number | null;
};

export type NewRetailer = {
  readonly id: string;
  readonly name: string;
  readonly address: string;
  readonly point: Point;
  readonly stripeCustomerId: string | null;
  readonly stripePaymentMethodId: string | null;
};

export type NewKey = { readonly id: string; readonly keyHash: string };

/** The active store with a key of this hash; null if the key or the store is unknown or not active. */
export async function findKey(db: Db, keyHash: string): Promise<RetailerKey | null> {
  return (await findKeys(db, [keyHash])).get(keyHash) ?? null;
}

/** The same for many hashes, by hash; a key without an active store is missing. */
export async function findKeys({ sql }: Db, keyHashes: readonly string[]): Promise<Map<string, RetailerKey>> {
  const rows = await sql`
    select k.key_hash, k.id as key_id, k.valid_until is not null as key_ends, r.id,
      r.name, r.address, r.lat, r.lng, r.orders_per_second
    from api_keys k join retailers r on r.id = k.retailer_id
    where k.key_hash = any(${keyHashes as string[]}::text[]) and ${keyIsGood(sql)} and r.status = 'active'`;
  return new Map(
    rows.map((row) => [
      row.key_hash,
      {
        keyId: row.key_id,
        keyEnds: row.key_ends,
        retailerId: row.id,
        name: row.name,
        address: row.address,
        point: { lat: row.lat, lng: row.lng },
        ordersPerSecond: row.orders_per_second,
      },
    ]),
  );
}

const addRetailer = (sql: Sql, r: NewRetailer, when: Fragment) => sql`
  insert into retailers (id, name, address, lat, lng, stripe_customer_id, stripe_payment_method_id)
  select ${r.id}::uuid, ${r.name}, ${r.address}, ${r.point.lat}::float8, ${r.point.lng}::float8,
    ${r.stripeCustomerId}, ${r.stripePaymentMethodId} ${when} returning id`;

/** Adds an active store with its first key. False where there is a store with this id. */
export async function createRetailer({ sql }: Db, retailer: NewRetailer, key: NewKey): Promise<boolean> {
  const { count } = await sql`
    with created as (${addRetailer(sql, retailer, sql`on conflict (id) do nothing`)})
    insert into api_keys (id, retailer_id, key_hash) select ${key.id}, id, ${key.keyHash} from created`;
  return count === 1;
}

export type NewApplication = {
  readonly id: string;
  readonly name: string;
  readonly address: string;
  readonly contactEmail: string;
};

/** Records a store's application for access. */
export async function applyRetailer({ sql }: Db, application: NewApplication): Promise<void> {
  const { id, name, address, contactEmail } = application;
  await sql`
    insert into retailer_applications (id, name, address, contact_email)
    values (${id}, ${name}, ${address}, ${contactEmail})`;
}

export type Application = NewApplication & { readonly status: 'applied' | 'approved' | 'rejected' };

export async function findApplication({ sql }: Db, id: string): Promise<Application | null> {
  const [application] = await sql<Application[]>`
    select id, name, address, contact_email as "contactEmail", status from retailer_applications where id = ${id}`;
  return application ?? null;
}

/** Approves an application and creates its store and key, in one statement. False if it is not open. */
export async function approveApplication(
  { sql }: Db,
  applicationId: string,
  retailer: NewRetailer,
  key: NewKey,
): Promise<boolean> {
  const rows = await sql`
    with decided as (
      update retailer_applications set status = 'approved', decided_at = now(), retailer_id = ${retailer.id}
      where id = ${applicationId} and status = 'applied' returning id
    ), created as (${addRetailer(sql, retailer, sql`from decided`)})
    insert into api_keys (id, retailer_id, key_hash) select ${key.id}::uuid, id, ${key.keyHash} from created
    returning id`;
  return rows.length === 1;
}

/** Rejects an application with a note. False if it is unknown or not open. */
export async function rejectApplication({ sql }: Db, applicationId: string, note: string): Promise<boolean> {
  const rows = await sql`
    update retailer_applications set status = 'rejected', decided_at = now(), decision_note = ${note}
    where id = ${applicationId} and status = 'applied' returning id`;
  return rows.length === 1;
}

/**
 * Suspends or activates a store; false for an unknown one. After a suspension has returned, no new request
 * creates an order for the store, and no waiting order of it gets a driver.
 */
export function setRetailerStatus(db: Db, retailerId: string, status: 'active' | 'suspended'): Promise<boolean> {
  return changeRetailer(db, retailerId, db.sql`status = ${status}`);
}

/** Corrects a store; what is null stays. False for an unknown store. */
export function correctRetailer(
  db: Db,
  retailerId: string,
  {
    name,
    address,
    point,
  }: { readonly name: string | null; readonly address: string | null; readonly point: Point | null },
): Promise<boolean> {
  return changeRetailer(
    db,
    retailerId,
    db.sql`name = coalesce(${name}, name), address = coalesce(${address}, address),
      lat = coalesce(${point?.lat ?? null}::float8, lat), lng = coalesce(${point?.lng ?? null}::float8, lng)`,
  );
}

/** Sets the most orders a store may create a second: 0 for no bound, null for the bound of all stores. */
export function setOrdersPerSecond(db: Db, retailerId: string, perSecond: number | null): Promise<boolean> {
  return changeRetailer(db, retailerId, db.sql`orders_per_second = ${perSecond}`);
}

/**
 * Revokes every key of a store and adds a new one; false for an unknown store. Afterwards no new request
 * creates an order with an old key.
 */
export async function rotateKey({ sql }: Db, retailerId: string, key: NewKey): Promise<boolean> {
  const rows = await sql`
    with revoked as (
      update api_keys set revoked_at = least(now(), valid_until) where retailer_id = ${retailerId} and revoked_at is null
    )
    insert into api_keys (id, retailer_id, key_hash)
    select ${key.id}::uuid, id, ${key.keyHash} from retailers where id = ${retailerId} returning id`;
  return rows.length === 1;
}

/**
 * Sets Stripe's customer and card that a store's deliveries are charged to, or takes them away; false for an
 * unknown store. Its unpaid orders do not count against the new card. Until one is paid on it, the store is as
 * unproven as before.
 */
export function setCard(
  db: Db,
  retailerId: string,
  stripeCustomerId: string | null,
  stripePaymentMethodId: string | null,
): Promise<boolean> {
  const card = db.sql`stripe_customer_id = ${stripeCustomerId}, stripe_payment_method_id = ${stripePaymentMethodId},
    card_set_at = now()`;
  return changeRetailer(db, retailerId, card);
}

/**
 * Sets the card that a store gave to Stripe at `at`, as {@link setCard} does; null where it has none by now, in
 * which case the one of before goes too. False for an unknown store, and
 * where its card was set since then.
 */
export function setCardOf(
  db: Db,
  retailerId: string,
  card: { readonly customerId: string; readonly paymentMethodId: string | null },
  at: Date,
): Promise<boolean> {
  const set = db.sql`stripe_customer_id = ${card.customerId}, stripe_payment_method_id = ${card.paymentMethodId},
    card_set_at = ${at}::timestamptz`;
  return changeRetailer(db, retailerId, set, db.sql`(card_set_at is null or card_set_at < ${at}::timestamptz)`);
}

/**
 * Takes a card away that Stripe no longer has, from the store that it was set for. Its unpaid orders count on.
 * False where no store has it.
 */
export async function removeCard(db: Db, paymentMethodId: string): Promise<boolean> {
  const change = db.sql`
    update retailers set stripe_payment_method_id = null, updated_at = now()
    where stripe_payment_method_id = ${paymentMethodId}`;
  return (await changeAndTell(db, 'retailer', change)) > 0;
}

/** The name of a store and its customer at Stripe; null for an unknown store. */
export async function findCardHolder(
  { sql }: Db,
  retailerId: string,
): Promise<{ readonly name: string; readonly customerId: string | null } | null> {
  const [row] = await sql`select name, stripe_customer_id from retailers where id = ${retailerId}`;
  return row ? { name: row.name, customerId: row.stripe_customer_id } : null;
}

/** Keeps the customer that was made for a store at Stripe, unless it has one by now; returns the one it has. */
export async function keepCustomer({ sql }: Db, retailerId: string, customerId: string): Promise<string | null> {
  const [row] = await sql`
    update retailers set stripe_customer_id = coalesce(stripe_customer_id, ${customerId})
    where id = ${retailerId} returning stripe_customer_id`;
  return row?.stripe_customer_id ?? null;
}

/** False for an unknown store, and for one that is not as `where` says. */
async function changeRetailer(db: Db, retailerId: string, set: Fragment, where = db.sql`true`): Promise<boolean> {
  const change = db.sql`update retailers set ${set}, updated_at = now() where id = ${retailerId} and ${where}`;
  return (await changeAndTell(db, 'retailer', change)) === 1;
}

/** Whether a key that was found before is still valid and its store active. */
export async function isKeyGood({ sql }: Db, { keyId, retailerId }: RetailerKey): Promise<boolean> {
  const rows = await sql`
    select from api_keys k join retailers r on r.id = k.retailer_id
    where k.id = ${keyId} and r.id = ${retailerId} and ${keyIsGood(sql)} and r.status = 'active'`;
  return rows.length === 1;
}
