import { expect, test } from 'vitest';
import { hashSecret, newId, newSecret } from '../../../src/domain/ids.ts';
import type { OrderStatus } from '../../../src/domain/order.ts';
import { MAX_ORGANIZATION_KEYS } from '../../../src/limits.ts';
import { LIST_SCAN_ROWS_PER_STORE } from '../../../src/store/accounts/orders-of-stores.ts';
import type { NewKey } from '../../../src/store/accounts/retailers.ts';
import type { Cursor } from '../../../src/store/pages.ts';
import { useFreshDatabase } from '../../harness/database.ts';
import { addOrder, addStoreRow, PICKUP } from '../../harness/orders.ts';
import { storeOf } from '../../harness/store.ts';
import { openTransaction, untilBlocked } from '../transaction.ts';

/** A filter of a list that asks for nothing. */
const ANY = { externalId: null, createdAfter: null, createdBefore: null, updatedAfter: null, cursor: null } as const;

const database = await useFreshDatabase();
const { sql } = database;

const store = storeOf(sql);
const newKey = (): NewKey => ({ id: newId(), keyHash: hashSecret(newSecret('organization_key', 'test')) });
const storesOf = async ({ keyHash }: NewKey) => (await store.findOrganizationKeys([keyHash])).get(keyHash)?.retailerIds;

async function organization() {
  const [id, key] = [newId(), newKey()];
  await store.addOrganization(id, 'Corner Markets');
  expect(await store.addOrganizationKey(id, key)).toBe(true);
  return { id, key };
}

test('a key finds the active stores of its organization, and no other', async () => {
  const [chain, other] = [await organization(), await organization()];
  const { retailerId } = await addStoreRow(sql);
  expect(await store.joinOrganization(chain.id, retailerId)).toBe('joined');
  expect([await storesOf(chain.key), await storesOf(other.key)]).toEqual([[retailerId], []]);
  expect(await store.joinOrganization(other.id, retailerId)).toBe('taken');
  expect(await store.leaveOrganization(other.id, retailerId)).toBe(false);
  await store.setRetailerStatus(retailerId, 'suspended');
  expect(await storesOf(chain.key)).toEqual([]);
  await store.setRetailerStatus(retailerId, 'active');
  expect(await store.leaveOrganization(chain.id, retailerId)).toBe(true);
  expect(await storesOf(chain.key)).toEqual([]);
  expect(await store.joinOrganization(newId(), retailerId)).toBe('unknown_organization');
  expect(await store.joinOrganization(chain.id, newId())).toBe('unknown_store');
});

test('an organization has at most so many good keys, also of commands at one moment', async () => {
  const { id, key } = await organization();
  const added = await Promise.all(
    Array.from({ length: MAX_ORGANIZATION_KEYS + 3 }, () => store.addOrganizationKey(id, newKey())),
  );
  expect(added.filter(Boolean)).toHaveLength(MAX_ORGANIZATION_KEYS - 1);
  const next = newKey();
  expect(await store.rotateOrganizationKey(id, key.id, next, 60)).toBe(false);
  expect(await storesOf(key)).toEqual([]);
  expect(await store.rotateOrganizationKey(id, key.id, next, 0)).toBeInstanceOf(Date);
  expect([await storesOf(key), await storesOf(next)]).toEqual([undefined, []]);
  expect(await store.rotateOrganizationKey(id, key.id, newKey(), 0)).toBeNull();
  expect(await store.revokeOrganizationKey(id, next.id)).toBe(true);
  expect(await store.revokeOrganizationKey(id, next.id)).toBe(false);
  expect(await store.addOrganizationKey(newId(), newKey())).toBeNull();
});

test('a rotated key of an organization goes on for its overlap', async () => {
  const { id, key } = await organization();
  const next = newKey();
  expect(await store.rotateOrganizationKey(id, key.id, next, 3_600)).toBeInstanceOf(Date);
  expect([await storesOf(key), await storesOf(next)]).toEqual([[], []]);
  await sql`update organization_keys set valid_until = now() where id = ${key.id}`;
  expect([await storesOf(key), await storesOf(next)]).toEqual([undefined, []]);
  await store.revokeEndedKeys(10);
  expect((await store.showOrganization(id))?.keys).toMatchObject([
    { key_id: key.id, revoked_at: expect.any(String) },
    {},
  ]);
});

