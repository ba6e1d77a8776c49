import { JobPace } from '../../src/queues/job-pace.ts';
import type { WorkerSettings } from '../../src/queues/queues.ts';

/** Settings of a worker that nothing holds up. */
export const workerSettings = (changes: Partial<WorkerSettings> = {}): WorkerSettings => ({
  concurrency: 4,
  ratePerSecond: 0,
  database: { isAway: () => false },
  pace: new JobPace(false),
  clock: Date,
  putBack: async () => undefined,
  ...changes,
});
