import { expect, test } from 'vitest';
import { batchOf, runBatch } from '../../src/queues/job-batch.ts';
import type { JobData, JobResult } from '../../src/queues/job-handler.ts';

const jobs = (count: number): JobData[] =>
  Array.from({ length: count }, (_, i) => ({ outboxId: i, orderId: `order ${i}`, relays: 0 }));

/** Runs a batch whose jobs have these results; an error is thrown. */
function run(results: readonly (JobResult | Error)[]) {
  const handle = async ({ outboxId }: JobData): Promise<JobResult> => {
    const result = results[outboxId] as JobResult | Error;
    if (result instanceof Error) throw result;
    return result;
  };
  return runBatch(batchOf(jobs(results.length)), handle);
}
const done = { kind: 'done' } as const;
const wait = (forMs: number) => ({ kind: 'wait', forMs }) as const;
const retry = { kind: 'retry', reason: 'later' } as const;
const limited = { kind: 'rate_limited', forMs: 5 } as const;

test('a batch whose jobs are done is done', async () => {
  expect(await run([done, done])).toEqual({ left: [], result: done });
});

test('only what is not done is left', async () => {
  const { left, result } = await run([done, retry, done, wait(10)]);
  expect(left.map(({ outboxId }) => outboxId)).toEqual([1, 3]);
  expect(result).toEqual(retry);
});

test('a pause of the queue comes first, then an attempt, then the shortest wait', async () => {
  expect((await run([wait(10), retry, limited])).result).toEqual(limited);
  expect((await run([wait(10), wait(3), done, wait(7)])).result).toEqual(wait(3));
});

test('an error of one job costs an attempt and leaves the others done', async () => {
  const { left, result } = await run([done, new SyntaxError('Winifred is not JSON'), done]);
  expect(left.map(({ outboxId }) => outboxId)).toEqual([1]);
  // Its words may quote a customer.
  expect(result).toEqual({ kind: 'retry', reason: expect.stringMatching(/^SyntaxError(?!.*Winifred)/) });
});
