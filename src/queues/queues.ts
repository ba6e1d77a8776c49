import {
  createRedisBackend,
  DelayedError,
  type Job,
  Queue,
  type QueueOptions,
  runMigrations,
  Worker,
  type WorkerOptions,
  withBackend,
} from 'bullmq';
import type { Pool } from 'pg';
import { below, JOB_ATTEMPTS, JOB_BACKOFF_MS, LOSS_REPORT_MS } from '../limits.ts';
import { limitConcurrency } from '../postgres/batched-reads.ts';
import type { Clock } from '../postgres/clock.ts';
import { OUTBOX_LEASE_SECONDS } from '../store/outbox.ts';
import { QUEUES, type QueueName } from '../store/outbox-rows.ts';
import { atMostEvery, errorFields, type Logger } from '../telemetry.ts';
import { pausing, WORKER_RETRY_MS } from './after-pause.ts';
import { isReached, type QueueBackend, refuseWhileAway } from './backend.ts';
import { givenBack } from './give-back.ts';
import { holdWhileAway, JOB_HELD_RETRY_MS } from './hold-while-away.ts';
import { inTurn } from './in-turn.ts';
import { batchOf, type JobBatch, jobsOf, runBatch } from './job-batch.ts';
import type { JobData, JobHandler, JobResult } from './job-handler.ts';
import { heedPause } from './job-limits.ts';
import type { JobPace } from './job-pace.ts';
import { backendOnPostgres } from './postgres-backend.ts';
import { RELAY_AHEAD_MS } from './until-due.ts';
import { isWallClockAhead } from './wall-clock.ts';
import type { WriteMarks } from './write-marks.ts';

/** Time after which a job whose lock was not renewed is run by another worker. */
const JOB_LOCK_MS = 60_000;
/** Times a job may lose its worker, which it has then probably ended; then it is left to the sweeper. */
const MAX_JOB_STALLS = 20;
/** Longest wait of a stop for jobs under way; then others do them. Below CLOSE_DEADLINE_MS. */
export const JOB_FINISH_MS = 2_500;
/** Failed jobs kept in a queue for inspection: age in seconds and count. The outbox row is kept as well. */
const KEEP_FAILED_JOBS = { age: 7 * 86_400, count: 10_000 };

below({ RELAY_AHEAD_MS }, { 'OUTBOX_LEASE_SECONDS in ms': OUTBOX_LEASE_SECONDS * 1_000 });

/** Creates or updates BullMQ's tables in Postgres. Several processes may run it at once. */
export async function migrateQueues(pool: Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await runMigrations(client, 'bullmq');
  } finally {
    client.release();
  }
}

const OnPostgres = withBackend(backendOnPostgres);
const OnRedis = withBackend((...options: Parameters<typeof createRedisBackend>) =>
  pausing(createRedisBackend(...options)),
);

/** A queue for adding jobs. */
export type AddingQueue = Pick<Queue, 'addBulk' | 'close'> & {
  /** Number of jobs that wait for a worker, without delayed ones. */
  countWaiting(): Promise<number>;
};
type AnyQueue = Pick<Queue, 'addBulk' | 'close' | 'on' | 'getJobCountByTypes'>;

/** Every queue, for adding jobs; what is added is marked. */
export function createQueues(
  backend: QueueBackend,
  marks: Pick<WriteMarks, 'mark'>,
  logger: Logger,
): Map<QueueName, AddingQueue> {
  return new Map(
    QUEUES.map((name) => {
      const queue = openQueue(name, backend);
      queue.on('error', reportLoss(name, 'a queue cannot reach its backend', logger));
      return [
        name,
        {
          addBulk: async (jobs) => {
            refuseWhileAway(backend);
            const added = await queue.addBulk(jobs);
            marks.mark();
            return added;
          },
          countWaiting: async () => {
            refuseWhileAway(backend);
            return queue.getJobCountByTypes('waiting', 'prioritized');
          },
          close: () => closeIfReached(backend, queue),
        },
      ];
    }),
  );
}

function openQueue(name: QueueName, backend: QueueBackend): AnyQueue {
  const defaultJobOptions = {
    attempts: JOB_ATTEMPTS,
    backoff: { type: 'exponential', delay: JOB_BACKOFF_MS, jitter: 0.5 },
    removeOnComplete: true,
    removeOnFail: KEEP_FAILED_JOBS,
  } satisfies QueueOptions['defaultJobOptions'];
  if (backend.kind === 'redis') {
    const { connection, prefix } = backend;
    return new Queue(name, { connection, prefix, defaultJobOptions });
  }
  return new OnPostgres.Queue(name, { connection: backend.pool as never, defaultJobOptions }) as unknown as AnyQueue;
}

export type WorkerSettings = {
  /** Most jobs that this process runs at once. */
  readonly concurrency: number;
  /** Most jobs that all processes start in a second; 0 for no bound. */
  readonly ratePerSecond: number;
  /** The database that the handler needs. */
  readonly database: { isAway(): boolean };
  /** Jobs wait for their turn while orders are placed. */
  readonly pace: Pick<JobPace, 'turn'>;
  /** The database's clock. */
  readonly clock: Clock;
  /** Leaves owed rows to the sweeper, after a pause. */
  readonly putBack: (jobs: readonly JobData[], queue: QueueName, pauseMs: number) => Promise<void>;
  /** Whether a reply waits for the job of this order, which then waits for no turn. */
  readonly isAwaited?: (orderId: string) => boolean;
};

