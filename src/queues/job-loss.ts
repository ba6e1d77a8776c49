import { randomBytes } from 'node:crypto';
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

/** Ends a recovery: only where nothing was lost, noticed as lost or begun anew since it began. */
const KEEP = "if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('set', KEYS[1], 'kept') end";

/**
 * Redis may come back empty: restarted without its files, flushed, or replaced by an empty replica. A key in
 * it tells. It names the recovery that began last, and is `kept` afterwards, so that another process completes
 * a recovery whose process died. A second loss during the recovery, one that `tellOfLoss` tells of meanwhile
 * and another process's recovery each change the key, which then does not become `kept` by this one. Postgres
 * loses nothing.
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
      const recovery = `lost, recovery ${randomBytes(6).toString('hex')}`;
      await ask(() => connection.set(mark, recovery));
      await recover();
      await ask(() => connection.eval(KEEP, 1, mark, recovery));
    },
  };
}

type RedisBackend = Extract<QueueBackend, { kind: 'redis' }>;

const markOf = ({ prefix }: RedisBackend): string => `${prefix}:jobs-are`;

/** Has the next check recover, whichever process makes it. A version before takes no other word for a notice. */
export async function tellOfLoss(backend: RedisBackend): Promise<void> {
  await within(backend.connection.set(markOf(backend), 'noticed as lost'));
}
