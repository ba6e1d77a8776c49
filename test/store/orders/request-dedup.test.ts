import { expect, test } from 'vitest';
import type { Identity } from '../../../src/domain/idempotency.ts';
import { newId } from '../../../src/domain/ids.ts';
import { connect } from '../../../src/postgres/connect.ts';
import type { NewOrder } from '../../../src/store/orders/orders-create.ts';
import { useFreshDatabase } from '../../harness/database.ts';
import { addStoreRow, draftOrder } from '../../harness/orders.ts';
import { storeOf } from '../../harness/store.ts';
import { openTransaction } from '../transaction.ts';

const database = await useFreshDatabase();
const { sql } = database;
const store = await addStoreRow(sql);

let fingerprints = 0;
const newFingerprint = (): string => `fingerprint ${++fingerprints}`;
const draft = (fingerprint: string, key: Identity['key'] = null): Promise<NewOrder> =>
  draftOrder(sql, store, { idempotency: { key, fingerprint } });
const insert = async (orders: readonly NewOrder[], processId: string): Promise<('made' | 'repeated' | 'missing')[]> => {
  const inserted = await storeOf(sql, processId).insertOrders(orders);
  return orders.map(({ id }) => (inserted.get(id) ? 'made' : inserted.has(id) ? 'repeated' : 'missing'));
};
const age = (fingerprint: string, by: string) =>
  sql`update unheard_requests set at = at - ${by}::interval where fingerprint = ${fingerprint}`;
const record = (fingerprint: string, ...ids: string[]) =>
  storeOf(sql, 'a').recordLostReplies(ids.map((orderId) => ({ fingerprint, orderId })));
const found = (fingerprint: string, limit = 100) => storeOf(sql).findLostReplies(fingerprint, limit);
const take = async (fingerprint: string, ...ids: string[]) => [
  ...(await storeOf(sql, 'b').takeLostReplies(ids.map((orderId) => ({ fingerprint, orderId })))).keys(),
];
const rowOf = async (fingerprint: string) => {
  const [row] = await sql`select origin, abandoned from unheard_requests where fingerprint = ${fingerprint}`;
  return row && { ...row };
};

test('equal requests are separate orders, in one batch and in two, and leave no row', async () => {
  const fingerprint = newFingerprint();
  expect(await insert([await draft(fingerprint), await draft(fingerprint)], 'a')).toEqual(['made', 'made']);
  expect(await insert([await draft(fingerprint)], 'a')).toEqual(['made']);
  expect(await insert([await draft(fingerprint)], 'b')).toEqual(['made']);
  expect(await rowOf(fingerprint)).toBeUndefined();
});

test('an equal request does not wait for one that another process is committing', async () => {
  const fingerprint = newFingerprint();
  const inFlight = await openTransaction(database);
  expect((await storeOf(inFlight.sql, 'a').insertOrders([await draft(fingerprint)])).size).toBe(1);
  expect(await insert([await draft(fingerprint)], 'b')).toEqual(['made']);
  await inFlight.rollback();
});

test('of equal requests as many are held back as orders wait for one, at any process', async () => {
  const fingerprint = newFingerprint();
  await record(fingerprint, newId(), newId());
  const other = await draft(newFingerprint());
  const equal = await Promise.all(Array.from({ length: 5 }, () => draft(fingerprint)));
  const keyed = await draft(fingerprint, 'a key of its own');
  const [ofKeyed, ofOther, ...ofEqual] = await insert([keyed, other, ...equal], 'a');
  expect([ofKeyed, ofOther]).toEqual(['made', 'made']);
  expect(ofEqual.toSorted()).toEqual(['made', 'made', 'made', 'repeated', 'repeated']);
  const heldBack = equal.filter((_, i) => ofEqual[i] === 'repeated');
  expect(await insert(heldBack, 'b')).toEqual(['repeated', 'repeated']);
  expect(await take(fingerprint, ...(await found(fingerprint)))).toHaveLength(2);
  expect(await insert(heldBack, 'b')).toEqual(['made', 'made']);
});

