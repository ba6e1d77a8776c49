import { expect, test } from 'vitest';
import { createWebhookJob, retryAfter, WEBHOOK_TRIED_SECONDS } from '../../src/events/webhook.ts';
import { newWebhookSecret } from '../../src/events/webhook-signature.ts';
import { WEBHOOK_CONCURRENCY } from '../../src/limits.ts';
import type { FailedAttempt, OwedDelivery } from '../../src/store/events/webhook-deliveries.ts';
import type { WebhookOutcome } from '../../src/vendors/webhook-client.ts';
import { verifyWebhook } from '../harness/webhooks.ts';

const SECRET = 'whsec_c2VjcmV0';
const endpoint = {
  id: 'webhook',
  ownerId: 'store',
  url: 'https://store.test/hook?token=hidden',
  secret: SECRET,
  oldSecret: null,
  heldSeconds: 0,
  seesStore: true,
};
const delivery = (changes: Partial<OwedDelivery> = {}): OwedDelivery => ({
  id: 'delivery',
  outboxId: 1,
  payload: '{}',
  attempts: 0,
  relays: 0,
  dueInSeconds: 0,
  ageSeconds: 0,
  isLeftOver: false,
  endpoint,
  ...changes,
});

/** The job with a store that gives a fixed answer, and a record of the statements. */
function world(options: {
  open: (outboxId: number) => OwedDelivery | null;
  outcome?: WebhookOutcome | (() => Promise<WebhookOutcome>);
  disabled?: boolean;
  sent?: Record<string, string>[];
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
      recordDelivered: async (_delivery, result, releases) => {
        done.push(['delivered', result, releases]);
        return [];
      },
      recordFailedAttempt: async (_delivery, failed) => {
        done.push(['failed', failed]);
        return { outbox: failed.retryInSeconds === null ? [] : [row], disabled: options.disabled ?? false };
      },
      recordUndeliverable: async (_delivery, why, ...releases) => {
        done.push(['undeliverable', why, ...releases]);
        return [];
      },
      parkDelivery: async ({ outboxId }) => void done.push(['parked', outboxId]),
      finishJobs: async ([job]) => {
        done.push(['finish', job?.outboxId]);
        return new Map();
      },
    },
    client: {
      async post({ headers }) {
        options.sent?.push({ ...headers });
        return typeof outcome === 'function' ? outcome() : outcome;
      },
    },
    relay: { relay: (rows) => void done.push(['relay', rows.length]) },
    clock: Date,
    random: () => 0.5,
    logger: { debug: log, info: log, warn: log, error: log },
  });
  return { done, logged, job, run: (outboxId = 1, relays = 0) => job({ outboxId, orderId: 'order', relays }) };
}

test.each([200, 201, 204, 299])('a %i counts as delivered', async (status) => {
  const { run, done } = world({ open: () => delivery(), outcome: { kind: 'answered', status } });
  expect(await run()).toEqual({ kind: 'done' });
  expect(done).toEqual([
    ['delivered', String(status), 2],
    ['relay', 0],
  ]);
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
    ['failed', { result, retryInSeconds: 5.25, receiver, releases: receiver === 'refuses' ? 2 : 0 }],
    ['relay', 1],
  ]);
});

