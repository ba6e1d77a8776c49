import { type QueueBackend, refuseWhileAway } from './backend.ts';
import { within } from './within.ts';

/** Detects that the queues' backend has lost its jobs. */
export type JobLossCheck = {
  /**
   * Runs `recover` if the backend has lost its jobs since the last call, or if an earlier recovery may be
   * incomplete. Rejects if the backend does not answer in time, or as `recover` does; the next call then
   * recovers again.
   */
  check(recover: () => Promise<void>): Promise<void>;
};

/**
 * Redis may come back empty: restarted without its files, flushed, or replaced by an empty replica. A key in
 * it tells. It is `lost` before a recovery and `kept` afterwards, so that another process completes a
 * recovery whose process died. It becomes `kept` only if it still exists, so that a second loss during the
 * recovery is detected too, as is one that `tellOfLoss` tells of meanwhile. Postgres loses nothing.
 */
export function createJobLossCheck(backend: QueueBackend): JobLossCheck {
  if (backend.kind === 'postgres') return { check: async () => undefined };
  const { connection } = backend;
  const mark = markOf(backend);
  const ask = <Answer>(command: () => Promise<Answer>): Promise<Answer> => {
    refuseWhileAway(backend);
    return within(command());
  };
  return {
    async check(recover) {
      if ((await ask(() => connection.get(mark))) === 'kept') return;
      await ask(() => connection.set(mark, 'lost'));
      await recover();
      const answers = await ask(() => connection.multi().get(mark).set(mark, 'kept', 'XX').exec());
      if (answers?.[0]?.[1] === NOTICED) await ask(() => connection.set(mark, 'lost'));
    },
  };
}

type RedisBackend = Extract<QueueBackend, { kind: 'redis' }>;

const markOf = ({ prefix }: RedisBackend): string => `${prefix}:jobs-are`;

/** Kept apart from `lost`, so that it outlives a recovery that is under way. */
const NOTICED = 'noticed as lost';

/** Has the next check recover, whichever process makes it. */
export async function tellOfLoss(backend: RedisBackend): Promise<void> {
  await within(backend.connection.set(markOf(backend), NOTICED));
}
