import { expect, test } from 'vitest';
import { newId } from '../../../src/domain/ids.ts';
import { useFreshDatabase } from '../../harness/database.ts';
import { addStoreRow, type TestStore } from '../../harness/orders.ts';
import { storeOf } from '../../harness/store.ts';
import { chargedOrder, failCharges } from '../../harness/unpaid.ts';

const { sql } = await useFreshDatabase();

const me = storeOf(sql, 'me');
const account = ({ retailerId }: TestStore, allowed = 3) => me.findAccount(retailerId, allowed);

test('an account is that of its store', async () => {
  const store = await addStoreRow(sql);
  expect(await account(store)).toEqual({
    name: 'Corner Market',
    status: 'active',
    card: 'set',
    unpaidOrders: 0,
    paymentRequired: false,
  });
  await me.setRetailerStatus(store.retailerId, 'suspended');
  expect(await account(store)).toMatchObject({ status: 'suspended' });
  expect(await me.findAccount(newId(), 3)).toBeNull();
});

test('a card is none, set, failing after a refusal, and set again with another one or after a payment', async () => {
  const store = await addStoreRow(sql, null);
  expect(await account(store)).toMatchObject({ card: 'none' });
  await me.setCard(store.retailerId, 'cus_1', 'pm_1');
  expect(await account(store)).toMatchObject({ card: 'set' });
  await failCharges(sql, store, 2);
  expect(await account(store)).toMatchObject({ card: 'failing', unpaidOrders: 2, paymentRequired: false });
  await failCharges(sql, store, 1);
  expect(await account(store)).toMatchObject({ card: 'failing', unpaidOrders: 3, paymentRequired: true });
  expect(await account(store, 4)).toMatchObject({ paymentRequired: false });
  await me.setCard(store.retailerId, 'cus_1', 'pm_2');
  expect(await account(store)).toMatchObject({ card: 'set', unpaidOrders: 0, paymentRequired: false });
  const order = await chargedOrder(sql, store);
  await failCharges(sql, store, 1);
  expect(await account(store)).toMatchObject({ card: 'failing', unpaidOrders: 1 });
  await order.settle('paid');
  expect(await account(store)).toMatchObject({ card: 'set', unpaidOrders: 0 });
});
