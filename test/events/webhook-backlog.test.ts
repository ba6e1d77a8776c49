import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { newId } from '../../src/domain/ids.ts';
import { createWebhookJob } from '../../src/events/webhook.ts';
import { MAX_WEBHOOKS_PER_ENDPOINT, WEBHOOK_CONCURRENCY } from '../../src/limits.ts';
import type { JobHandler } from '../../src/queues/job-handler.ts';
import { JobPace } from '../../src/queues/job-pace.ts';
import { createQueues, startWorker } from '../../src/queues/queues.ts';
import { createRelay } from '../../src/queues/relay.ts';
import type { OutboxRow } from '../../src/store/outbox-rows.ts';
import { createLogger } from '../../src/telemetry.ts';
import type { WebhookClient, WebhookOutcome } from '../../src/vendors/webhook-client.ts';
import { freshDatabase } from '../harness/database.ts';
import { freshRedis, hasRedis } from '../harness/redis.ts';
import { storeOf } from '../harness/store.ts';
import { gate } from '../http/support.ts';
import { workerSettings } from '../queues/worker-settings.ts';

const DEAD = 'https://dead.test/';
const SLOW = 'https://slow.test/';
const EVENTS = 300;
/** Between two sweeps; a receiver answers what it was sent in the one before. */
const STEP_SECONDS = 30;
const STEPS = (25 * 60) / STEP_SECONDS;
/** More than BullMQ has for a queue beside those of its jobs. */
const KEYS_OF_QUEUE = 10;
const logger = createLogger('silent');

/** Two stores, one with a receiver that is dead and one with a slow one, and every update of the outbox counted. */
async function openWorld() {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  const { sql } = database;
  const store = storeOf(sql, 'test');
  const retailers: string[] = [];
  for (const url of [DEAD, SLOW]) {
    const id = newId();
    const shop = { id, name: 'Corner Market', address: 'One Test Square', point: { lat: 1, lng: 2 } };
    await store.createRetailer(
      { ...shop, stripeCustomerId: 'cus_1', stripePaymentMethodId: 'pm_1' },
      { id: newId(), keyHash: id },
    );
    await store.setWebhook(id, url, 'whsec_c2VjcmV0');
    retailers.push(id);
  }
  await sql.unsafe(`
    create table updates (n integer not null);
    insert into updates values (0);
    create function count_update() returns trigger language plpgsql as $$
    begin update updates set n = n + 1; return null; end $$;
    create trigger updates_counted after update on outbox for each row execute function count_update();`);
  /** Makes EVENTS deliveries to each receiver; gives those that are to be handed over. */
  async function happen(): Promise<readonly OutboxRow[]> {
    await sql`
      insert into unnumbered_events (order_id, sequence, retailer_id, type, at, status, payment_status)
      select gen_random_uuid(), n, r, 'order.assigned', now(), 'driver_assigned', 'paid'
      from unnest(${retailers}::uuid[]) r, generate_series(1, ${EVENTS}) n`;
    return (await store.numberEvents()).outbox;
  }
  /** Lets time pass for the tables: everything in them is older. */
  const pass = (seconds: number) =>
    sql
      .unsafe(`
      alter table outbox disable trigger updates_counted;
      update outbox set run_at = run_at - interval '${seconds} s', lease_until = lease_until - interval '${seconds} s',
        parked_at = parked_at - interval '${seconds} s' where done_at is null;
      alter table outbox enable trigger updates_counted;
      update webhooks set failing_since = failing_since - interval '${seconds} s',
        retry_at = retry_at - interval '${seconds} s';
      update webhook_deliveries set started_at = started_at - interval '${seconds} s' where status = 'pending'`)
      .simple();
  const delivered = async () =>
    (await sql`select count(*)::int as n from webhook_deliveries where status = 'delivered'`)[0]?.n;
  const updates = async () => (await sql`select n from updates`)[0]?.n;
  return { sql, store, happen, pass, delivered, updates };
}

