import { expect, onTestFinished, test, vi } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import { createReadRates } from '../../src/http/store-rate.ts';
import { ordersCharge } from '../../src/payments/orders-charge.ts';
import { createRetryCharge } from '../../src/payments/retry-charge.ts';
import type { RetailerKey } from '../../src/store/accounts/retailers.ts';
import { CARD_WINDOW_SECONDS, MAX_CARD_DECLINES } from '../../src/store/payments/card-tries.ts';
import { useFreshDatabase } from '../harness/database.ts';
import { addStoreRow } from '../harness/orders.ts';
import { storeOf } from '../harness/store.ts';
import { failCharges } from '../harness/unpaid.ts';
import { letIn, postJson, replyOf, startServer } from './support.ts';

const database = await useFreshDatabase();

test('a body that names a field, such as a card, is refused, and an empty one is none', async () => {
  const retryCharge = vi.fn(async () => ({ kind: 'retried' }) as const);
  const stores = letIn({ retailerId: newId() } as RetailerKey);
  const { url } = await startServer({
    routes: [ordersCharge({ stores, reads: createReadRates(0), dispatch: { retryCharge } })],
  });
  const send = async (body: string) => {
    const reply = await postJson(`${url}/orders/${newId()}/charge`, body);
    const { error } = (await reply.json()) as { error?: { fields: readonly { field: string }[] } };
    return [reply.status, ...(error?.fields ?? []).map(({ field }) => field)];
  };
  expect(await send('{"payment_method": "pm_another"}')).toEqual([400, 'payment_method']);
  expect(retryCharge).not.toHaveBeenCalled();
  expect([await send(''), await send('{}')]).toEqual([[202], [202]]);
});

test('calls that try nothing again pass the rate of reads, and no further ones', async () => {
  const retryCharge = vi.fn(async () => ({ kind: 'not_found' }) as const);
  const stores = letIn({ retailerId: newId() } as RetailerKey);
  const route = ordersCharge({ stores, reads: createReadRates(1), dispatch: { retryCharge } });
  const ask = async () => {
    const reply = await replyOf([route], route.pattern, newId()).catch((error: unknown) => error);
    return (reply as { code?: string }).code;
  };
  vi.useFakeTimers({ toFake: ['setTimeout', 'Date'] });
  onTestFinished(() => void vi.useRealTimers());
  expect([await ask(), await ask()]).toEqual(['not_found', 'rate_limited']);
  expect(retryCharge).toHaveBeenCalledOnce();
});

test('a retry on a card without room for a decline uses up no try, and tells when it may come', async () => {
  const { sql } = database;
  const tables = storeOf(sql, 'test');
  const { retailerId, keyId } = await addStoreRow(sql);
  const [orderId = ''] = await failCharges(sql, { retailerId, keyId }, MAX_CARD_DECLINES);
  const relayed: unknown[] = [];
  const retryCharge = createRetryCharge({
    store: tables,
    relay: { relay: (jobs) => void relayed.push(jobs) },
    matcher: { isWatched: () => false },
    events: { storeChanged: () => undefined },
  });
  const stores = letIn({ retailerId, keyId } as RetailerKey);
  const { url } = await startServer({
    routes: [ordersCharge({ stores, reads: createReadRates(0), dispatch: { retryCharge } })],
  });
  const ask = async () => {
    const reply = await fetch(`${url}/orders/${orderId}/charge`, { method: 'POST' });
    return { status: reply.status, after: Number(reply.headers.get('retry-after')) };
  };
  expect(await ask()).toEqual({ status: 429, after: expect.closeTo(CARD_WINDOW_SECONDS, -2) });
  expect(await tables.findPaymentState(orderId, retailerId)).toMatchObject({ paymentStatus: 'failed', timesAsked: 0 });
  expect(relayed).toEqual([]);
  await tables.setCard(retailerId, 'cus_1', 'pm_another');
  expect((await ask()).status).toBe(202);
  expect(relayed).toHaveLength(1);
});
