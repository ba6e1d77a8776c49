import { MAX_JOB_STATEMENTS } from '../limits.ts';
import { batched, type ConcurrencyLimit, limitConcurrency } from '../postgres/batched-reads.ts';
import type { QueueName } from '../store/outbox-rows.ts';
import type { Store } from '../store/store.ts';
import type { JobData } from './job-handler.ts';

/** Most jobs that share one statement. At most NOTICE_IDS, as one notice names all of their orders. */
export const MAX_JOBS_PER_STATEMENT = 64;
/**
 * Shortest time between two such statements of a kind, unless one is full. A statement costs as much as ten of its
 * rows; a vendor takes longer for its answer. At most JOB_TICK_MS.
 */
const JOB_GATHER_MS = 50;

/**
 * Makes a function for one job of a statement for many, which concurrent jobs share: those of the same moment, and
 * while jobs are many those of JOB_GATHER_MS.
 *
 * @param limit shared by statements that lock the same rows; one of its own by default
 */
export const inBatches = <Item, Value>(
  statement: (items: readonly Item[]) => Promise<ReadonlyMap<string, Value>>,
  keyOf: (item: Item) => string,
  limit: ConcurrencyLimit = limitConcurrency(MAX_JOB_STATEMENTS),
): ((item: Item) => Promise<Value | null>) =>
  batched(statement, keyOf, MAX_JOBS_PER_STATEMENT, limit, JOB_GATHER_MS, true);

/** Makes a function that ends a job of this queue which found nothing to do. */
export const finishing = (store: Pick<Store, 'finishJobs'>, queue: QueueName): ((job: JobData) => Promise<unknown>) =>
  inBatches(
    (jobs: readonly JobData[]) => store.finishJobs(jobs, queue),
    ({ outboxId }) => String(outboxId),
  );
