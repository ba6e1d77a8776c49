import { describe, expect, it } from 'vitest';
import { newId } from '../../../src/domain/ids.ts';
import type { WebhookOwner } from '../../../src/domain/webhook.ts';
import { MAX_WEBHOOKS_SET } from '../../../src/limits.ts';
import { WEBHOOK_OLD_SECRET_SECONDS } from '../../../src/store/events/webhooks.ts';
import { LIST_SCAN_ROWS } from '../../../src/store/orders/orders-list.ts';
import { storeOf } from '../../harness/store.ts';
import { noticesDuring, openTransaction, reading, untilBlocked } from '../transaction.ts';
import {
  endpoint,
  fail,
  job,
  newDelivery,
  newDriver,
  newOrder,
  reopened,
  retailerId,
  show,
  tell,
  URL_OF_STORE,
  useWebhookWorld,
} from '../webhook-world.ts';

const database = await useWebhookWorld();
const { sql } = database;

const store = storeOf(sql, 'me');
const owner = (): WebhookOwner => ({ kind: 'store', id: retailerId });
const another = (): WebhookOwner => ({ kind: 'store', id: newId() });
const NEW = { url: 'https://more.test/hook', secret: 'whsec_bmV3' };
const ASSIGNED = ['order.assigned'];

async function added(of: WebhookOwner = owner(), eventTypes: string[] | null = ASSIGNED): Promise<string> {
  const webhook = await store.addWebhook(of, { ...NEW, id: newId(), eventTypes });
  return webhook?.id ?? expect.fail('no webhook was added');
}

const rowOf = async (id: string) => (await sql`select * from webhooks where id = ${id}`)[0];

/** Deliveries of another webhook that are tried again in an hour. */
async function addPostponed(count: number): Promise<void> {
  await sql`
    with jobs as (
      insert into outbox (queue, order_id, retailer_id, run_at, lease_until)
      select 'event', gen_random_uuid(), ${newId()}::uuid, now() + interval '1 hour', now() + interval '1 hour'
      from generate_series(1, ${count}::int) returning id, order_id, retailer_id
    )
    insert into webhook_deliveries (outbox_id, order_id, retailer_id, webhook_id, type, sequence, payload)
    select id, order_id, retailer_id, ${newId()}::uuid, 'order.assigned', 2, '{}' from jobs`;
  await sql`analyze outbox, webhook_deliveries`;
}

describe('an owner', () => {
  it('has at most five webhooks, also when all are added at once', async () => {
    const results = await Promise.all(
      Array.from({ length: 2 * MAX_WEBHOOKS_SET }, () =>
        store.addWebhook(owner(), { ...NEW, id: newId(), eventTypes: null }),
      ),
    );
    expect(results.filter((result) => result !== null)).toHaveLength(MAX_WEBHOOKS_SET - 1);
    const [first, ...rest] = await store.listWebhooks(owner());
    expect(first).toMatchObject({ id: retailerId, setBy: 'operator', url: URL_OF_STORE });
    expect(rest).toHaveLength(MAX_WEBHOOKS_SET - 1);
    expect(await store.removeWebhook(owner(), rest[0]?.id ?? '')).toBe(true);
    await added();
    // The operator's own is one of the five, and may be set anew.
    expect(await store.setWebhook(retailerId, URL_OF_STORE, 'whsec_x')).toBe(true);
    await store.removeWebhook(owner(), retailerId);
    await added();
    expect(await store.setWebhook(retailerId, URL_OF_STORE, 'whsec_x')).toBe(false);
  });

  it('adds no sixth one while another process adds the fifth', async () => {
    for (let i = 0; i < MAX_WEBHOOKS_SET - 2; i++) await added();
    const other = await openTransaction(database);
    expect(
      await storeOf(other.sql, 'other').addWebhook(owner(), { ...NEW, id: newId(), eventTypes: null }),
    ).not.toBeNull();
    const late = store.addWebhook(owner(), { ...NEW, id: newId(), eventTypes: null });
    await untilBlocked(database);
    await other.commit();
    expect(await late).toBeNull();
  });

  it('may be an organization, whose webhooks are not its stores’', async () => {
    const organization: WebhookOwner = { kind: 'organization', id: newId() };
    const id = await added(organization);
    expect(await store.listWebhooks(organization)).toMatchObject([{ id, setBy: 'key' }]);
    expect(await store.findWebhook(owner(), id)).toBeNull();
    await sql`update retailers set organization_id = ${organization.id} where id = ${retailerId}`;
    expect(await newDelivery(id)).toMatchObject({ endpoint: { id, ownerId: organization.id } });
  });

  it('neither sees nor changes the webhooks of another one', async () => {
    const id = await added();
    const before = await rowOf(id);
    expect(await store.findWebhook(another(), id)).toBeNull();
    expect(await store.findWebhookAddress(another(), id)).toBeNull();
    expect(await store.changeWebhookOf(another(), id, { url: 'https://stolen.test/', enabled: false })).toBeNull();
    expect(await store.rotateWebhookSecret(another(), id, 'whsec_c3RvbGVu')).toBeNull();
    expect(await store.removeWebhook(another(), id)).toBe(false);
    expect(await store.listDeliveriesOf(another(), id, { status: null, limit: 10, cursor: null })).toBeNull();
    expect(await store.listWebhooks(another())).toEqual([]);
    expect(await store.findWebhook({ kind: 'organization', id: retailerId }, id)).toBeNull();
    expect(await rowOf(id)).toEqual(before);
  });
});