/**
 * Starts a worker, which does single jobs and batches. BullMQ runs a job twice if a process blocks or dies,
 * so handlers must be safe to run twice. An error of a handler costs the job an attempt, unless the database
 * is away. A job that is to run later is left to the sweeper where it waits for more than RELAY_AHEAD_MS, and
 * where the clock of this machine is ahead.
 * A close waits JOB_FINISH_MS for the jobs under way, and gives those back that are not done.
 */
export function startWorker(
  name: QueueName,
  backend: QueueBackend,
  handle: JobHandler,
  options: WorkerSettings,
  logger: Logger,
): { close(): Promise<void> } {
  const workerOptions = {
    concurrency: options.concurrency,
    lockDuration: JOB_LOCK_MS,
    maxStalledCount: MAX_JOB_STALLS,
    runRetryDelay: WORKER_RETRY_MS,
    ...(options.ratePerSecond > 0 ? { limiter: { max: options.ratePerSecond, duration: 1000 } } : {}),
  };
  let isClosing = false;
  const handleWhenBack = heedPause(holdWhileAway(handle, options.database, () => isClosing));
  const handleBounded = boundedHandler(handleWhenBack, options.concurrency, () => isClosing);
  const jobs = givenBack(inTurn(handleBounded, options.pace, options.isAwaited));
  const process = async (job: Job<JobBatch>, token?: string): Promise<void> => {
    const { left, result } = await runBatch(job.data, jobs.handle);
    if (result.kind === 'done') return;
    // In the pause that a vendor asked for, a queue without a rate gives jobs back thousands of times a second.
    for (const { orderId } of result.kind === 'rate_limited' ? [] : left) {
      const reason = result.kind === 'retry' ? result.reason : undefined;
      logger.info({ queue: name, orderId, outcome: result.kind, reason }, 'a job is tried again later');
    }
    const isLong = result.kind === 'wait' && result.forMs > RELAY_AHEAD_MS;
    if (isLong || (result.kind !== 'rate_limited' && isWallClockAhead(options.clock))) {
      return options.putBack(left, name, result.kind === 'wait' ? result.forMs : backoffMs(left));
    }
    if (left.length < jobsOf(job.data).length) await job.updateData(batchOf(left));
    if (result.kind === 'retry') throw new Error(result.reason);
    if (result.kind === 'wait') {
      await job.moveToDelayed(Date.now() + result.forMs, token);
      throw new DelayedError();
    }
    await worker.rateLimit(result.forMs);
    throw Worker.RateLimitError();
  };
  const worker = openWorker(name, backend, process, workerOptions);
  worker.on('error', reportLoss(name, 'a worker cannot reach its backend', logger));
  return {
    async close() {
      isClosing = true;
      const late = setTimeout(jobs.giveBack, JOB_FINISH_MS);
      await closeIfReached(backend, worker).finally(() => clearTimeout(late));
    },
  };
}

/**
 * Pause before another attempt of jobs that the sweeper brings back: four times the last one, as a row that is put back
 * and relayed has been renumbered twice, up to the lease that ends a queue's own attempts.
 */
function backoffMs(jobs: readonly JobData[]): number {
  const relays = Math.min(...jobs.map((job) => job.relays ?? 0));
  return Math.min(JOB_BACKOFF_MS * 2 ** relays, OUTBOX_LEASE_SECONDS * 1_000);
}

/** Bounds the jobs of a worker's batches that run at once. One that has not begun at a stop goes back. */
function boundedHandler(handle: JobHandler, concurrency: number, isClosing: () => boolean): JobHandler {
  const limit = limitConcurrency(concurrency);
  const begin = async (data: JobData): Promise<JobResult> =>
    isClosing() ? { kind: 'wait', forMs: JOB_HELD_RETRY_MS } : handle(data);
  return (data) => new Promise((resolve, reject) => limit.enter(() => begin(data).then(resolve, reject)));
}

function reportLoss(queue: QueueName, message: string, logger: Logger): (error: Error) => void {
  return atMostEvery(LOSS_REPORT_MS, (error) => logger.warn({ err: errorFields(error), queue }, message));
}

/** Closes and waits for running jobs. While Redis is away a close never ends, so nothing is waited for. */
async function closeIfReached(backend: QueueBackend, part: { close(force?: boolean): Promise<void> }): Promise<void> {
  const reached = isReached(backend);
  const closed = part.close(!reached);
  if (reached) await closed;
  else closed.catch(() => undefined);
}

function openWorker(
  name: QueueName,
  backend: QueueBackend,
  process: (job: Job<JobBatch>, token?: string) => Promise<void>,
  options: Omit<WorkerOptions, 'connection'>,
): Worker {
  if (backend.kind === 'redis') {
    return new OnRedis.Worker(name, process, { ...options, connection: backend.connection, prefix: backend.prefix });
  }
  return new OnPostgres.Worker(name, process as never, {
    ...options,
    connection: backend.pool as never,
  }) as unknown as Worker;
}
