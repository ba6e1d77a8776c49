import { describe, expect, it } from 'vitest';
import { newId } from '../../../src/domain/ids.ts';
import { storeOf } from '../../harness/store.ts';
import { noticesDuring } from '../transaction.ts';

import {
  endpoint,
  fail,
  failingFor,
  newDelivery,
  reopened,
  retailerId,
  show,
  URL_OF_STORE,
  useWebhookWorld,
} from '../webhook-world.ts';

const database = await useWebhookWorld();
const { sql } = database;

describe('an endpoint', () => {
  it('that fails now and then is not held', async () => {
    const delivery = await newDelivery();
    await fail(delivery);
    await failingFor(30);
    await fail(await reopened(delivery));
    expect(await endpoint()).toMatchObject({ failing_since: expect.any(Date), retry_at: null, disabled_at: null });
  });

  it('that has failed for long is left alone for a quarter of that time, at most 15 minutes', async () => {
    const delivery = await newDelivery();
    const held = async () => (await storeOf(sql).openDelivery(delivery.outboxId))?.endpoint?.heldSeconds;
    await failingFor(400);
    await fail(delivery);
    expect(await held()).toBeCloseTo(100, -1);
    await failingFor(80_000);
    await fail(await reopened(delivery));
    expect(await held()).toBeCloseTo(900, -1);
  });

  it('that has failed for a day is disabled once, with the time on record', async () => {
    const [first, second] = [await newDelivery(), await newDelivery()];
    await failingFor(86_399 - 60);
    expect((await fail(first)).disabled).toBe(false);
    await failingFor(86_401);
    expect((await fail(await reopened(first))).disabled).toBe(true);
    expect((await fail(second)).disabled).toBe(false);
    expect(await endpoint()).toMatchObject({ disabled_at: expect.any(Date), disabled_because: 'failing' });
  });

  it('that is gone is disabled at once', async () => {
    expect((await fail(await newDelivery(), null, 'gone')).disabled).toBe(true);
    expect(await endpoint()).toMatchObject({ disabled_because: 'gone' });
  });

  it('that refuses one delivery is neither held nor disabled, and gets others', async () => {
    const [refused, other] = [await newDelivery(), await newDelivery()];
    expect((await fail(refused, 5, 'refuses')).outbox).toHaveLength(1);
    expect(await show(refused.id)).toMatchObject({ status: 'pending', attempts: 1 });
    await failingFor(30);
    await fail(await reopened(refused), 5, 'refuses');
    expect(await endpoint()).toMatchObject({ failing_since: expect.any(Date) });
    await failingFor(86_401);
    expect((await fail(await reopened(refused), null, 'refuses')).disabled).toBe(false);
    // It has answered: what it failed before counts no more.
    expect(await endpoint()).toMatchObject({ failing_since: null, retry_at: null, disabled_at: null });
    expect(await reopened(other)).toMatchObject({ endpoint: { heldSeconds: 0 } });
  });

  it('that was replaced meanwhile does not inherit a success', async () => {
    const [old, young] = [await newDelivery(), await newDelivery()];
    await storeOf(sql).setWebhook(retailerId, 'https://new.test/', 'whsec_bmV3');
    await fail(await reopened(young));
    await storeOf(sql).recordDelivered(old, '204');
    expect(await show(old.id)).toMatchObject({ status: 'delivered' });
    expect(await endpoint()).toMatchObject({ failing_since: expect.any(Date) });
  });

  it('that was replaced meanwhile does not inherit a failure', async () => {
    const delivery = await newDelivery();
    await storeOf(sql).setWebhook(retailerId, 'https://new.test/', 'whsec_bmV3');
    await fail(delivery, null, 'gone');
    expect(await endpoint()).toMatchObject({ failing_since: null, disabled_at: null, url: 'https://new.test/' });
  });

  it('of a store that is not there is not set', async () => {
    expect(await storeOf(sql).setWebhook(newId(), URL_OF_STORE, 'whsec_x')).toBeNull();
  });

  it('that is set anew has its waiting deliveries made at once', async () => {
    const [waiting, due] = [await newDelivery(), await newDelivery()];
    await fail(waiting, 14_400, 'refuses');
    const [other] = await sql`
      insert into outbox (queue, order_id, retailer_id, run_at, lease_until)
      values ('redispatch', ${newId()}, ${retailerId}, now() + interval '1 day', now() + interval '1 day') returning id`;
    const notices = await noticesDuring(database, async () => {
      expect(await storeOf(sql, 'me').setWebhook(retailerId, URL_OF_STORE, 'whsec_x')).toBe(true);
    });
    expect(notices).toEqual(['me:jobs:1']);
    const taken = (await storeOf(sql).takeExpired(100)).map(({ id }) => id);
    expect(taken).toContain(waiting.outboxId);
    expect(taken).not.toContain(due.outboxId);
    expect(taken).not.toContain(other?.id);
    expect(await reopened(waiting)).toMatchObject({ dueInSeconds: 0 });
  });
});
