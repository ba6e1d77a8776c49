import { describe, expect, it } from 'vitest';
import { newId } from '../../../src/domain/ids.ts';
import { UNSTAMPED } from '../../harness/orders.ts';
import { storeOf } from '../../harness/store.ts';
import { openAttempt, recordAttempt, recordText } from '../../harness/vendor-rows.ts';
import { noticesDuring } from '../transaction.ts';

import {
  deliveriesOf,
  endpoint,
  fail,
  failingFor,
  job,
  newDelivery,
  newDriver,
  newOrder,
  reopened,
  retailerId,
  show,
  types,
  URL_OF_STORE,
  useWebhookWorld,
} from '../webhook-world.ts';

const database = await useWebhookWorld();
const { sql } = database;

describe('a delivery is made', () => {
  it('of a parcel that could not be handed over and came back', async () => {
    const driverId = await newDriver();
    const orderId = await newOrder(driverId);
    await storeOf(sql, 'test').pickUpOrder(orderId, driverId, UNSTAMPED);
    await storeOf(sql, 'test').markUndeliverable(orderId, driverId, 'nobody_home', UNSTAMPED);
    await storeOf(sql, 'test').returnOrder(orderId, driverId, { actionId: newId(), capturedAt: new Date(0) });
    const all = await deliveriesOf(orderId);
    expect(all.slice(2).map(({ type, data }) => [type, data.reason])).toEqual([
      ['order.undeliverable', 'nobody_home'],
      ['order.returned', undefined],
    ]);
  });

  it('of a cancelled order and its refund', async () => {
    const orderId = await newOrder(await newDriver());
    const attempt = await openAttempt(sql, orderId);
    await recordAttempt(sql, attempt as never, { status: 'paid', paymentIntentId: 'pi_1' }, 0, 'test');
    const cancelled = await storeOf(sql, 'test').cancelOrder(orderId, 'operator', 'duplicate');
    expect(cancelled?.outbox.map(({ queue }) => queue)).toEqual(['refund']);
    await storeOf(sql, 'test').recordRefund(orderId, 're_1', 0);
    expect((await deliveriesOf(orderId)).slice(1)).toMatchObject([
      { type: 'order.cancelled', data: { status: 'cancelled', by: 'operator', reason: 'duplicate' } },
      { type: 'order.refunded', data: { status: 'cancelled', payment_status: 'refunded' } },
    ]);
  });

  it('of a card that was declined for good, and of nothing else about payments and texts', async () => {
    const orderId = await newOrder(await newDriver());
    await sql`insert into messages (order_id, status) values (${orderId}, 'sending')`;
    await recordText(sql, orderId, { status: 'sent', sid: 'SM1' }, 0, 'test');
    const attempt = await openAttempt(sql, orderId);
    const declined = { status: 'declined', failureCode: 'expired_card', final: true } as const;
    await recordAttempt(sql, attempt as never, declined, 0, 'test');
    expect((await deliveriesOf(orderId)).slice(1)).toMatchObject([
      { type: 'order.payment_failed', data: { payment_status: 'failed', code: 'expired_card' } },
    ]);
  });

  it('of an order that expires', async () => {
    const orderId = await newOrder();
    await sql`update orders set expires_at = now() where id = ${orderId}`;
    await storeOf(sql, 'test').expireOrder(orderId);
    expect(await types(orderId)).toEqual(['order.expired']);
  });

  it('without anything about the customer', async () => {
    const orderId = await newOrder(await newDriver());
    await storeOf(sql, 'test').cancelOrder(orderId, { retailerId }, 'customer_request');
    const text = JSON.stringify(await deliveriesOf(orderId));
    for (const value of ['Jordan', 'example.com', '4155550123', 'Valencia', '94103']) expect(text).not.toContain(value);
  });
});