test.each([0, 3_600])(
  'a key that is revoked while it is rotated stays revoked, with an overlap of %i s',
  async (overlap) => {
    const { id, key } = await organization();
    const other = await openTransaction(database);
    expect(await storeOf(other.sql).revokeOrganizationKey(id, key.id)).toBe(true);
    const next = newKey();
    const rotated = store.rotateOrganizationKey(id, key.id, next, overlap);
    await untilBlocked(database);
    await other.commit();
    expect(await rotated).toBeNull();
    expect([await storesOf(key), await storesOf(next)]).toEqual([undefined, undefined]);
  },
);

test('an order is found for its store’s organization, and for no other', async () => {
  const [one, other] = [await addStoreRow(sql), await addStoreRow(sql)];
  const { orderId } = await addOrder(sql, one, {});
  expect(await store.findStoreOrder(orderId, [other.retailerId, one.retailerId])).toMatchObject({
    id: orderId,
    retailer_id: one.retailerId,
  });
  for (const ids of [[other.retailerId], [], [newId()]]) expect(await store.findStoreOrder(orderId, ids)).toBeNull();
});

const STATUSES = ['delivered', 'cancelled', 'picked_up', 'delivered', 'returned'] as const;

/** Orders of several stores whose changes alternate, one store having far more than the others. */
async function chainWithOrders(): Promise<string[]> {
  const stores = [await addStoreRow(sql), await addStoreRow(sql), await addStoreRow(sql), await addStoreRow(sql)];
  const ids = stores.map(({ retailerId }) => retailerId);
  const each = LIST_SCAN_ROWS_PER_STORE * 4;
  await sql`
    insert into orders (id, retailer_id, customer_id, dropoff_address_id, driver_id, status, delivery_tier,
      delivery_fee_cents, driver_payout_cents, payment_status, sms_status, tracking_token, pickup_address, pickup_lat,
      pickup_lng, pickup_point_source, created_at, updated_at, expires_at)
    select gen_random_uuid(), (${ids}::uuid[])[case when n % 7 < 5 then 1 else 2 + n % 2 end], gen_random_uuid(),
      gen_random_uuid(), gen_random_uuid(), (${[...STATUSES]}::text[])[1 + n % 5],
      'standard', 799, 550, 'paid', 'none', gen_random_uuid()::text, 'One Test Square', ${PICKUP.lat}, ${PICKUP.lng},
      'registered', t, t, t
    from generate_series(1, ${each}::int) n, lateral (select now() - make_interval(secs => 1000 - n / 3)) x (t)`;
  return ids;
}

test.each<[OrderStatus | null, number]>([
  [null, 7],
  [null, 100],
  ['delivered', 7],
  ['cancelled', 3],
  ['picked_up', 5],
  ['expired', 10],
])(
  'pages of several stores list each order in status %s once, %i at a time, in the order of their changes',
  async (status, limit) => {
    const ids = await chainWithOrders();
    await addOrder(sql, await addStoreRow(sql), {});
    const listed: Record<string, unknown>[] = [];
    for (let cursor: Cursor | null | undefined; cursor !== null; ) {
      const filter = { ...ANY, status, limit, cursor: cursor ?? null };
      const { orders, next } = await store.listOrdersOfStores(ids, filter);
      expect(orders.length).toBeLessThanOrEqual(limit);
      listed.push(...(orders as unknown as Record<string, unknown>[]));
      cursor = next;
    }
    const expected = await sql`
    select id, retailer_id from orders where retailer_id = any(${ids}::uuid[])
      and ${status === null ? sql`true` : sql`status = ${status}`}
    order by updated_at, id`;
    expect(listed.map(({ id, retailer_id }) => ({ id, retailer_id }))).toEqual(expected.map((row) => ({ ...row })));
    expect(await store.listOrdersOfStores([], { ...ANY, status, limit })).toEqual({
      orders: [],
      next: null,
    });
  },
);