test('a receiver that answers 410 gets no other attempt', async () => {
  const { run, done } = world({ open: () => delivery(), outcome: { kind: 'answered', status: 410 } });
  await run();
  expect(done[0]).toEqual(['failed', { result: '410', retryInSeconds: null, receiver: 'gone', releases: 0 }]);
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

test('a delivery whose endpoint is left alone is parked, and nothing is sent or relayed', async () => {
  const sent: Record<string, string>[] = [];
  const { run, done } = world({ open: () => delivery({ endpoint: { ...endpoint, heldSeconds: 60 } }), sent });
  expect(await run()).toEqual({ kind: 'done' });
  expect(done).toEqual([['parked', 1]]);
  expect(sent).toEqual([]);
});

test('one that waited for a day behind its receiver is given up where it finds no place, and parked where none is asked for', async () => {
  const outcome = () => new Promise<WebhookOutcome>(() => undefined);
  const held = { ...endpoint, id: 'held', heldSeconds: 60 };
  const open = (outboxId: number) =>
    delivery({ outboxId, isLeftOver: outboxId > 1, endpoint: outboxId === 3 ? held : endpoint });
  const { run, done } = world({ open, outcome });
  void run(1);
  await run(2);
  await run(3);
  expect(done).toEqual([
    ['undeliverable', 'too_slow'],
    ['parked', 3],
  ]);
});

test('a delivery that finds no place at its receiver is parked, and goes when one that was accepted releases it', async () => {
  const waiting: (() => void)[] = [];
  const outcome = () =>
    new Promise<WebhookOutcome>((resolve) => {
      waiting.push(() => resolve({ kind: 'answered', status: 204 }));
    });
  const { run, done } = world({ open: (outboxId) => delivery({ outboxId }), outcome });
  const first = run(1);
  await expect.poll(() => waiting.length).toBe(1);
  await run(2);
  expect(done).toEqual([['parked', 2]]);
  waiting[0]?.();
  await first;
  expect(done.slice(1)).toEqual([
    ['delivered', '204', 2],
    ['relay', 0],
  ]);
  const next = [run(2), run(3)];
  await expect.poll(() => waiting.length).toBe(3);
  for (const answer of waiting) answer();
  await Promise.all(next);
});

test('a delivery that waited in line is judged again: one whose store its chain has lost meanwhile is given up unsent', async () => {
  const sent: Record<string, string>[] = [];
  const answers: (() => void)[] = [];
  const outcome = () =>
    new Promise<WebhookOutcome>((resolve) => answers.push(() => resolve({ kind: 'answered', status: 204 })));
  let seesStore = true;
  const open = (outboxId: number) =>
    delivery({ outboxId, endpoint: { ...endpoint, id: `${outboxId}`, ownerId: `owner ${outboxId}`, seesStore } });
  const { run, done } = world({ open, outcome, sent });
  for (let outboxId = 0; outboxId < WEBHOOK_CONCURRENCY; outboxId++) void run(outboxId);
  await expect.poll(() => answers.length).toBe(WEBHOOK_CONCURRENCY);
  const waited = run(WEBHOOK_CONCURRENCY);
  await new Promise((resolve) => setImmediate(resolve));
  seesStore = false;
  for (const answer of answers.splice(0)) answer();
  await expect.poll(() => done).toContainEqual(['undeliverable', 'no_endpoint', 1]);
  expect(await waited).toEqual({ kind: 'done' });
  expect(sent).toHaveLength(WEBHOOK_CONCURRENCY);
});

test('a webhook whose secret was rotated is signed by both secrets, the new one first', async () => {
  const sent: Record<string, string>[] = [];
  const old = newWebhookSecret();
  const { job } = world({ open: () => delivery({ endpoint: { ...endpoint, oldSecret: old } }), sent });
  await job({ outboxId: 1, orderId: 'order', relays: 0 });
  const [headers = {}] = sent;
  const signatures = (headers['webhook-signature'] ?? '').split(' ');
  expect(signatures).toHaveLength(2);
  for (const [index, secret] of [SECRET, old].entries()) {
    expect(verifyWebhook(secret, headers, '{}')).toEqual({});
    const alone = { ...headers, 'webhook-signature': signatures[index] };
    expect(verifyWebhook(secret, alone, '{}')).toEqual({});
  }
  expect(() => verifyWebhook(newWebhookSecret(), headers, '{}')).toThrow(/signature/);
});

test('a delivery whose webhook was removed is given up', async () => {
  const { run, done } = world({ open: () => delivery({ endpoint: null }) });
  await run();
  expect(done).toEqual([['undeliverable', 'no_endpoint']]);
});

test.each([
  ['releases the next one', 0, 1],
  ['releases none behind a receiver that is left alone', 60, 0],
])('a delivery whose store its chain sees no more is given up unsent, and %s', async (_what, heldSeconds, releases) => {
  const sent: Record<string, string>[] = [];
  const open = () => delivery({ endpoint: { ...endpoint, heldSeconds, seesStore: false } });
  const { run, done } = world({ open, sent });
  await run();
  expect(done).toEqual([
    ['undeliverable', 'no_endpoint', releases],
    ['relay', 0],
  ]);
  expect(sent).toEqual([]);
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
  expect(done[0]).toEqual(['delivered', '204', 2]);
});

test('of two jobs of a due delivery the first one makes it', async () => {
  const { run, done } = world({ open: () => delivery({ relays: 2 }) });
  await run(1, 1);
  expect(done[0]).toEqual(['delivered', '204', 2]);
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
