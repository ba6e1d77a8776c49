import { below, MAX_JOB_STATEMENTS } from '../limits.ts';
import { batched, type ConcurrencyLimit, limitConcurrency } from '../postgres/batched-reads.ts';
import type { QueueName } from '../store/outbox-rows.ts';
import type { Store } from '../store/store.ts';
import type { JobData } from './job-handler.ts';

/** Most jobs that share one statement. At most NOTICE_IDS, as one notice names all of their orders. */
export const MAX_JOBS_PER_STATEMENT = 64;
/**
 * Shortest time between two such statements of a kind, unless one is full. A statement costs as much as ten of its
 * rows; a vendor takes longer for its answer. At most HAND_OVER_MS.
 */
const JOB_GATHER_MS = 100;
/** The same where a reply waits for one of its jobs, which the others join. Below JOB_GATHER_MS. */
const AWAITED_GATHER_MS = 50;

below({ AWAITED_GATHER_MS }, { JOB_GATHER_MS });

/**
 * Makes a function for one job of a statement for many, which concurrent jobs share: those of the same moment, and
 * while jobs are many those of JOB_GATHER_MS.
 *
 * @param limit shared by statements that lock the same rows; one of its own by default
 * @param isAwaited whether a reply waits for the job
 */
export const inBatches = <Item, Value>(
  statement: (items: readonly Item[]) => Promise<ReadonlyMap<string, Value>>,
  keyOf: (item: Item) => string,
  limit: ConcurrencyLimit = limitConcurrency(MAX_JOB_STATEMENTS),
  isAwaited: (item: Item) => boolean = () => false,
): ((item: Item) => Promise<Value | null>) => {
  const everyMs = (item: Item) => (isAwaited(item) ? AWAITED_GATHER_MS : JOB_GATHER_MS);
  return batched(statement, keyOf, MAX_JOBS_PER_STATEMENT, limit, everyMs, true);
};

/** Makes a function that ends a job of this queue which found nothing to do. */
export const finishing = (store: Pick<Store, 'finishJobs'>, queue: QueueName): ((job: JobData) => Promise<unknown>) =>
  inBatches(
    (jobs: readonly JobData[]) => store.finishJobs(jobs, queue),
    ({ outboxId }) => String(outboxId),
  );
