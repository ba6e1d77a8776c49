import { JOB_GATHER_MS, MAX_JOB_STATEMENTS, MAX_JOBS_PER_STATEMENT } from '../limits.ts';
import { batched, type ConcurrencyLimit, limitConcurrency } from '../postgres/batched-reads.ts';

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
): ((item: Item) => Promise<Value | null>) => batched(statement, keyOf, MAX_JOBS_PER_STATEMENT, limit, JOB_GATHER_MS);
