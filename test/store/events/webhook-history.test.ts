import { expect, test } from 'vitest';
import { newId } from '../../../src/domain/ids.ts';
import { DELIVERY_STATUSES, type DeliveryStatus } from '../../../src/domain/webhook.ts';
import { LIST_SCAN_ROWS } from '../../../src/store/orders/orders-list.ts';
import type { Cursor } from '../../../src/store/pages.ts';
import { useFreshDatabase } from '../../harness/database.ts';
import { addStoreRow } from '../../harness/orders.ts';
import { storeOf } from '../../harness/store.ts';

const MANY = 2 * LIST_SCAN_ROWS + 500;

// One connection, so that it tells what it has read itself.
const { sql } = await useFreshDatabase({ max: 1 });
/** A store whose deliveries are mostly accepted, one whose all fail, and one whose all still wait. */
const mostly = new Map<DeliveryStatus, string>();

/** Adds deliveries to the operator's webhook of a store, each a second after the one before. */
async function addDeliveries(retailerId: string, status: DeliveryStatus, count: number, sinceSeconds: number) {
  await sql`
    with made as (
      insert into outbox (queue, order_id, retailer_id, lease_until, done_at)
      select 'webhook', gen_random_uuid(), ${retailerId}, now(), case when ${status !== 'pending'} then now() end
      from generate_series(1, ${count}::int) returning id
    )
    insert into webhook_deliveries (outbox_id, retailer_id, order_id, type, sequence, payload, status, created_at)
    select id, ${retailerId}, gen_random_uuid(), 'order.assigned', 1, '{}', ${status},
      now() - make_interval(secs => ${sinceSeconds}::int - row_number() over ()) from made`;
}

for (const status of DELIVERY_STATUSES) {
  const { retailerId } = await addStoreRow(sql);
  mostly.set(status, retailerId);
  await storeOf(sql).setWebhook(retailerId, 'https://store.test/hook', 'whsec_c2VjcmV0');
  await addDeliveries(retailerId, status, MANY, 50_000);
  for (const other of DELIVERY_STATUSES) if (other !== status) await addDeliveries(retailerId, other, 3, 60_000);
}
await sql`analyze webhook_deliveries, outbox`;

/** The rows of deliveries that this connection has read so far. */
async function rowsRead(): Promise<number> {
  await sql`select pg_stat_force_next_flush()`;
  await sql`select pg_stat_clear_snapshot()`;
  const [row] = await sql`
    select sum(seq_tup_read + idx_tup_fetch)::int as read from pg_stat_user_tables
    where relname in ('webhook_deliveries', 'outbox')`;
  return row?.read;
}

/** All pages of a list: the ids, how many each has, and the rows that the most expensive one read. */
async function wholeList(retailerId: string, status: DeliveryStatus | null, limit = 100) {
  const ids: string[] = [];
  const sizes: number[] = [];
  let mostRead = 0;
  for (let cursor: Cursor | null | undefined; cursor !== null; ) {
    const before = await rowsRead();
    const owner = { kind: 'store', id: retailerId } as const;
    const filter = { status, limit, cursor: cursor ?? null };
    const page = await storeOf(sql).listDeliveriesOf(owner, retailerId, filter);
    mostRead = Math.max(mostRead, (await rowsRead()) - before);
    ids.push(...(page?.deliveries ?? []).map(({ id }) => id));
    sizes.push(page?.deliveries.length ?? 0);
    cursor = page?.next ?? null;
  }
  return { ids, sizes, mostRead };
}

test.each([
  ['delivered', 'failed'],
  ['delivered', 'pending'],
  ['pending', 'failed'],
  ['failed', 'pending'],
] as const)('where most deliveries are %s, the few that are %s are one page, read by themselves', async (most, few) => {
  const { sizes, mostRead } = await wholeList(mostly.get(most) ?? '', few);
  expect(sizes).toEqual([3]);
  expect(mostRead).toBeLessThan(100);
});

test.each(['failed', 'pending'] as const)(
  'where most deliveries are %s, the accepted ones are found in pages that end early',
  async (most) => {
    const { sizes, mostRead } = await wholeList(mostly.get(most) ?? '', 'delivered');
    expect(sizes).toEqual([0, 0, 3]);
    expect(mostRead).toBeLessThanOrEqual(LIST_SCAN_ROWS + 100);
  },
);

test.each([...DELIVERY_STATUSES, null])(
  'pages of %s hold each delivery once, newest first, and read little',
  async (status) => {
    const retailerId = mostly.get(status ?? 'delivered') ?? '';
    const { ids, mostRead } = await wholeList(retailerId, status);
    const expected = await sql`
    select id from webhook_deliveries where retailer_id = ${retailerId} and (${status}::text is null or status = ${status})
    order by created_at desc, id desc`;
    expect(ids).toEqual(expected.map(({ id }) => id));
    expect(mostRead).toBeLessThan(1_000);
  },
);

test('a webhook of another owner has no list', async () => {
  const [retailerId = ''] = mostly.values();
  const filter = { status: null, limit: 10, cursor: null };
  expect(await storeOf(sql).listDeliveriesOf({ kind: 'store', id: newId() }, retailerId, filter)).toBeNull();
});