test('what waits behind a dead receiver and behind a slow one costs nothing while it waits', async () => {
  const { store, happen, pass, delivered, updates } = await openWorld();
  const queue: OutboxRow[] = [];
  const relay = {
    relay: (rows: readonly OutboxRow[]) =>
      void queue.push(...rows.filter(({ runAt }) => runAt.getTime() <= Date.now())),
  };
  const unanswered: (() => void)[] = [];
  const post = ({ url }: { readonly url: string }) =>
    new Promise<WebhookOutcome>((resolve) => {
      const outcome = url === DEAD ? { kind: 'unanswered', code: 'timeout' } : { kind: 'answered', status: 200 };
      unanswered.push(() => resolve(outcome as WebhookOutcome));
    });
  const run = createWebhookJob({ store, client: { post }, relay, clock: Date, random: Math.random, logger });
  let running = 0;
  /** Does what the queue has, until only receivers are waited for. */
  async function work(): Promise<void> {
    for (;;) {
      for (const { id, orderId, relays } of queue.splice(0)) {
        running++;
        void run({ outboxId: id, orderId, relays }).finally(() => running--);
      }
      if (running === unanswered.length) return;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  const sent: number[] = [];
  relay.relay(await happen());
  for (let step = 0; step < STEPS; step++) {
    queue.push(...(await store.takeExpired(1_000)), ...(await store.releaseParked(1_000)));
    await work();
    sent.push(unanswered.length);
    for (const answer of unanswered.splice(0)) answer();
    await work();
    await pass(STEP_SECONDS);
  }
  expect(await delivered()).toBe(EVENTS);
  // A backlog that moves soon takes all places of its receiver.
  expect(sent.filter((count) => count >= MAX_WEBHOOKS_PER_ENDPOINT).length).toBeGreaterThan(
    EVENTS / MAX_WEBHOOKS_PER_ENDPOINT - 5,
  );
  expect(await updates()).toBeLessThan(4 * 2 * EVENTS);
});

/** The queue `webhook` in a Redis, and the names of its keys. */
async function openRedis() {
  const redis = await freshRedis();
  if (!redis) throw new Error('no Redis');
  const connection = new Redis(redis.url, { maxRetriesPerRequest: null });
  onTestFinished(async () => {
    connection.disconnect();
    await redis.stop();
  });
  const { prefix } = redis;
  return {
    backend: { kind: 'redis', connection, prefix } as const,
    keys: () => connection.keys(`${prefix}:webhook:*`),
  };
}

/** Hands over to Redis and does what comes from there; `ran` is told of each job that is done. */
function startOn(
  backend: Awaited<ReturnType<typeof openRedis>>['backend'],
  store: ReturnType<typeof storeOf>,
  post: WebhookClient['post'],
  ran: (outboxId: number) => void,
) {
  const pace = new JobPace(false);
  const queues = createQueues(backend, { mark: () => undefined }, logger);
  const relay = createRelay(queues, store, new Map(), pace, () => false, Date, logger);
  const run = createWebhookJob({ store, client: { post }, relay, clock: Date, random: Math.random, logger });
  const handle: JobHandler = (job) => run(job).finally(() => ran(job.outboxId));
  const settings = workerSettings({ concurrency: WEBHOOK_CONCURRENCY, pace });
  const worker = startWorker('webhook', backend, handle, settings, logger);
  onTestFinished(async () => {
    await worker.close();
    await relay.close();
    await Promise.all([...queues.values()].map((queue) => queue.close()));
  });
  return relay;
}

test.skipIf(!hasRedis())('Redis keeps no key for what waits behind them', async () => {
  const { sql, store, happen } = await openWorld();
  await sql`update webhooks set failing_since = now() - interval '10 minutes' where url = ${DEAD}`;
  const { backend, keys } = await openRedis();
  const ran = new Set<number>();
  const stopped = gate<WebhookOutcome>();
  const post = async ({ url }: { readonly url: string }): Promise<WebhookOutcome> =>
    url === DEAD ? { kind: 'unanswered', code: 'timeout' } : stopped.opened;
  const relay = startOn(backend, store, post, (id) => ran.add(id));
  onTestFinished(() => stopped.open({ kind: 'stopped' }));
  const atMost = KEYS_OF_QUEUE + [DEAD, SLOW].length;

  relay.relay(await happen());
  // The slow receiver has one of them, and answers nothing.
  await expect.poll(() => ran.size).toBe(2 * EVENTS - 1);
  await expect.poll(async () => (await keys()).length).toBeLessThanOrEqual(atMost);
  expect(await happen()).toEqual([]);
  expect((await keys()).length).toBeLessThanOrEqual(atMost);
});
