import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import {
  DRIVER_ACTIONS_KEPT_DAYS,
  END_LEASES_ROWS,
  OUTBOX_KEPT_DAYS,
  OUTBOX_PRUNE_ROWS,
  OUTBOX_SWEEP_MS,
  OUTBOX_SWEEP_SOON_MS,
  WEBHOOK_KEPT_DAYS,
} from '../../src/queues/sweeper.ts';
import { QUEUES } from '../../src/store/outbox-rows.ts';
import { startTestSweeper } from './test-sweeper.ts';

const relay = {
  relay: () => undefined,
  openQueues: async () => [...QUEUES],
  roomUntil: () => Number.POSITIVE_INFINITY,
};

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const STEPS = ['owed jobs', 'done jobs', 'webhook deliveries', 'driver actions', 'undelivered replies', 'pauses'];

test.each([...STEPS, 'nothing'])('the other steps run if %s fails', async (failing) => {
  const done: string[] = [];
  const step = async (what: string) => {
    if (what === failing) throw new Error('the statement took too long');
    done.push(what);
  };
  const prune = (what: string) => async () => {
    await step(what);
    return 0;
  };
  const store = {
    async takeExpired() {
      await step('owed jobs');
      return [];
    },
    pruneOutbox: prune('done jobs'),
    pruneDeliveries: prune('webhook deliveries'),
    pruneDriverActions: prune('driver actions'),
    pruneRequests: prune('undelivered replies'),
    endPausesAhead: () => step('pauses'),
  };
  startTestSweeper(store, relay);
  await vi.advanceTimersByTimeAsync(OUTBOX_SWEEP_MS * 2);
  const round = STEPS.filter((what) => what !== failing);
  expect(done).toEqual([...round, ...round]);
});

test('a sweep deletes a bounded number of rows, each kept for its days', async () => {
  const deleted: unknown[] = [];
  const prune = (what: string) => async (days: number, limit: number) => {
    deleted.push([what, days, limit]);
    return limit;
  };
  const store = {
    pruneOutbox: prune('jobs'),
    pruneDeliveries: prune('deliveries'),
    pruneDriverActions: prune('actions'),
    async pruneRequests(limit: number) {
      deleted.push(['requests', limit]);
      return limit;
    },
  };
  startTestSweeper(store, relay);
  await vi.advanceTimersByTimeAsync(OUTBOX_SWEEP_MS);
  expect(deleted).toEqual([
    ['jobs', OUTBOX_KEPT_DAYS, OUTBOX_PRUNE_ROWS],
    ['deliveries', WEBHOOK_KEPT_DAYS, OUTBOX_PRUNE_ROWS],
    ['actions', DRIVER_ACTIONS_KEPT_DAYS, OUTBOX_PRUNE_ROWS],
    ['requests', OUTBOX_PRUNE_ROWS],
  ]);
});

test('the leases of lost jobs end in parts before the sweep takes owed rows', async () => {
  const done: string[] = [];
  const lasts = [1, 2].map((id) => ({ id, until: '2030-01-01' }));
  let isLost = true;
  startTestSweeper(
    {
      async takeExpired() {
        done.push('taken');
        return [];
      },
      async endLeases(limit, after) {
        done.push(`ended ${limit} after ${after?.id ?? 'none'}`);
        return { rows: 3, last: lasts.shift() ?? null };
      },
    },
    relay,
    {
      async check(recover) {
        if (isLost) await recover();
        isLost = false;
      },
    },
  );
  await vi.advanceTimersByTimeAsync(OUTBOX_SWEEP_MS * 2);
  const ended = ['none', 1, 2].map((after) => `ended ${END_LEASES_ROWS} after ${after}`);
  expect(done).toEqual([...ended, 'taken', 'taken']);
});

test('a sweep that is asked for comes soon, once for many calls, and once more if one was under way', async () => {
  let sweeps = 0;
  let finish = (): void => undefined;
  const takeExpired = async () => {
    sweeps++;
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
    return [];
  };
  const sweeper = startTestSweeper({ takeExpired }, relay);
  onTestFinished(() => finish());
  for (let call = 0; call < 5; call++) sweeper.sweepSoon();
  await vi.advanceTimersByTimeAsync(OUTBOX_SWEEP_SOON_MS);
  expect(sweeps).toBe(1);
  for (let call = 0; call < 5; call++) sweeper.sweepSoon();
  finish();
  await vi.advanceTimersByTimeAsync(OUTBOX_SWEEP_SOON_MS);
  expect(sweeps).toBe(2);
  finish();
  await vi.advanceTimersByTimeAsync(OUTBOX_SWEEP_MS - 1);
  expect(sweeps).toBe(2);
  await vi.advanceTimersByTimeAsync(1);
  expect(sweeps).toBe(3);
});
