import { JOB_HELD_RETRY_MS } from './hold-while-away.ts';
import type { JobHandler, JobResult } from './job-handler.ts';

/**
 * A handler whose jobs can be given back to the queue while they are under way, at no attempt's cost, so that another
 * process does them at once. What was begun may still end: a job is safe to run twice.
 */
export function givenBack(handle: JobHandler): { readonly handle: JobHandler; giveBack(): void } {
  const underWay = new Set<(result: JobResult) => void>();
  return {
    handle: (data) =>
      new Promise((resolve, reject) => {
        underWay.add(resolve);
        void handle(data)
          .then(resolve, reject)
          .finally(() => underWay.delete(resolve));
      }),
    giveBack() {
      for (const resolve of underWay) resolve({ kind: 'wait', forMs: JOB_HELD_RETRY_MS });
    },
  };
}