describe('a webhook', () => {
  it('shows its secret in no list', async () => {
    await added();
    expect(JSON.stringify(await store.listWebhooks(owner()))).not.toContain('whsec_');
  });

  it('changes in what is given, and in nothing else', async () => {
    const id = await added();
    expect(await store.changeWebhookOf(owner(), id, { eventTypes: ['order.paid'] })).toMatchObject({
      url: NEW.url,
      eventTypes: ['order.paid'],
      disabledAt: null,
    });
    expect(await store.changeWebhookOf(owner(), id, { enabled: false })).toMatchObject({
      eventTypes: ['order.paid'],
      disabledBecause: 'off',
    });
    const moved = await store.changeWebhookOf(owner(), id, { url: 'https://moved.test/' });
    expect(moved).toMatchObject({ url: 'https://moved.test/', disabledBecause: 'off' });
    await sql`update webhooks set failing_since = now(), retry_at = now() where id = ${id}`;
    const all = await store.changeWebhookOf(owner(), id, { eventTypes: null, enabled: true });
    expect(all).toMatchObject({ eventTypes: null, disabledAt: null, disabledBecause: null });
    expect(await rowOf(id)).toMatchObject({ secret: NEW.secret, failing_since: null, retry_at: null });
    expect(await store.changeWebhookOf(owner(), id, {})).toMatchObject({ url: 'https://moved.test/' });
  });

  it('that is enabled or moved has its own waiting deliveries made at once, and those of no other', async () => {
    const id = await added();
    const [own, others] = [await newDelivery(id), await newDelivery()];
    await fail(own, 14_400, 'refuses');
    await fail(others, 14_400, 'refuses');
    const notices = await noticesDuring(database, async () => {
      await store.changeWebhookOf(owner(), id, { eventTypes: ['order.paid'] });
      await store.changeWebhookOf(owner(), id, { enabled: true });
    });
    expect(notices).toEqual(['me:jobs:1']);
    expect(await reopened(own)).toMatchObject({ dueInSeconds: 0 });
    expect((await reopened(others)).dueInSeconds).toBeGreaterThan(14_000);
  });

  it('that is enabled reads none of the deliveries of others', async () => {
    const id = await added();
    const own = await newDelivery(id);
    await fail(own, 14_400, 'refuses');
    await addPostponed(2_000);
    const { result, rows } = await reading(database, ['outbox', 'webhook_deliveries'], async (s) => {
      await s.changeWebhookOf(owner(), id, { enabled: true });
      return s.openDelivery(own.outboxId);
    });
    expect(result).toMatchObject({ dueInSeconds: 0 });
    expect(rows).toBeLessThan(100);
  });

  it('that fails is held and disabled by itself; the store’s other one is not', async () => {
    const id = await added();
    const [failing, healthy] = [await newDelivery(id), await newDelivery()];
    await sql`update webhooks set failing_since = now() - interval '400 seconds' where id = ${id}`;
    await fail(failing);
    expect((await reopened(failing)).endpoint?.heldSeconds).toBeCloseTo(100, -1);
    expect((await reopened(healthy)).endpoint?.heldSeconds).toBe(0);
    await sql`update webhooks set failing_since = now() - interval '2 days' where id = ${id}`;
    expect((await fail(await reopened(failing))).disabled).toBe(true);
    expect(await rowOf(id)).toMatchObject({ disabled_because: 'failing' });
    expect(await endpoint()).toMatchObject({ disabled_at: null, failing_since: null });
    await store.changeWebhookOf(owner(), retailerId, { enabled: false });
    const { rows } = await store.listRetailers(
      { status: null, since: null, until: null, text: retailerId },
      { limit: 1, after: null },
    );
    expect(rows).toMatchObject([{ retailer_id: retailerId, attention: 'webhook disabled' }]);
    const { webhooks } = await store.readStats();
    expect(JSON.stringify(webhooks)).toContain(`"webhook_id":"${id}"`);
    expect(JSON.stringify(webhooks)).not.toContain(`"webhook_id":"${retailerId}"`);
  });

  it('that is removed ends its waiting deliveries without an attempt, and no other’s', async () => {
    const id = await added();
    const [own, others] = [await newDelivery(id), await newDelivery()];
    expect(await store.removeWebhook(owner(), id)).toBe(true);
    expect(await store.removeWebhook(owner(), id)).toBe(false);
    const opened = await reopened(own);
    expect(opened.endpoint).toBeNull();
    await store.recordUndeliverable(opened, 'no_endpoint');
    expect(await show(own.id)).toMatchObject({ status: 'failed', result: 'no_endpoint', attempts: 0 });
    expect((await reopened(others)).endpoint).toMatchObject({ id: retailerId, url: URL_OF_STORE });
  });
});

