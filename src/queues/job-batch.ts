import { errorFields } from '../telemetry.ts';
import type { JobData, JobHandler, JobResult } from './job-handler.ts';

/** Owed jobs of one queue that are one job to BullMQ, which spends as much on it as on a single one. */
export type JobBatch = JobData & { readonly others?: readonly JobData[] };

/** @param jobs at least one */
export function batchOf(jobs: readonly JobData[]): JobBatch {
  const [first, ...others] = jobs as [JobData, ...JobData[]];
  return others.length === 0 ? first : { ...first, others };
}

export function jobsOf({ others = [], ...first }: JobBatch): JobData[] {
  return [first, ...others];
}

export type BatchResult = {
  /** The jobs that are not done. */
  readonly left: readonly JobData[];
  /** What becomes of those; `done` if there is none. */
  readonly result: JobResult;
};

/**
 * Does the jobs of a batch at the same time, so that they share statements. Those that are not done are tried
 * again together: a pause of the queue comes before an attempt, and an attempt before a wait. An error of the
 * handler costs an attempt.
 */
export async function runBatch(batch: JobBatch, handle: JobHandler): Promise<BatchResult> {
  const jobs = jobsOf(batch);
  const results = await Promise.all(jobs.map((job) => handle(job).catch(asRetry)));
  const left = jobs.filter((_, i) => results[i]?.kind !== 'done');
  return { left, result: results.reduce(stronger) };
}

/** Without the error's words, which may quote a customer: the reason goes to the log and to the queue. */
function asRetry(error: unknown): JobResult {
  const { name, code, at } = errorFields(error);
  return { kind: 'retry', reason: [name, code, at].filter(Boolean).join(' ') };
}

const STRENGTH = { done: 0, wait: 1, retry: 2, rate_limited: 3 } as const;

/** Of two waits the shorter one, since a job that comes too early only waits again. */
function stronger(one: JobResult, other: JobResult): JobResult {
  if (one.kind === 'wait' && other.kind === 'wait') return one.forMs <= other.forMs ? one : other;
  return STRENGTH[one.kind] >= STRENGTH[other.kind] ? one : other;
}
