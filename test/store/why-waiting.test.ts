import { expect, onTestFinished, test } from 'vitest';
import { freshDatabase } from '../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';

test('the operator is told why an order waits, as its store is, with the fields in the order of the tables', async () => {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  const { sql } = database;
  const tables = storeOf(sql);
  const store = await addStoreRow(sql);
  const { orderId } = await addOrder(sql, store);
  const search = { status: null, since: null, until: null, text: orderId, retailerIds: null, driverIds: null };
  const why = async () => {
    const shown = await tables.showOrder(orderId);
    const { rows } = await tables.listOrders(search, { limit: 1, after: null });
    expect(rows[0]).toMatchObject({ waiting_because: shown?.waiting_because });
    return shown?.waiting_because;
  };
  expect(await why()).toBe('no_driver_on_duty');
  const driverId = await addDriverRow(sql);
  expect(await why()).toBe('none_in_radius');
  await sql`update drivers set tiers = '{priority}'`;
  expect(await why()).toBe('none_qualified');
  await sql`update drivers set tiers = '{standard}'`;
  const carried = await addOrder(sql, store, { driverId });
  expect(await why()).toBe('all_drivers_busy');
  expect(await tables.showOrder(carried.orderId)).not.toHaveProperty('waiting_because');
  await sql`update orders set excluded_driver_ids = array[${driverId}::uuid] where id = ${orderId}`;
  expect(await why()).toBe('given_back');
  const columns = await sql`
    select column_name as name from information_schema.columns where table_name = 'orders' order by ordinal_position`;
  const hidden = ['request_fingerprint', 'extras_fingerprint'];
  const fields = columns.map(({ name }) => name).filter((name) => !hidden.includes(name));
  const shown = (await tables.showOrder(orderId)) as { order: object; events: object[] };
  expect(Object.keys(shown.order)).toEqual(fields);
  expect(Object.keys(shown.events[0] ?? {})[0]).toBe('sequence');
});