describe('a rotation', () => {
  it('has both secrets in force for a day, and then the new one alone', async () => {
    const id = await added();
    const delivery = await newDelivery(id);
    expect(delivery.endpoint).toMatchObject({ secret: NEW.secret, oldSecret: null });
    const rotated = await store.rotateWebhookSecret(owner(), id, 'whsec_c2Vjb25k');
    const leftMs = (rotated?.oldSecretUntil?.getTime() ?? 0) - Date.now();
    expect(leftMs / 1_000 / WEBHOOK_OLD_SECRET_SECONDS).toBeCloseTo(1, 2);
    expect((await reopened(delivery)).endpoint).toMatchObject({ secret: 'whsec_c2Vjb25k', oldSecret: NEW.secret });
    expect(await store.forgetOldSecrets()).toBe(0);
    await sql`update webhooks set old_secret_until = now() - interval '1 second' where id = ${id}`;
    expect((await reopened(delivery)).endpoint).toMatchObject({ secret: 'whsec_c2Vjb25k', oldSecret: null });
    expect(await store.findWebhookAddress(owner(), id)).toMatchObject({ oldSecret: null });
    expect(await store.findWebhook(owner(), id)).toMatchObject({ oldSecretUntil: null });
    expect(await store.forgetOldSecrets()).toBe(1);
    expect(await rowOf(id)).toMatchObject({ secret: 'whsec_c2Vjb25k', old_secret: null, old_secret_until: null });
  });

  it('after another one keeps the last secret but one alone', async () => {
    const id = await added();
    await store.rotateWebhookSecret(owner(), id, 'whsec_c2Vjb25k');
    await store.rotateWebhookSecret(owner(), id, 'whsec_dGhpcmQ=');
    expect(await store.findWebhookAddress(owner(), id)).toMatchObject({
      secret: 'whsec_dGhpcmQ=',
      oldSecret: 'whsec_c2Vjb25k',
    });
  });
});