describe('an attempt', () => {
  it('sends the stored text unchanged', async () => {
    const delivery = await newDelivery();
    expect(delivery).toMatchObject({ attempts: 0, endpoint: { url: URL_OF_STORE, heldSeconds: 0 } });
    const [row] = await sql`select payload::text as text from webhook_deliveries where id = ${delivery.id}`;
    expect(delivery.payload).toBe(row?.text);
    expect(JSON.parse(delivery.payload)).toMatchObject({ type: 'order.assigned' });
  });

  it('that was accepted ends the delivery and the endpoint’s failures', async () => {
    const delivery = await newDelivery();
    await failingFor(600);
    await storeOf(sql).recordDelivered(delivery, '204');
    expect(await show(delivery.id)).toMatchObject({ status: 'delivered', attempts: 1, result: '204' });
    expect((await job(delivery.outboxId))?.done_at).toBeInstanceOf(Date);
    expect(await endpoint()).toMatchObject({ failing_since: null, retry_at: null });
    expect(await storeOf(sql).openDelivery(delivery.outboxId)).toBeNull();
  });

  it('that failed is relayed again under a new job id, and by the sweeper if the queue loses it', async () => {
    const delivery = await newDelivery();
    const { outbox, disabled } = await fail(delivery, 120);
    expect(disabled).toBe(false);
    expect(outbox).toMatchObject([{ id: delivery.outboxId, queue: 'webhook', relays: 1 }]);
    expect((outbox[0]?.runAt.getTime() ?? 0) - Date.now()).toBeGreaterThan(100_000);
    expect(await show(delivery.id)).toMatchObject({ status: 'pending', attempts: 1, result: '500' });
    expect((await storeOf(sql).takeExpired(100)).map(({ id }) => id)).not.toContain(delivery.outboxId);
    await sql`update outbox set run_at = now() - interval '1 minute', lease_until = now() - interval '1 second'
      where id = ${delivery.outboxId}`;
    expect(await storeOf(sql).takeExpired(100)).toContainEqual(
      expect.objectContaining({ id: delivery.outboxId, queue: 'webhook', relays: 2 }),
    );
  });

  it('that fails as the last one gives the delivery up', async () => {
    const delivery = await newDelivery();
    expect((await fail(delivery, null)).outbox).toEqual([]);
    expect(await show(delivery.id)).toMatchObject({ status: 'failed', result: '500' });
    expect(await job(delivery.outboxId)).toMatchObject({ done_at: expect.any(Date), failure_code: '500' });
  });

  it('that failed after another one was accepted changes nothing', async () => {
    const delivery = await newDelivery();
    await storeOf(sql).recordDelivered(delivery, '204');
    expect(await fail(delivery)).toEqual({ outbox: [], disabled: false });
    expect(await show(delivery.id)).toMatchObject({ status: 'delivered', attempts: 1 });
    expect(await endpoint()).toMatchObject({ failing_since: null });
  });

  it('of two runs that fail at once counts once and leaves one job', async () => {
    const delivery = await newDelivery();
    const runs = await Promise.all([reopened(delivery), reopened(delivery)]);
    const results = await Promise.all(runs.map((run) => fail(run, 30)));
    expect(results.flatMap(({ outbox }) => outbox)).toMatchObject([{ id: delivery.outboxId, relays: 1 }]);
    expect(await show(delivery.id)).toMatchObject({ status: 'pending', attempts: 1 });
    expect(await reopened(delivery)).toMatchObject({ relays: 1, dueInSeconds: expect.closeTo(30, -1) });
  });

  it('of two runs of which one gives up and one is postponed ends the delivery once', async () => {
    const delivery = await newDelivery();
    const [first, second] = [await reopened(delivery), await reopened(delivery)];
    expect((await fail(first, 30)).outbox).toHaveLength(1);
    expect((await fail(second, null)).outbox).toEqual([]);
    expect(await show(delivery.id)).toMatchObject({ status: 'pending', attempts: 1 });
    expect(await job(delivery.outboxId)).toMatchObject({ done_at: null });
  });

  it('that fails after the sweeper has relayed it leaves the sweeper’s job only', async () => {
    const delivery = await newDelivery();
    await sql`update outbox set lease_until = now() - interval '1 second' where id = ${delivery.outboxId}`;
    expect((await storeOf(sql).takeExpired(1_000)).map(({ id }) => id)).toContain(delivery.outboxId);
    expect((await fail(delivery, 30)).outbox).toEqual([]);
    expect(await show(delivery.id)).toMatchObject({ status: 'pending', attempts: 1 });
    expect(await reopened(delivery)).toMatchObject({ relays: 1, dueInSeconds: 0 });
  });
});

describe('deliveries', () => {
  it('are replayed with the same id and body for another day', async () => {
    const delivery = await newDelivery();
    await sql`update webhook_deliveries set started_at = now() - interval '2 days' where id = ${delivery.id}`;
    await fail(delivery, null);
    const notices = await noticesDuring(database, async () => {
      expect(await storeOf(sql, 'me').replayDelivery(delivery.id)).toBe('replayed');
    });
    expect(notices).toEqual(['me:jobs:1']);
    const row = await show(delivery.id);
    expect(row).toMatchObject({ status: 'pending', attempts: 0 });
    expect(row?.outbox_id).not.toBe(delivery.outboxId);
    const again = await storeOf(sql).openDelivery(row?.outbox_id);
    expect(again).toMatchObject({ id: delivery.id, payload: delivery.payload });
    expect(again?.ageSeconds).toBeLessThan(60);
    expect((await storeOf(sql).takeExpired(100)).map(({ id }) => id)).toContain(row?.outbox_id);
  });

  it('are not replayed while they are pending, nor without an endpoint', async () => {
    const delivery = await newDelivery();
    expect(await storeOf(sql).replayDelivery(delivery.id)).toBe('still_tried');
    await storeOf(sql).recordDelivered(delivery, '200');
    await storeOf(sql).changeWebhookOf({ kind: 'store', id: retailerId }, retailerId, { enabled: false });
    expect(await storeOf(sql).replayDelivery(delivery.id)).toBe('no_endpoint');
    expect(await show(delivery.id)).toMatchObject({ status: 'delivered' });
    expect(await storeOf(sql).replayDelivery(newId())).toBe('unknown');
  });

  it('are deleted after 30 days, but not while they are pending', async () => {
    const [old, pending, young] = [await newDelivery(), await newDelivery(), await newDelivery()];
    await storeOf(sql).recordDelivered(old, '200');
    await storeOf(sql).recordDelivered(young, '200');
    await sql`update webhook_deliveries set created_at = now() - interval '31 days'
      where id = any(${[old.id, pending.id]}::uuid[])`;
    expect(await storeOf(sql).pruneDeliveries(30, 100)).toBe(1);
    expect([await show(old.id), await show(pending.id), await show(young.id)]).toEqual([
      undefined,
      expect.anything(),
      expect.anything(),
    ]);
  });
});
