import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { END_LEASES_ROWS, OUTBOX_PRUNE_ROWS, OUTBOX_SWEEP_MS } from '../../src/limits.ts';
import { startSweeper } from '../../src/queues/sweeper.ts';
import { QUEUES } from '../../src/store/outbox.ts';
import { createLogger } from '../../src/telemetry.ts';

const memory = { check: async () => undefined };
const endLeases = async () => 0;
const relay = { relay: () => undefined, openQueues: async () => [...QUEUES] };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test.each(['owed jobs', 'first', 'second', 'nothing'])(
  'when %s fails, the rest of a round is done',
  async (failing) => {
    const done: string[] = [];
    const work = (what: string) => async () => {
      if (what === failing) throw new Error('the statement took too long');
      done.push(what);
    };
    const prune = (what: string) => async (limit: number) => {
      await work(what)();
      return limit;
    };
    const sweeper = startSweeper(
      {
        takeExpired: async () => {
          await work('owed jobs')();
          return [];
        },
        endLeases,
        prunes: { first: prune('first'), second: prune('second') },
      },
      relay,
      memory,
      createLogger('silent'),
    );
    onTestFinished(() => sweeper.close());
    await vi.advanceTimersByTimeAsync(OUTBOX_SWEEP_MS * 2);
    const round = ['owed jobs', 'first', 'second'].filter((what) => what !== failing);
    expect(done).toEqual([...round, ...round]);
  },
);

test('a round deletes a bounded number of rows', async () => {
  const limits: number[] = [];
  const prune = async (limit: number) => limits.push(limit);
  const sweeper = startSweeper(
    { takeExpired: async () => [], endLeases, prunes: { rows: prune } },
    relay,
    memory,
    createLogger('silent'),
  );
  onTestFinished(() => sweeper.close());
  await vi.advanceTimersByTimeAsync(OUTBOX_SWEEP_MS);
  expect(limits).toEqual([OUTBOX_PRUNE_ROWS]);
});

test('jobs that the queues lost are made owed again in parts, before the round takes what is owed', async () => {
  const done: string[] = [];
  const parts = [END_LEASES_ROWS, END_LEASES_ROWS, 3];
  let isLost = true;
  const sweeper = startSweeper(
    {
      takeExpired: async () => {
        done.push('taken');
        return [];
      },
      endLeases: async (limit) => {
        done.push(`ended ${limit}`);
        return parts.shift() ?? 0;
      },
      prunes: {},
    },
    relay,
    {
      async check(recover) {
        if (isLost) await recover();
        isLost = false;
      },
    },
    createLogger('silent'),
  );
  onTestFinished(() => sweeper.close());
  await vi.advanceTimersByTimeAsync(OUTBOX_SWEEP_MS * 2);
  expect(done).toEqual([...Array(3).fill(`ended ${END_LEASES_ROWS}`), 'taken', 'taken']);
});
