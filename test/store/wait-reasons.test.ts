import { expect, test } from 'vitest';
import { useFreshDatabase } from '../harness/database.ts';
import { addDriverRow, addOrder, addStoreRow } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';

const { sql } = await useFreshDatabase();

test('the operator is told of a waiting order why nobody takes it, in the words of the API', async () => {
  const tables = storeOf(sql, 'test');
  const store = await addStoreRow(sql);
  const { orderId } = await addOrder(sql, store);
  await sql`update orders set size = 'large' where id = ${orderId}`;
  const reasons = async () => {
    const listed = await tables.listOrders(
      { status: null, since: null, until: null, text: orderId, retailerIds: null, driverIds: null },
      { limit: 1, after: null },
      3,
    );
    return [listed.rows[0]?.waiting_because, (await tables.showOrder(orderId, 3))?.waiting_because];
  };
  const expectReason = async (reason: string) => expect(await reasons()).toEqual([reason, reason]);

  await expectReason('no_driver_on_duty');
  const van = await addDriverRow(sql);
  await sql`update drivers set tiers = '{priority}', vehicle = 'van' where id = ${van}`;
  await expectReason('none_qualified');
  await addDriverRow(sql);
  await expectReason('no_vehicle');
  await sql`update drivers set tiers = '{standard}' where id = ${van}`;
  await expectReason('none_in_radius');
  await addOrder(sql, store, { driverId: van });
  await expectReason('all_drivers_busy');
  await sql`update orders set excluded_driver_ids = array[${van}]::uuid[] where id = ${orderId}`;
  await expectReason('given_back');
});