describe('an event', () => {
  /** Which webhooks are told of an order by which event, and in which queue the job is. */
  async function toldOf(orderId: string): Promise<string[]> {
    await tell();
    const rows = await sql`
      select d.webhook_id, d.type, b.queue from webhook_deliveries d join outbox b on b.id = d.outbox_id
      where d.order_id = ${orderId} order by d.sequence, d.type, d.outbox_id`;
    return rows.map((row) => `${row.type} ${row.queue} ${row.webhook_id}`);
  }

  it('is told to each enabled webhook whose filter has its type, in the queue of its kind', async () => {
    const [all, paid, off] = [await added(owner(), null), await added(), await added()];
    await store.changeWebhookOf(owner(), paid, { eventTypes: ['order.paid', 'order.assigned'] });
    await store.changeWebhookOf(owner(), off, { enabled: false });
    const told = await toldOf(await newOrder(await newDriver()));
    expect(told.toSorted()).toEqual(
      [
        `order.created event ${all}`,
        `order.assigned event ${all}`,
        `order.assigned event ${paid}`,
        `order.assigned webhook ${retailerId}`,
      ].toSorted(),
    );
  });

  it('is told to the webhooks of the store’s organization, and not to those of another', async () => {
    const organization: WebhookOwner = { kind: 'organization', id: newId() };
    const [id] = [await added(organization, null), await added({ kind: 'organization', id: newId() }, null)];
    const apart = await toldOf(await newOrder());
    expect(apart).toEqual([]);
    await sql`update retailers set organization_id = ${organization.id} where id = ${retailerId}`;
    expect(await toldOf(await newOrder())).toEqual([`order.created event ${id}`]);
  });
});

describe('the deliveries of a webhook', () => {
  const list = (id: string, changes = {}) =>
    store.listDeliveriesOf(owner(), id, { status: null, limit: 10, cursor: null, ...changes });

  it('are listed newest first and page by page, those of the version before among the operator’s', async () => {
    const id = await added();
    const own: string[] = [];
    for (let i = 0; i < 5; i++) own.unshift((await newDelivery(id)).id);
    const found: string[] = [];
    for (let cursor: unknown = null, pages = 0; pages === 0 || cursor !== null; pages++) {
      const page = await list(id, { limit: 2, cursor });
      found.push(...(page?.deliveries ?? []).map((delivery) => delivery.id));
      cursor = page?.next ?? null;
    }
    expect(found).toEqual(own);
    await sql`
      update webhook_deliveries set webhook_id = null where webhook_id = ${retailerId} and status = 'pending'`;
    const operators = await list(retailerId);
    expect(operators?.deliveries).toHaveLength(5);
    expect(operators?.deliveries.some((delivery) => own.includes(delivery.id))).toBe(false);
    await store.recordDelivered(await reopened(await newDelivery(id)), '204');
    expect((await list(id, { status: 'delivered' }))?.deliveries).toMatchObject([
      { status: 'delivered', result: '204', attempts: 1, triedAt: expect.any(Date), nextTryAt: null },
    ]);
    expect(await list(newId())).toBeNull();
  });

  it('of before migration 0021 name no webhook, and go to the operator’s', async () => {
    const delivery = await newDelivery();
    await sql`update webhook_deliveries set webhook_id = null where id = ${delivery.id}`;
    expect((await reopened(delivery)).endpoint).toMatchObject({ id: retailerId, url: URL_OF_STORE });
  });

  it('are replayed to their webhook, in a queue that the version before does not take from', async () => {
    const id = await added();
    const [own, others] = [await newDelivery(id), await newDelivery()];
    for (const delivery of [own, others]) await store.recordDelivered(delivery, '200');
    expect(await store.replayDelivery(others.id, id)).toBe('unknown');
    expect(await store.replayDelivery(own.id, retailerId)).toBe('unknown');
    expect(await store.replayDelivery(own.id, id)).toBe('replayed');
    expect(await store.replayDelivery(own.id, id)).toBe('still_tried');
    expect(await store.replayDelivery(others.id, retailerId)).toBe('replayed');
    expect(await job((await show(own.id))?.outbox_id)).toMatchObject({ queue: 'event', done_at: null });
    expect(await job((await show(others.id))?.outbox_id)).toMatchObject({ queue: 'webhook', done_at: null });
    await store.removeWebhook(owner(), id);
    await store.recordUndeliverable((await store.openDelivery((await show(own.id))?.outbox_id)) as never, 'x');
    expect(await store.replayDelivery(own.id)).toBe('no_endpoint');
  });
});

