import { expect, test } from 'vitest';
import { useFreshDatabase } from '../harness/database.ts';
import { addOrder, addStoreRow } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';

const { sql } = await useFreshDatabase();

test('the operator is shown an order with its fields in the order of the tables', async () => {
  const tables = storeOf(sql);
  const store = await addStoreRow(sql);
  const { orderId } = await addOrder(sql, store);
  const columns = await sql`
    select column_name as name from information_schema.columns where table_name = 'orders' order by ordinal_position`;
  const hidden = ['request_fingerprint', 'extras_fingerprint'];
  const fields = columns.map(({ name }) => name).filter((name) => !hidden.includes(name));
  const shown = (await tables.showOrder(orderId)) as { order: object; events: object[] };
  expect(Object.keys(shown.order)).toEqual(fields);
  expect(Object.keys(shown.events[0] ?? {})[0]).toBe('sequence');
});
