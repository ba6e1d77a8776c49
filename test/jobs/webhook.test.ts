import { expect, test } from 'vitest';
import { createWebhookJob, retryAfter } from '../../src/jobs/webhook.ts';
import { MAX_WEBHOOKS_PER_STORE, WEBHOOK_TRIED_SECONDS } from '../../src/limits.ts';
import type { FailedAttempt, OwedDelivery } from '../../src/store/webhook-deliveries.ts';
import type { WebhookOutcome } from '../../src/vendors/webhook-client.ts';

const SECRET = 'whsec_c2VjcmV0';
const endpoint = { url: 'https://store.test/hook?token=hidden', secret: SECRET, heldSeconds: 0 };
const delivery = (changes: Partial<OwedDelivery> = {}): OwedDelivery => ({
  id: 'delivery',
  outboxId: 1,
  retailerId: 'store',
  payload: '{}',
  attempts: 0,
  relays: 0,
  dueInSeconds: 0,
  ageSeconds: 0,
  endpoint,
  ...changes,
});

/** The job with a store that gives a fixed answer, and a record of the statements. */
function world(options: {
  open: (outboxId: number) => OwedDelivery | null;
  outcome?: WebhookOutcome | (() => Promise<WebhookOutcome>);
  disabled?: boolean;
}) {
  const done: unknown[][] = [];
  const logged: string[] = [];
  const log = (fields: object, message: string) => void logged.push(JSON.stringify([fields, message]));
  const row = {
    id: 1,
    queue: 'webhook',
    orderId: 'order',
    retailerId: 'store',
    runAt: new Date(0),
    relays: 1,
  } as const;
  const { outcome = { kind: 'answered', status: 204 } } = options;
  const job = createWebhookJob({
    store: {
      openDelivery: async (outboxId) => options.open(outboxId),
      recordDelivered: async (_delivery, result) => void done.push(['delivered', result]),
      recordFailedAttempt: async (_delivery, failed) => {
        done.push(['failed', failed]);
        return { outbox: failed.retryInSeconds === null ? [] : [row], disabled: options.disabled ?? false };
      },
      recordUndeliverable: async (_delivery, why) => void done.push(['undeliverable', why]),
      postponeDelivery: async ({ outboxId }, seconds) => {
        done.push(['put off', outboxId, seconds]);
        return [row];
      },
      finishOutbox: async (outboxId) => void done.push(['finish', outboxId]),
    },
    client: { post: async () => (typeof outcome === 'function' ? outcome() : outcome) },
    relay: { relay: (rows) => void done.push(['relay', rows.length]) },
    clock: Date,
    random: () => 0.5,
    logger: { debug: log, info: log, warn: log, error: log },
  });
  return { done, logged, run: (outboxId = 1, relays = 0) => job({ outboxId, orderId: 'order', relays }) };
}

test.each([200, 201, 204, 299])('a %i counts as delivered', async (status) => {
  const { run, done } = world({ open: () => delivery(), outcome: { kind: 'answered', status } });
  expect(await run()).toEqual({ kind: 'done' });
  expect(done).toEqual([['delivered', String(status)]]);
});

test.each<[string, FailedAttempt['receiver'], WebhookOutcome]>([
  ['301', 'failing', { kind: 'answered', status: 301 }],
  ['400', 'refuses', { kind: 'answered', status: 400 }],
  ['401', 'failing', { kind: 'answered', status: 401 }],
  ['404', 'failing', { kind: 'answered', status: 404 }],
  ['422', 'refuses', { kind: 'answered', status: 422 }],
  ['408', 'failing', { kind: 'answered', status: 408 }],
  ['429', 'failing', { kind: 'answered', status: 429 }],
  ['500', 'failing', { kind: 'answered', status: 500 }],
  ['503', 'failing', { kind: 'answered', status: 503 }],
  ['timeout', 'failing', { kind: 'unanswered', code: 'timeout' }],
  ['forbidden_address', 'failing', { kind: 'unanswered', code: 'forbidden_address' }],
])('an attempt that ended with %s is made again and counts as %s', async (result, receiver, outcome) => {
  const { run, done } = world({ open: () => delivery(), outcome });
  expect(await run()).toEqual({ kind: 'done' });
  expect(done).toEqual([
    ['failed', { result, retryInSeconds: 5.25, receiver }],
    ['relay', 1],
  ]);
});

