import { beforeEach, expect, onTestFinished, test } from 'vitest';
import type { PlaceRequest } from '../../src/dispatch/place-request.ts';
import {
  createTidying,
  SANDBOX_KEPT_ORDERS,
  SANDBOX_SURPLUS_AGE_MS,
  SANDBOX_TIDY_ORDERS,
  startTidying,
} from '../../src/sandbox/tidying.ts';
import type { Surplus } from '../../src/store/orders/orders.ts';
import { createLogger } from '../../src/telemetry.ts';

const MAX_WAITING = 40;
let nowMs: number;
/** When each waiting order was made, oldest first. */
let waiting: number[];
/** What was asked of the tables. */
let asked: Surplus[];
let tidy: () => Promise<'now' | 'later'>;
/** Orders that arrive while a statement runs. */
let arriving: number;

beforeEach(() => {
  nowMs = 1_000_000;
  waiting = [];
  asked = [];
  arriving = 0;
  const parts = {
    maxWaiting: MAX_WAITING,
    clock: { now: () => nowMs },
    matcher: { waitingCount: () => waiting.length },
    redispatch: {
      async expireSurplus(surplus: Surplus) {
        asked.push(surplus);
        const kept = waiting.slice(-surplus.keep);
        const old = waiting.slice(0, -surplus.keep).filter((ms) => ms < surplus.createdBefore.getTime());
        const expired = old.slice(0, surplus.limit);
        waiting = [...old.slice(surplus.limit), ...waiting.slice(old.length, -surplus.keep), ...kept];
        place(arriving);
        return expired.length;
      },
    },
  };
  tidy = createTidying(parts, () => ['asked for again']);
});

const place = (count: number): void => void waiting.push(...Array<number>(count).fill(nowMs));

test('as few orders as a person places are never touched', async () => {
  place(MAX_WAITING);
  nowMs += 60_000;
  expect(await tidy()).toBe('later');
  expect(asked).toEqual([]);
});

test('after a load test all of its orders expire but the newest few, part after part', async () => {
  place(2 * SANDBOX_TIDY_ORDERS + 300);
  expect(await tidy()).toBe('later');
  expect(waiting).toHaveLength(2 * SANDBOX_TIDY_ORDERS + 300);
  nowMs += SANDBOX_SURPLUS_AGE_MS + 1;
  expect([await tidy(), await tidy(), await tidy()]).toEqual(['now', 'now', 'later']);
  expect(waiting).toHaveLength(SANDBOX_KEPT_ORDERS);
  expect(asked.every(({ keepIds }) => keepIds[0] === 'asked for again')).toBe(true);
});

test('orders of a load test that are no longer too many expire as well, once they are of age', async () => {
  place(400);
  nowMs += SANDBOX_SURPLUS_AGE_MS - 1_000;
  place(200);
  await tidy();
  nowMs += 2_000;
  await tidy();
  expect(waiting).toHaveLength(200);
  nowMs += SANDBOX_SURPLUS_AGE_MS;
  await tidy();
  expect(waiting).toHaveLength(SANDBOX_KEPT_ORDERS);
});

test('orders that come after a load test stay', async () => {
  place(MAX_WAITING + 100);
  await tidy();
  nowMs += SANDBOX_SURPLUS_AGE_MS + 1;
  await tidy();
  await tidy();
  place(MAX_WAITING - SANDBOX_KEPT_ORDERS);
  nowMs += SANDBOX_SURPLUS_AGE_MS + 1;
  await tidy();
  const before = asked.length;
  await tidy();
  expect(asked).toHaveLength(before);
  expect(waiting).toHaveLength(MAX_WAITING - SANDBOX_KEPT_ORDERS);
});

test('while orders arrive there is a pause between two statements', async () => {
  place(3 * SANDBOX_TIDY_ORDERS);
  nowMs += SANDBOX_SURPLUS_AGE_MS + 1;
  arriving = 50;
  expect(await tidy()).toBe('later');
  arriving = 0;
  expect(await tidy()).toBe('now');
});

test('an order that was asked for again is kept, of several the last few', async () => {
  const kept: (readonly string[])[] = [];
  const expireSurplus = async ({ keepIds }: Surplus) => kept.push(keepIds) && 0;
  const matcher = { waitingCount: () => MAX_WAITING + 1 };
  const tidying = startTidying({
    matcher,
    redispatch: { expireSurplus },
    maxWaiting: MAX_WAITING,
    clock: { now: () => nowMs },
    logger: createLogger('silent'),
  });
  onTestFinished(() => tidying.close());
  const outcomes = ['created', ...Array<'replayed'>(SANDBOX_KEPT_ORDERS + 1).fill('replayed')];
  let n = 0;
  const place = tidying.heed(
    async () => ({ kind: outcomes[n], order: { id: `order-${n++}` } }) as Awaited<ReturnType<PlaceRequest>>,
  );
  const request = [{}, {}, {}, {}] as unknown as Parameters<PlaceRequest>;
  for (const kind of outcomes) expect(await place(...request)).toMatchObject({ kind });
  const last = Array.from({ length: SANDBOX_KEPT_ORDERS }, (_, i) => `order-${i + 2}`);
  await expect.poll(() => kept.at(-1)).toEqual(last);
});
