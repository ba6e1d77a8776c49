import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Lease, REGION } from '../../src/domain/plan.ts';
import {
  keepPlannerLease,
  PLANNER_LEASE_MARGIN_MS,
  PLANNER_LEASE_MS,
  PLANNER_LEASE_RENEW_MS,
  type PlannerLease,
} from '../../src/planning/planner-lease.ts';
import { createLogger } from '../../src/telemetry.ts';

const FIRST: Lease = { region: REGION, epoch: 1 };
const SECOND: Lease = { region: REGION, epoch: 2 };
/** For how long a right counts, from when it was asked for. */
const VALID_MS = PLANNER_LEASE_MS - PLANNER_LEASE_MARGIN_MS;

type Ask = {
  readonly atMs: number;
  readonly heldEpoch: number | null;
  answer(lease: Lease | null): void;
  fail(): void;
};

let asks: Ask[];
let told: (number | null)[];
let left: number[];
let leaving: () => Promise<void>;
let lease: PlannerLease;
let nowMs: () => number;
let breaks: boolean;

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
  nowMs = () => Date.now();
  asks = [];
  told = [];
  left = [];
  leaving = async () => undefined;
  breaks = false;
  lease = keepPlannerLease({
    store: {
      takeLease: (region, ttlMs, heldEpoch = null) => {
        expect([region, ttlMs]).toEqual([REGION, PLANNER_LEASE_MS]);
        return new Promise((resolve, reject) => {
          asks.push({ atMs: Date.now(), heldEpoch, answer: resolve, fail: () => reject(new Error('away')) });
        });
      },
      leaveLease: async ({ epoch }) => {
        left.push(epoch);
        await leaving();
      },
    },
    nowMs: () => nowMs(),
    changed: (held) => {
      told.push(held?.epoch ?? null);
      if (breaks) throw new Error('the planner could not begin');
    },
    logger: createLogger('silent'),
  });
});
afterEach(() => void vi.useRealTimers());

/** Answers the ask under way, and has what follows happen. */
async function answer(to: Lease | null | 'fails'): Promise<void> {
  const ask = asks.at(-1) as Ask;
  if (to === 'fails') ask.fail();
  else ask.answer(to);
  await vi.advanceTimersByTimeAsync(0);
}
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

test('asks at once, and again PLANNER_LEASE_RENEW_MS after an answer, whoever has the right', async () => {
  expect([asks.length, lease.current()]).toEqual([1, null]);
  await answer(null);
  await pass(PLANNER_LEASE_RENEW_MS - 1);
  expect(asks).toHaveLength(1);
  await pass(1);
  await answer(FIRST);
  await pass(PLANNER_LEASE_RENEW_MS);
  expect([asks.length, lease.current(), told]).toEqual([3, FIRST, [1]]);
});

test('never asks twice at the same time, however long an answer takes', async () => {
  await pass(10 * PLANNER_LEASE_RENEW_MS);
  expect(asks).toHaveLength(1);
});

test('a renewal is no news, and prolongs the right', async () => {
  await answer(FIRST);
  for (let i = 0; i < 5; i++) {
    await pass(PLANNER_LEASE_RENEW_MS);
    await answer(FIRST);
  }
  await pass(VALID_MS - 1);
  expect([lease.current(), told]).toEqual([FIRST, [1]]);
});

test('a right with which planning did not begin is not renewed: the next one begins anew', async () => {
  breaks = true;
  await answer(FIRST);
  expect(lease.current()).toBeNull();
  breaks = false;
  await pass(PLANNER_LEASE_RENEW_MS);
  expect(asks.at(-1)?.heldEpoch).toBeNull();
  await answer(SECOND);
  expect([lease.current(), told]).toEqual([SECOND, [1, 2]]);
});

test('the right counts from when it was asked for, not from the answer', async () => {
  await pass(VALID_MS - 10);
  await answer(FIRST);
  expect(lease.current()).toEqual(FIRST);
  await pass(9);
  expect(lease.current()).toEqual(FIRST);
  await pass(1);
  expect([lease.current(), told]).toEqual([null, [1, null]]);
});