test('an order that was cancelled or has expired holds nothing back and is not found; one without a row does', async () => {
  const fingerprint = newFingerprint();
  const [cancelled, expired, waiting] = [await draft(fingerprint), await draft(fingerprint), await draft(fingerprint)];
  expect(await insert([cancelled, expired, waiting], 'a')).toEqual(['made', 'made', 'made']);
  const unknown = newId();
  await record(fingerprint, cancelled.id, expired.id, waiting.id, unknown);
  await storeOf(sql, 'a').cancelOrder(cancelled.id, 'operator', 'other');
  await sql`update orders set status = 'expired' where id = ${expired.id}`;
  expect(await found(fingerprint)).toEqual([waiting.id, unknown]);
  const equal = await Promise.all([draft(fingerprint), draft(fingerprint), draft(fingerprint)]);
  expect((await insert(equal, 'b')).toSorted()).toEqual(['made', 'repeated', 'repeated']);
  await record(fingerprint, waiting.id);
  expect(await rowOf(fingerprint)).toMatchObject({ abandoned: [waiting.id, unknown] });
});

test('lost replies are found oldest first, as many as are asked for, each once', async () => {
  const fingerprint = newFingerprint();
  const [first, second, third] = [newId(), newId(), newId()];
  await record(fingerprint, third, first);
  await record(fingerprint, second, first);
  expect(await found(fingerprint)).toEqual([first, second, third]);
  expect(await found(fingerprint, 2)).toEqual([first, second]);
  expect(await found(newFingerprint())).toEqual([]);
});

test('one statement records lost replies of several bodies, and another takes them', async () => {
  const replies = Array.from({ length: 6 }, (_, i) => ({ fingerprint: `several ${i % 2}`, orderId: newId() }));
  await storeOf(sql, 'a').recordLostReplies(replies);
  expect(await found('several 0')).toHaveLength(3);
  expect(await found('several 1')).toHaveLength(3);
  const taken = await storeOf(sql, 'b').takeLostReplies(replies.slice(0, 5));
  expect([...taken.keys()].toSorted()).toEqual(
    replies
      .slice(0, 5)
      .map(({ orderId }) => orderId)
      .toSorted(),
  );
  expect(await rowOf('several 0')).toBeUndefined();
  expect(await rowOf('several 1')).toMatchObject({ abandoned: [replies[5]?.orderId] });
});

test('a lost reply is taken once, also by two at the same moment, and again if it was recorded again', async () => {
  const fingerprint = newFingerprint();
  const [first, second] = [newId(), newId()];
  await record(fingerprint, first, second);
  const both = await Promise.all([take(fingerprint, first), take(fingerprint, first)]);
  expect(both.flat()).toEqual([first]);
  expect(await take(fingerprint, first)).toEqual([]);
  await record(fingerprint, first);
  expect(await take(fingerprint, first, second)).toHaveLength(2);
  expect(await rowOf(fingerprint)).toBeUndefined();
  expect(await take(fingerprint, first)).toEqual([]);
});

test('after ten minutes nothing is held back or found, and the row is deleted', async () => {
  const [old, pruned] = [newFingerprint(), newFingerprint()];
  for (const fingerprint of [old, pruned]) {
    await record(fingerprint, newId());
    expect(await insert([await draft(fingerprint)], 'b')).toEqual(['repeated']);
    await age(fingerprint, '601 s');
    expect(await insert([await draft(fingerprint)], 'b')).toEqual(['made']);
    expect(await found(fingerprint)).toEqual([]);
  }
  const later = newId();
  await record(old, later);
  expect(await found(old)).toEqual([later]);
  expect(await storeOf(sql).pruneRequests(1_000)).toBe(1);
  expect(await rowOf(pruned)).toBeUndefined();
});

test('a repeated request is explained as a lost driver if nothing else is wrong with it', async () => {
  const fingerprint = newFingerprint();
  await record(fingerprint, newId());
  const again = await draft(fingerprint);
  expect(await insert([again], 'b')).toEqual(['repeated']);
  expect([...(await storeOf(sql).explainRefused([again])).values()]).toEqual(['driver_lost']);
});

test('statements that record and take the same lost replies in opposite orders do not deadlock', async () => {
  const other = connect({ url: database.url, applicationName: 'other', max: 2 });
  const replies = Array.from({ length: 100 }, () => ({ fingerprint: newFingerprint(), orderId: newId() }));
  const reversed = [...replies].reverse();
  for (let round = 0; round < 10; round++) {
    await Promise.all([
      storeOf(sql, 'a').recordLostReplies(replies),
      storeOf(other, 'b').recordLostReplies(reversed),
      storeOf(sql, 'a').takeLostReplies(reversed),
      storeOf(other, 'b').takeLostReplies(replies),
    ]);
  }
  await other.end({ timeout: 1 });
});