describe('the webhook of an organization', () => {
  const all = { status: null, limit: 10, cursor: null };
  const gone = {
    suspended: () => sql`update retailers set status = 'suspended' where id = ${retailerId}`,
    'taken out': () => sql`update retailers set organization_id = null where id = ${retailerId}`,
  };

  /** An organization with this test's store, a webhook, and a delivery that waits. */
  async function chain() {
    const organization: WebhookOwner = { kind: 'organization', id: newId() };
    const join = () => sql`
      update retailers set organization_id = ${organization.id}, status = 'active' where id = ${retailerId}`;
    await join();
    const id = await added(organization);
    return { organization, id, join, delivery: await newDelivery(id) };
  }

  it.each(['suspended', 'taken out'] as const)('is told nothing more of a store that was %s', async (how) => {
    const { organization, id, join, delivery } = await chain();
    const ofList = async () => (await store.listDeliveriesOf(organization, id, all))?.deliveries.map((each) => each.id);
    const parked = await newDelivery(id);
    await store.parkDelivery(parked);
    await newOrder(await newDriver());
    await gone[how]();
    await tell();
    expect(await sql`select from webhook_deliveries where webhook_id = ${id}`).toHaveLength(2);
    const opened = await reopened(delivery);
    expect(opened.endpoint).toMatchObject({ id, seesStore: false });
    expect((await store.recordUndeliverable(opened, 'no_endpoint', 1)).map((each) => each.id)).toEqual([
      parked.outboxId,
    ]);
    expect(await show(delivery.id)).toMatchObject({ status: 'failed', result: 'no_endpoint' });
    expect(await rowOf(id)).toMatchObject({ failing_since: null, disabled_at: null });
    expect(await ofList()).toEqual([]);
    expect(await store.replayDelivery(delivery.id, id)).toBe('unknown');
    expect(await store.replayDelivery(delivery.id)).toBe('no_endpoint');
    await join();
    expect(await ofList()).toEqual([parked.id, delivery.id]);
    expect(await store.replayDelivery(delivery.id, id)).toBe('replayed');
  });

  it('lists what it sees in pages that end early, however much is of stores that it sees no more', async () => {
    const { organization, id, delivery } = await chain();
    await sql`
      insert into webhook_deliveries (outbox_id, webhook_id, retailer_id, order_id, type, sequence, payload, status)
      select nextval('outbox_id_seq'), ${id}, ${newId()}, gen_random_uuid(), 'order.assigned', 1, '{}', 'failed'
      from generate_series(1, ${LIST_SCAN_ROWS}::int)`;
    const page = await store.listDeliveriesOf(organization, id, all);
    expect(page?.deliveries).toEqual([]);
    const next = await store.listDeliveriesOf(organization, id, { ...all, cursor: page?.next ?? null });
    expect(next?.deliveries.map((each) => each.id)).toEqual([delivery.id]);
    expect(next?.next).toBeNull();
  });
});

describe('a writer that knows of no webhook', () => {
  it('numbers nothing where there is one, and numbers events where none is enabled', async () => {
    await added();
    await newOrder(await newDriver());
    expect(await store.numberEvents(false)).toMatchObject({ events: 0, isMore: true, hasWebhooks: true, outbox: [] });
    const { events, outbox } = await store.numberEvents(true);
    expect([events, outbox.length]).toEqual([2, expect.any(Number)]);
    expect(outbox).not.toHaveLength(0);
    await sql`update webhooks set disabled_at = now()`;
    await newOrder(null);
    expect(await store.numberEvents(false)).toMatchObject({ events: 1, isMore: false, hasWebhooks: false });
    await sql`update webhooks set disabled_at = null`;
  });
});
