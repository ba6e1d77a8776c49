import type { Db } from '../db.ts';
import type { NewKey, NewRetailer } from './retailers.ts';

/** What an import keeps of a store besides. */
export type StoreImport = {
  /** Of the application that stands for it, as for every store that applied. */
  readonly applicationId: string;
  readonly contactEmail: string;
  readonly organizationId: string | null;
  /** The chain's own number of the store. */
  readonly externalId: string | null;
};

export type KnownStore = { readonly id: string; readonly organizationId: string | null };

/** The first store with this name and address; null if there is none. */
export async function findStoreNamed({ sql }: Db, name: string, address: string): Promise<KnownStore | null> {
  const [row] = await sql`
    select id, organization_id from retailers where name = ${name} and address = ${address} order by id limit 1`;
  return row ? { id: row.id, organizationId: row.organization_id } : null;
}

/** Whether there are stores, and none with this name and address. A database before its first migration has none. */
export async function hasOnlyOtherStores({ sql }: Db, name: string, address: string): Promise<boolean> {
  const [table] = await sql`select to_regclass('retailers') is not null as there`;
  if (table?.there !== true) return false;
  const [row] = await sql`
    select exists (select from retailers)
      and not exists (select from retailers where name = ${name} and address = ${address}) as others`;
  return row?.others;
}

/**
 * Adds an active store with its key and an approved application that holds its contact, unless a store of this
 * name and address is there by now; then false. The organization has room and exists.
 */
export async function importStore(
  { sql, processId }: Db,
  store: NewRetailer,
  key: NewKey,
  { applicationId, contactEmail, organizationId, externalId }: StoreImport,
): Promise<boolean> {
  const rows = await sql`
    with created as (
      insert into retailers (id, name, address, lat, lng, stripe_customer_id, stripe_payment_method_id,
        organization_id, external_id)
      select ${store.id}::uuid, ${store.name}, ${store.address}, ${store.point.lat}::float8, ${store.point.lng}::float8,
        ${store.stripeCustomerId}, ${store.stripePaymentMethodId}, ${organizationId}::uuid, ${externalId}
      where not exists (select from retailers where name = ${store.name} and address = ${store.address})
      returning id, name, address
    ), application as (
      insert into retailer_applications (id, name, address, contact_email, status, decided_at, retailer_id)
      select ${applicationId}::uuid, name, address, ${contactEmail}, 'approved', now(), id from created
    ), notice as (
      select pg_notify('sameday', ${processId} || ':organization:' || ${organizationId}::text)
      from created where ${organizationId}::uuid is not null
    ), added as (
      insert into api_keys (id, retailer_id, key_hash) select ${key.id}::uuid, id, ${key.keyHash} from created
      returning id
    )
    select from added where (select count(*) from notice) >= 0`;
  return rows.length === 1;
}
