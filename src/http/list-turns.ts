import { ServiceError } from '../domain/errors.ts';
import { below, LIST_DB_CONNECTIONS, REQUEST_DEADLINE_MS } from '../limits.ts';

/** Lists of one store that one process reads at once. Below LIST_DB_CONNECTIONS: others go on beside them. */
export const MAX_LISTS_PER_STORE = 2;
/** Lists of one store that wait for those; one more is refused with 429. */
export const MAX_WAITING_LISTS_PER_STORE = 8;
/** Longest wait of a list for those before it; then it is refused with 429. Below REQUEST_DEADLINE_MS. */
export const LIST_WAIT_MS = 2_000;

below({ MAX_LISTS_PER_STORE }, { LIST_DB_CONNECTIONS });
below({ LIST_WAIT_MS }, { REQUEST_DEADLINE_MS });

export type ListTurns = ReturnType<typeof createListTurns>;

type Line = { reading: number; readonly waiting: Set<() => void> };

/**
 * Bounds how many lists of one store are read at once; the routes of a process share it. A store that reads nothing
 * takes no memory.
 */
export function createListTurns(
  bounds = { atOnce: MAX_LISTS_PER_STORE, waiting: MAX_WAITING_LISTS_PER_STORE, waitMs: LIST_WAIT_MS },
) {
  const lines = new Map<string, Line>();

  function enter(line: Line): Promise<void> {
    if (line.reading < bounds.atOnce) {
      line.reading++;
      return Promise.resolve();
    }
    if (line.waiting.size >= bounds.waiting) return Promise.reject(tooMany(bounds.atOnce));
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        line.waiting.delete(begin);
        reject(tooMany(bounds.atOnce));
      }, bounds.waitMs);
      line.waiting.add(begin);
    });
  }

  /** Hands the place to the next in line. */
  function leave(retailerId: string, line: Line): void {
    const [next] = line.waiting;
    if (next) {
      line.waiting.delete(next);
      next();
    } else if (--line.reading === 0) lines.delete(retailerId);
  }

  return {
    /**
     * Runs `read` in its turn among those of the store.
     *
     * @throws {ServiceError} `rate_limited` where too many of the store wait already, or the wait was too long
     */
    async run<Result>(retailerId: string, read: () => Promise<Result>): Promise<Result> {
      const line = lines.get(retailerId) ?? { reading: 0, waiting: new Set() };
      lines.set(retailerId, line);
      await enter(line);
      try {
        return await read();
      } finally {
        leave(retailerId, line);
      }
    },
  };
}

function tooMany(atOnce: number): ServiceError {
  return new ServiceError('rate_limited', `Too many lists at once: ${atOnce} of yours are read at a time.`);
}
