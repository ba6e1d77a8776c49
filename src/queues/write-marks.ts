import { randomBytes } from 'node:crypto';
import { below, LOSS_REPORT_MS } from '../limits.ts';
import type { RedisMark } from '../store/outbox.ts';
import type { Store } from '../store/store.ts';
import { atMostEvery, errorFields, type Logger } from '../telemetry.ts';
import type { QueueBackend } from './backend.ts';
import { RELAY_MARK_MS } from './hand-over-marks.ts';
import { tellOfLoss } from './job-loss.ts';
import { within } from './within.ts';

/** Longest time from one mark of a process to the next, and so until a loss is noticed. Below RELAY_MARK_MS. */
export const WRITE_MARK_MS = 1_000;
/** Time for which Redis keeps the marks of a process that makes none. A longer silence counts as a loss. */
const WRITE_MARKS_KEPT_SECONDS = 7 * 86_400;
/** Most tries of the last note, each of which another process's may be ahead of. */
const LAST_NOTE_TRIES = 3;

below({ WRITE_MARK_MS }, { RELAY_MARK_MS });

export type WriteMarks = {
  /** Marks that something was written; returns at once. */
  mark(): void;
  /** Makes the last mark, of what was handed over at the end of a process. */
  close(): Promise<void>;
};

/**
 * Notices that Redis has lost its last writes: a replica that lagged took over, or a machine lost power. Each
 * process counts up in Redis, after each hand-over of jobs and each WRITE_MARK_MS. Redis loses the end of what
 * was written, so a job that is lost takes its mark with it, and the next count is not above the last one.
 * Then everything owed is sent again, as after a Redis that lost everything (`createJobLossCheck`). Postgres
 * loses nothing, so each WRITE_MARK_MS a count that Redis has kept is noted there. It is compared before the
 * next one takes its place, so that processes that are all new notice a loss, too. A job that was handed over
 * after the newest note still has its first, short lease: a longer one comes after RELAY_MARK_MS, or at the end
 * of a process, before its last note.
 */
export function startWriteMarks(
  backend: QueueBackend,
  store: Pick<Store, 'readRedisMark' | 'noteRedisMark'>,
  logger: Logger,
): WriteMarks {
  if (backend.kind === 'postgres') return { mark: () => undefined, close: async () => undefined };
  const { connection, prefix } = backend;
  const key = `${prefix}:write-marks:${randomBytes(6).toString('hex')}`;
  let last = 0;
  /** Marks that are not answered. One that is sent again after a lost connection hides what was lost before it. */
  let open = 0;
  let isDoubtful = false;
  let isClosed = false;
  let noting: Promise<void> | undefined;
  const report = atMostEvery(LOSS_REPORT_MS, (error: Error) =>
    logger.warn({ err: errorFields(error) }, 'what was written to Redis could not be marked'),
  );
  const doubt = (): void => {
    isDoubtful ||= open > 0;
  };
  connection.on('close', doubt);

  const tell = async (): Promise<void> => {
    await tellOfLoss(backend);
    logger.warn({}, 'Redis may have lost its last writes; every owed job is relayed again');
  };

  async function count(): Promise<RedisMark> {
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
    if (isLost) {
      // The counter starts from where Redis is, so that a loss is told once, and again only where that was refused.
      last = Number(counted);
      isDoubtful = false;
      await tell().catch((error: unknown) => {
        isDoubtful = true;
        throw error;
      });
    }
    return { key, count: Number(counted) };
  }

  /** Compares the mark that any process noted last, and notes a newer one; false if another process did meanwhile. */
  async function note(own: RedisMark): Promise<boolean> {
    const noted = await store.readRedisMark();
    // Of its own this process has told already.
    if (noted.key !== key && Number(await within(connection.get(noted.key))) < noted.count) await tell();
    return store.noteRedisMark(noted, own);
  }

  /** Makes a mark; null where it could not be made. */
  async function tried(): Promise<RedisMark | null> {
    if (connection.status !== 'ready') return null;
    return count().catch((error: Error) => {
      // One that Redis has refused, for want of memory for one, tells of no loss.
      if (error.name !== 'ReplyError') isDoubtful = true;
      if (!isClosed) report(error);
      return null;
    });
  }

  async function tick(): Promise<void> {
    const own = await tried();
    if (own === null || isClosed) return;
    noting ??= note(own)
      .then(() => undefined, report)
      .finally(() => {
        noting = undefined;
      });
  }

  const timer = setInterval(() => void tick(), WRITE_MARK_MS);
  return {
    mark: () => void tried(),
    async close() {
      isClosed = true;
      clearInterval(timer);
      connection.off('close', doubt);
      await noting;
      const own = await tried();
      for (let tries = LAST_NOTE_TRIES; own && tries > 0; tries--) if (await note(own)) return;
    },
  };
}