test('an answer that comes later than the right holds gives none', async () => {
  await pass(PLANNER_LEASE_MS);
  await answer(FIRST);
  expect(lease.current()).toBeNull();
});

test('a process that stood still has no right when it goes on, before any timer of it', async () => {
  await answer(FIRST);
  nowMs = () => Date.now() + VALID_MS;
  expect([lease.current(), told]).toEqual([null, [1, null]]);
});

test('failed renewals end the right only once it is over, and it comes back with the next answer', async () => {
  await answer(FIRST);
  await pass(PLANNER_LEASE_RENEW_MS);
  await answer('fails');
  expect(told).toEqual([1]);
  await pass(PLANNER_LEASE_RENEW_MS);
  await pass(VALID_MS - 2 * PLANNER_LEASE_RENEW_MS);
  await answer('fails');
  expect(told).toEqual([1, null]);
  await pass(PLANNER_LEASE_RENEW_MS);
  await answer(SECOND);
  expect([lease.current(), told]).toEqual([SECOND, [1, null, 2]]);
});

test('a renewal names the epoch by which the process plans, and none once it gave up', async () => {
  await answer(FIRST);
  await pass(PLANNER_LEASE_RENEW_MS);
  await answer('fails');
  await pass(PLANNER_LEASE_RENEW_MS);
  lease.lost(FIRST);
  await answer('fails');
  await pass(PLANNER_LEASE_RENEW_MS);
  expect(asks.map(({ heldEpoch }) => heldEpoch)).toEqual([null, 1, 1, null]);
});

test('a right that was given up while it was renewed is not taken up again by the same epoch', async () => {
  await answer(FIRST);
  await pass(PLANNER_LEASE_RENEW_MS);
  lease.lost(FIRST);
  await answer(FIRST);
  expect([lease.current(), told]).toEqual([null, [1, null]]);
  await pass(PLANNER_LEASE_RENEW_MS);
  await answer(SECOND);
  expect([lease.current(), told]).toEqual([SECOND, [1, null, 2]]);
});

test('another holder ends the right at once, and a new epoch begins it anew', async () => {
  await answer(FIRST);
  await pass(PLANNER_LEASE_RENEW_MS);
  await answer(null);
  expect([lease.current(), told]).toEqual([null, [1, null]]);
  await pass(PLANNER_LEASE_RENEW_MS);
  await answer(SECOND);
  await pass(PLANNER_LEASE_RENEW_MS);
  await answer({ region: REGION, epoch: 3 });
  expect(told).toEqual([1, null, 2, 3]);
});

test('a refused command ends the right of its epoch, and not a later one', async () => {
  await answer(FIRST);
  await pass(PLANNER_LEASE_RENEW_MS);
  await answer(SECOND);
  lease.lost(FIRST);
  expect(lease.current()).toEqual(SECOND);
  lease.lost(SECOND);
  expect([lease.current(), told]).toEqual([null, [1, 2, null]]);
  await pass(PLANNER_LEASE_RENEW_MS);
  expect(asks).toHaveLength(3);
});

test('a close gives the right back once, and asks no more', async () => {
  await answer(FIRST);
  await lease.close();
  await pass(10 * PLANNER_LEASE_RENEW_MS);
  expect([left, asks.length, lease.current(), told]).toEqual([[1], 1, null, [1, null]]);
});

test('a close waits for the renewal under way, and gives back what is held', async () => {
  await answer(FIRST);
  await pass(PLANNER_LEASE_RENEW_MS);
  const closing = lease.close();
  await answer(FIRST);
  await closing;
  await pass(PLANNER_LEASE_RENEW_MS);
  expect([left, asks.length, told]).toEqual([[1], 2, [1, null]]);
});

test('a right that comes during the close is given back, and nothing is planned with it', async () => {
  const closing = lease.close();
  await answer(FIRST);
  await closing;
  expect([left, told, lease.current()]).toEqual([[1], [], null]);
});

test('a close without a right, or one that cannot be given back, still ends', async () => {
  await answer(FIRST);
  leaving = async () => {
    throw new Error('away');
  };
  await lease.close();
  expect([left, lease.current()]).toEqual([[1], null]);
});
