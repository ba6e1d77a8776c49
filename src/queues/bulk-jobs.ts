import { createHash } from 'node:crypto';
import type { OutboxRow, QueueName } from '../store/outbox-rows.ts';
import { batchOf, type JobBatch } from './job-batch.ts';
import type { JobData } from './job-handler.ts';

/**
 * Most owed jobs that are one job to BullMQ. At most LOCATE_CONCURRENCY, as a worker begins all of them at once: more
 * of them would wait for one worker beside idle ones.
 */
export const JOBS_PER_BATCH = 64;

/** A job as BullMQ takes many of them. */
export type BulkJob = {
  name: string;
  data: JobBatch;
  opts: { jobId: string; delay: number; priority: number };
};

/**
 * The jobs of a queue's rows. Rows that are due share a job, as BullMQ costs as much for each job as its work
 * does. A queue with fair shares, or a limited rate, counts single ones.
 *
 * @param priorities of each row in a queue with fair shares; null in any other
 * @param isAwaited whether a reply waits for the job of a row
 */
export function bulkJobsOf(
  name: QueueName,
  rows: readonly OutboxRow[],
  priorities: ReadonlyMap<OutboxRow, number> | null,
  nowMs: number,
  isAwaited: (row: OutboxRow) => boolean,
): BulkJob[] {
  const batches = priorities ? rows.map((row) => [row]) : inBatches(rows, nowMs);
  return batches.map((batch) => {
    const [first] = batch as [OutboxRow];
    return {
      name,
      data: batchOf(batch.map((row) => dataOf(row, isAwaited(row)))),
      opts: {
        jobId: idOf(batch),
        delay: Math.max(0, first.runAt.getTime() - nowMs),
        priority: priorities?.get(first) ?? 0,
      },
    };
  });
}

const dataOf = ({ id: outboxId, orderId, relays }: OutboxRow, isAwaited: boolean): JobData =>
  isAwaited ? { outboxId, orderId, relays, isAwaited } : { outboxId, orderId, relays };

/**
 * The same for the same rows alone: a queue takes no second job of an id that it has. Postgres may give the id of a row
 * to that of another order after a failover, while the queue still has the first one's job, or keeps it as failed.
 */
function idOf(batch: readonly OutboxRow[]): string {
  const names = batch.map(({ id, relays, orderId }) => `${id}-${relays}-${orderId}`);
  const [first = '', ...others] = names;
  return others.length === 0 ? first : `${first}-${createHash('sha256').update(names.join()).digest('base64url')}`;
}

function inBatches(rows: readonly OutboxRow[], nowMs: number): OutboxRow[][] {
  const isDue = ({ runAt }: OutboxRow) => runAt.getTime() <= nowMs;
  const due = rows.filter(isDue);
  const shared = Array.from({ length: Math.ceil(due.length / JOBS_PER_BATCH) }, (_, i) =>
    due.slice(i * JOBS_PER_BATCH, (i + 1) * JOBS_PER_BATCH),
  );
  return [...shared, ...rows.filter((row) => !isDue(row)).map((row) => [row])];
}
