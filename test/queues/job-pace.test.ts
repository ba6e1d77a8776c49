import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { inTurn } from '../../src/queues/in-turn.ts';
import {
  JOB_TICK_MS,
  JOB_YIELD_MS,
  JobPace,
  MAX_PACED_JOBS,
  MIN_PACED_JOBS,
  SLOW_ORDER_MS,
} from '../../src/queues/job-pace.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A pace, orders that are slow for as long as `flood` runs, and jobs that wait for their turn. */
function world({ isShared = true } = {}) {
  const pace = new JobPace(isShared);
  onTestFinished(() => pace.close());
  const started: number[] = [];
  let floods: NodeJS.Timeout | undefined;
  const slow = () => pace.orderTook(SLOW_ORDER_MS + 1);
  return {
    pace,
    started,
    flood() {
      slow();
      floods = setInterval(slow, JOB_TICK_MS / 2);
    },
    ebb: () => clearInterval(floods),
    come(from: number, to: number) {
      for (let n = from; n < to; n++) void pace.turn().then((may) => may && started.push(n));
    },
  };
}
const ticks = (count: number) => vi.advanceTimersByTimeAsync(count * JOB_TICK_MS);

test('jobs start at once while orders are quick, or none are placed', async () => {
  const { pace, started, come } = world();
  pace.orderTook(SLOW_ORDER_MS);
  come(0, 1_000);
  await ticks(0);
  expect(started).toHaveLength(1_000);
  expect(pace.isYielding).toBe(false);
});

test('while orders are slow, jobs go down to a trickle, first come, first served', async () => {
  const { started, flood, come } = world();
  flood();
  await ticks(10);
  come(0, 1_000);
  await ticks(20);
  expect(started).toEqual(Array.from({ length: started.length }, (_, n) => n));
  expect(started.length).toBeGreaterThanOrEqual(20 * MIN_PACED_JOBS);
  expect(started.length).toBeLessThanOrEqual(21 * MIN_PACED_JOBS);
});

test('jobs are back within a second after the last slow order', async () => {
  const { pace, started, flood, ebb, come } = world();
  flood();
  await ticks(10);
  come(0, 1_000);
  ebb();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(started).toHaveLength(1_000);
  expect(pace.isYielding).toBe(false);
});

test('in a flood without end jobs get more and more after the longest yield', async () => {
  const { started, flood, come } = world();
  flood();
  await vi.advanceTimersByTimeAsync(JOB_YIELD_MS + 20_000);
  come(0, 100_000);
  await ticks(10);
  expect(started.length).toBeGreaterThanOrEqual(10 * 19);
  await vi.advanceTimersByTimeAsync(60_000);
  const before = started.length;
  await ticks(10);
  expect(started.length - before).toBe(10 * MAX_PACED_JOBS);
});

test('a process that does not do both never yields', async () => {
  const { pace, started, flood, come } = world({ isShared: false });
  flood();
  await ticks(10);
  come(0, 100);
  await ticks(0);
  expect([started.length, pace.isYielding]).toEqual([100, false]);
});

test('a stop ends every wait, and a job without a turn goes back to the queue', async () => {
  const { pace, flood } = world();
  flood();
  await ticks(10);
  let runs = 0;
  const handle = inTurn(
    async () => {
      runs++;
      return { kind: 'done' };
    },
    pace,
    (orderId) => orderId === 'awaited',
  );
  const waiting = [handle({ outboxId: 1, orderId: 'a' }), handle({ outboxId: 2, orderId: 'b' })];
  expect(await handle({ outboxId: 3, orderId: 'awaited' })).toEqual({ kind: 'done' });
  pace.close();
  expect((await Promise.all(waiting)).map(({ kind }) => kind)).toContain('wait');
  expect(await handle({ outboxId: 4, orderId: 'c' })).toMatchObject({ kind: 'wait' });
  expect(runs).toBeLessThanOrEqual(2);
});