test('a receiver that answers 410 gets no other attempt', async () => {
  const { run, done } = world({ open: () => delivery(), outcome: { kind: 'answered', status: 410 } });
  await run();
  expect(done[0]).toEqual(['failed', { result: '410', retryInSeconds: null, receiver: 'gone' }]);
});

test('the pauses between attempts grow, and the last attempt is made after a day', () => {
  const times = [0];
  for (let attempts = 0; ; attempts++) {
    const ageSeconds = times.at(-1) ?? 0;
    const pause = retryAfter({ attempts, ageSeconds }, 0);
    if (pause === null) break;
    times.push(ageSeconds + pause);
  }
  expect(times.slice(0, 6)).toEqual([0, 5, 35, 155, 755, 2555]);
  expect(times.at(-1)).toBe(WEBHOOK_TRIED_SECONDS);
  expect(times.length).toBeLessThan(16);
});

test('a held endpoint is left alone, and its deliveries are spread over the time afterwards', async () => {
  const { run, done } = world({ open: () => delivery({ endpoint: { ...endpoint, heldSeconds: 60 } }) });
  await run();
  expect(done).toEqual([
    ['put off', 1, 90],
    ['relay', 1],
  ]);
});

test('a slow store delays its own deliveries only', async () => {
  const waiting: (() => void)[] = [];
  const outcome = () =>
    new Promise<WebhookOutcome>((resolve) => {
      waiting.push(() => resolve({ kind: 'answered', status: 204 }));
    });
  const stores = new Map([[100, 'another store']]);
  const { run, done } = world({
    open: (outboxId) => delivery({ outboxId, retailerId: stores.get(outboxId) ?? 'store', ageSeconds: 40 }),
    outcome,
  });
  const tries = Array.from({ length: MAX_WEBHOOKS_PER_STORE }, (_, index) => run(index));
  await expect.poll(() => waiting.length).toBe(MAX_WEBHOOKS_PER_STORE);
  await run(50);
  expect(done).toEqual([
    ['put off', 50, 11],
    ['relay', 1],
  ]);
  const other = run(100);
  await expect.poll(() => waiting.length).toBe(MAX_WEBHOOKS_PER_STORE + 1);
  for (const answer of waiting) answer();
  await Promise.all([...tries, other]);
  const next = run(51);
  await expect.poll(() => waiting.length).toBe(MAX_WEBHOOKS_PER_STORE + 2);
  waiting.at(-1)?.();
  await next;
});

test('a delivery whose store has no endpoint any more is given up', async () => {
  const { run, done } = world({ open: () => delivery({ endpoint: null }) });
  await run();
  expect(done).toEqual([['undeliverable', 'no_endpoint']]);
});

test('a delivery that has ended before is only marked done', async () => {
  const { run, done } = world({ open: () => null });
  await run();
  expect(done).toEqual([['finish', 1]]);
});

test('a job whose delivery was postponed to a later job does nothing', async () => {
  const { run, done } = world({ open: () => delivery({ relays: 2, dueInSeconds: 30 }) });
  expect(await run(1, 1)).toEqual({ kind: 'done' });
  expect(done).toEqual([]);
  await run(1, 2);
  expect(done).toEqual([['delivered', '204']]);
});

test('of two jobs of a due delivery the first one makes it', async () => {
  const { run, done } = world({ open: () => delivery({ relays: 2 }) });
  await run(1, 1);
  expect(done).toEqual([['delivered', '204']]);
});

test('a stop of this process does not count as a failure of the store', async () => {
  const { run, done } = world({ open: () => delivery(), outcome: { kind: 'stopped' } });
  expect(await run()).toEqual({ kind: 'retry', reason: 'stopped' });
  expect(done).toEqual([]);
});

test('logs neither the secret nor the URL', async () => {
  const { run, logged } = world({
    open: () => delivery(),
    outcome: { kind: 'unanswered', code: 'timeout' },
    disabled: true,
  });
  await run();
  expect(logged).toHaveLength(1);
  expect(logged[0]).toContain('disabled');
  expect(logged[0]).not.toMatch(/store\.test|whsec_|hidden/);
});
