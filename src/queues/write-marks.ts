import { randomBytes } from 'node:crypto';
import { LOSS_REPORT_MS } from '../limits.ts';
import { atMostEvery, errorFields, type Logger } from '../telemetry.ts';
import type { QueueBackend } from './backend.ts';
import { tellOfLoss } from './job-loss.ts';

/** Longest time from one mark of a process to the next, and so until a loss is noticed. */
export const WRITE_MARK_MS = 1_000;
/** Time for which Redis keeps the marks of a process that makes none. A longer silence counts as a loss. */
const WRITE_MARKS_KEPT_SECONDS = 3_600;

export type WriteMarks = {
  /** Marks that something was written; returns at once. */
  mark(): void;
  close(): void;
};

/**
 * Notices that Redis has lost its last writes: a replica that lagged took over, or a machine lost power. Each
 * process counts up in Redis, after each hand-over of jobs and each WRITE_MARK_MS. Redis loses the end of what
 * was written, so a job that is lost takes its mark with it, and the next count is not above the last one.
 * Then everything owed is sent again, as after a Redis that lost everything (`createJobLossCheck`). Postgres
 * loses nothing.
 */
export function startWriteMarks(backend: QueueBackend, logger: Logger): WriteMarks {
  if (backend.kind === 'postgres') return { mark: () => undefined, close: () => undefined };
  const { connection, prefix } = backend;
  const key = `${prefix}:write-marks:${randomBytes(6).toString('hex')}`;
  let last = 0;
  /** Marks that are not answered. One that is sent again after a lost connection hides what was lost before it. */
  let open = 0;
  let isDoubtful = false;
  let isClosed = false;
  const report = atMostEvery(LOSS_REPORT_MS, (error: Error) =>
    logger.warn({ err: errorFields(error) }, 'what was written to Redis could not be marked'),
  );
  const doubt = (): void => {
    isDoubtful ||= open > 0;
  };
  connection.on('close', doubt);

  const count = async (): Promise<void> => {
    open++;
    const answers = await connection
      .multi()
      .incr(key)
      .expire(key, WRITE_MARKS_KEPT_SECONDS)
      .exec()
      .finally(() => open--);
    const [error, counted] = answers?.[0] ?? [];
    if (error) throw error;
    const isLost = isDoubtful || Number(counted) <= last;
    last = Math.max(last, Number(counted));
    if (!isLost) return;
    // The counter starts from where Redis is, so that a loss is told once.
    last = Number(counted);
    await tellOfLoss(backend);
    isDoubtful = false;
    logger.warn({}, 'Redis may have lost its last writes; every owed job is relayed again');
  };

  function mark(): void {
    if (connection.status !== 'ready') return;
    count().catch((error: Error) => {
      // One that Redis has refused, for want of memory for one, tells of no loss.
      if (error.name !== 'ReplyError') isDoubtful = true;
      if (!isClosed) report(error);
    });
  }

  const timer = setInterval(mark, WRITE_MARK_MS);
  return {
    mark,
    close() {
      isClosed = true;
      clearInterval(timer);
      connection.off('close', doubt);
    },
  };
}
