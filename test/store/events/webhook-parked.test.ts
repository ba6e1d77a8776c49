import { beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../../src/domain/ids.ts';
import { createWebhookJob } from '../../../src/events/webhook.ts';
import { createLogger } from '../../../src/telemetry.ts';
import { storeOf } from '../../harness/store.ts';
import { noticesDuring, reading } from '../transaction.ts';
import {
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
  useWebhookWorld,
} from '../webhook-world.ts';

const database = await useWebhookWorld();
const { sql } = database;

const store = storeOf(sql, 'me');
const owner = () => ({ kind: 'store', id: retailerId }) as const;
const park = async (count: number) => {
  const made = [];
  for (let i = 0; i < count; i++) made.push(await newDelivery());
  for (const delivery of made) await store.parkDelivery(delivery);
  return made;
};
const hold = (seconds: number) => sql`
  update webhooks set failing_since = now() - interval '5 minutes', retry_at = now() + make_interval(secs => ${seconds})
  where id = ${retailerId}`;
const parkedIds = async () =>
  (await sql`select id from outbox where parked_for = ${retailerId} order by parked_at, id`).map(({ id }) => id);
const released = async () => (await store.releaseParked(100)).map(({ id }) => id);

/** Nothing of an earlier test waits. */
beforeEach(async () => void (await sql`update outbox set done_at = now() where done_at is null`));

describe('a delivery', () => {
  it('of a receiver that is left alone is parked when it is made, and is handed to nobody', async () => {
    await hold(600);
    const delivery = await newDelivery();
    expect(await job(delivery.outboxId)).toMatchObject({ parked_for: retailerId, relays: 0, done_at: null });
    expect((await store.takeExpired(100)).map(({ id }) => id)).not.toContain(delivery.outboxId);
    expect(await released()).toEqual([]);
    const backlog = await store.readBacklog();
    expect(backlog.find(({ queue }) => queue === 'webhook')).toMatchObject({ owed: 0, oldestSeconds: 0 });
  });

  it('that comes while others are parked is parked behind them', async () => {
    const [first] = await park(1);
    const second = await newDelivery();
    expect(await parkedIds()).toEqual([first?.outboxId, second.outboxId]);
  });

  it('that comes behind a parked one reads none of those that came up by themselves before', async () => {
    await sql`
      insert into outbox (queue, order_id, retailer_id, run_at, lease_until, parked_for, parked_at)
      select 'webhook', gen_random_uuid(), ${retailerId}::uuid, now(), now(), ${retailerId}::uuid, now() - interval '1 day'
      from generate_series(1, 2000)`;
    await park(1);
    await newOrder(await newDriver());
    const { result, rows } = await reading(database, ['outbox'], (each) => each.numberEvents());
    expect(result).toMatchObject({ events: 2, outbox: [] });
    expect(rows).toBeLessThan(100);
  });

  it('that comes up while its receiver is disabled waits, and is due once that is enabled again', async () => {
    const delivery = await newDelivery();
    await store.changeWebhookOf(owner(), retailerId, { enabled: false });
    const webhookJob = createWebhookJob({
      store,
      client: { post: () => Promise.reject(new Error('A disabled receiver is asked')) },
      relay: { relay: () => undefined },
      clock: Date,
      random: () => 0,
      logger: createLogger('silent'),
    });
    await webhookJob({ outboxId: delivery.outboxId, orderId: newId(), relays: 0 });
    expect(await show(delivery.id)).toMatchObject({ status: 'pending', attempts: 0 });
    expect(await parkedIds()).toEqual([delivery.outboxId]);
    await store.changeWebhookOf(owner(), retailerId, { enabled: true });
    expect((await store.takeExpired(100)).map(({ id }) => id)).toContain(delivery.outboxId);
  });

  it('that is parked counts no attempt, and a run of before parks it no second time', async () => {
    const delivery = await newDelivery();
    const [one, other] = [await reopened(delivery), await reopened(delivery)];
    await store.parkDelivery(one);
    const parked = await job(delivery.outboxId);
    await store.parkDelivery(other);
    expect(await job(delivery.outboxId)).toEqual(parked);
    expect(await show(delivery.id)).toMatchObject({ status: 'pending', attempts: 0 });
    expect(await endpoint()).toMatchObject({ failing_since: null });
    expect(await reopened(delivery)).toMatchObject({ relays: 1, dueInSeconds: expect.closeTo(86_400, -2) });
  });

  it('that is parked is written by no sweep, nor where the queues have lost their jobs', async () => {
    const made = await park(3);
    await hold(600);
    const rows = () => sql`select xmin::text, o.* from outbox o where parked_for = ${retailerId} order by id`;
    const before = await rows();
    expect(before).toHaveLength(made.length);
    await released();
    await store.endParked(100);
    await store.endLeases(100);
    await store.takeExpired(100);
    expect(await rows()).toEqual(before);
  });

  it('that is parked says in the lists when its receiver is tried next', async () => {
    await park(1);
    await hold(600);
    const list = await store.listDeliveriesOf(owner(), retailerId, { status: 'pending', limit: 10, cursor: null });
    const { retry_at: retryAt } = (await endpoint()) as { retry_at: Date };
    expect(list?.deliveries.map(({ nextTryAt }) => nextTryAt)).toEqual([retryAt]);
    const all = { retailerIds: [retailerId], orderId: null, since: null, until: null, text: null, status: null };
    const { rows } = await store.listDeliveries(all, { limit: 10, after: null });
    expect(rows).toMatchObject([{ next_try_at: retryAt }]);
  });

  it('that nothing released comes up by itself after a day, to every version', async () => {
    const [delivery] = await park(1);
    await sql`
      update outbox set run_at = now() - interval '2 seconds', lease_until = now() - interval '1 second',
        parked_at = parked_at - interval '1 day' where id = ${delivery?.outboxId ?? 0}`;
    expect((await store.takeExpired(100)).map(({ id }) => id)).toContain(delivery?.outboxId);
    expect(await released()).toEqual([]);
    const opened = await reopened(delivery as never);
    expect(opened.isLeftOver).toBe(true);
    expect(await store.recordDelivered(opened, '204', 2)).toEqual([]);
    expect(await show(opened.id)).toMatchObject({ status: 'delivered' });
  });
});

describe('a receiver behind which deliveries are parked', () => {
  it('is tried with the first of them when its pause is over, by one sweep, and not before', async () => {
    const made = await park(3);
    await hold(600);
    expect(await released()).toEqual([]);
    await hold(-1);
    const [one, other] = await Promise.all([released(), released()]);
    expect([...one, ...other].length).toBeLessThanOrEqual(2);
    expect([...one, ...other]).toContain(made[0]?.outboxId);
    expect(await job(made[0]?.outboxId ?? 0)).toMatchObject({ parked_for: null, parked_at: null, relays: 2 });
  });

  it('that accepts one gets the next ones, those first that have waited longest', async () => {
    const first = await newDelivery();
    const made = await park(3);
    await failingFor(600);
    const next = await store.recordDelivered(await reopened(first), '204', 2);
    expect(next.map(({ id }) => id).toSorted()).toEqual(made.slice(0, 2).map(({ outboxId }) => outboxId));
    expect(next.every(({ runAt }) => runAt.getTime() <= Date.now() + 1_000)).toBe(true);
    expect(await parkedIds()).toEqual([made[2]?.outboxId]);
    expect(await endpoint()).toMatchObject({ failing_since: null, retry_at: null });
  });

  it('that refuses one gets the next one, and that fails one gets none', async () => {
    const [failing, refused] = [await newDelivery(), await newDelivery()];
    const made = await park(2);
    expect((await fail(await reopened(failing), 5)).outbox.map(({ id }) => id)).toEqual([failing.outboxId]);
    const { outbox } = await store.recordFailedAttempt(await reopened(refused), {
      result: '400',
      retryInSeconds: 5,
      receiver: 'refuses',
      releases: 1,
    });
    expect(outbox.map(({ id }) => id)).toEqual([refused.outboxId, made[0]?.outboxId]);
  });

  it('that is enabled is tried at once, by every version', async () => {
    const made = await park(2);
    await hold(600);
    const notices = await noticesDuring(database, () => store.changeWebhookOf(owner(), retailerId, { enabled: true }));
    expect(notices).toEqual(['me:jobs:2']);
    expect(await parkedIds()).toEqual([]);
    const ids = made.map(({ outboxId }) => outboxId);
    expect((await store.takeExpired(100)).map(({ id }) => id)).toEqual(expect.arrayContaining(ids));
  });

  it('that is disabled goes on holding what waits where it is moved to another server, until it is enabled', async () => {
    const made = await park(2);
    await sql`update webhooks set disabled_at = now(), disabled_because = 'failing' where id = ${retailerId}`;
    const move = () => store.changeWebhookOf(owner(), retailerId, { url: 'https://moved.test/' });
    expect(await noticesDuring(database, move)).not.toContainEqual(expect.stringContaining(':jobs:'));
    expect(await parkedIds()).toEqual(made.map(({ outboxId }) => outboxId));
    await store.changeWebhookOf(owner(), retailerId, { enabled: true });
    expect(await parkedIds()).toEqual([]);
  });

  it('is parked no more for a version that knows nothing of it and gives the job another time', async () => {
    const [delivery] = await park(1);
    await sql`update outbox set run_at = now(), lease_until = now() where id = ${delivery?.outboxId ?? 0}`;
    expect(await job(delivery?.outboxId ?? 0)).toMatchObject({ parked_for: null, parked_at: null });
  });

  it('that was removed, or disabled for a while, is given up, and one disabled just now is not', async () => {
    const made = await park(3);
    const disabled = (seconds: number) => sql`
      update webhooks set disabled_at = now() - make_interval(secs => ${seconds}), disabled_because = 'failing'
      where id = ${retailerId}`;
    await disabled(60);
    expect(await released()).toEqual([]);
    expect(await store.endParked(100)).toBe(0);
    await disabled(901);
    expect(await store.endParked(2)).toBe(2);
    await sql`delete from webhooks where id = ${retailerId}`;
    expect(await store.endParked(2)).toBe(1);
    for (const { id, outboxId } of made) {
      expect(await show(id)).toMatchObject({ status: 'failed', result: 'no_endpoint' });
      expect(await job(outboxId)).toMatchObject({ done_at: expect.any(Date), failure_code: 'no_endpoint' });
    }
  });
});

describe('what waits behind receivers', () => {
  it('is told apart by what they do, and by owner', async () => {
    const webhook = { id: newId(), url: 'https://more.test/hook', secret: 'whsec_bmV3', eventTypes: null };
    await store.addWebhook(owner(), webhook);
    await park(2);
    await sql`update outbox set parked_at = now() - interval '1 hour' where parked_for = ${retailerId}`;
    const other = await newDelivery(webhook.id);
    await store.parkDelivery(other);
    await sql`
      update outbox set done_at = now() where done_at is null and parked_for is null`;
    await hold(600);
    const { retry_at: retryAt } = (await endpoint()) as { retry_at: Date };
    expect(await store.readWaitingWebhooks()).toEqual({
      deliveries: 4,
      reasons: [
        { because: 'failing', receivers: 1, oldestSeconds: expect.closeTo(3_600, -2) },
        { because: 'slow', receivers: 1, oldestSeconds: expect.any(Number) },
      ],
    });
    const seen = { ownerId: retailerId, since: expect.any(Date) };
    expect(await store.readWaitingReceivers(10)).toEqual([
      { ...seen, webhookId: retailerId, because: 'failing', waiting: 3, nextTryAt: retryAt },
      { ...seen, webhookId: webhook.id, because: 'slow', waiting: 1, nextTryAt: null },
    ]);
    expect(await store.readWaitingReceivers(1)).toHaveLength(1);
  });
});
