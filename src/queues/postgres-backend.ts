import { createPostgresBackend } from 'bullmq';
import { afterPause, pausing } from './after-pause.ts';

/**
 * Longest time for which a worker waits for word of a job before it looks, in seconds. BullMQ's own is an hour where
 * the pool has keepAlive, and word may be lost with its connection.
 */
const MAX_BLOCK_SECONDS = 10;

/** What stands behind BullMQ's backend, which its types do not show. */
type Readiness = { readyPromise?: Promise<unknown> | undefined };
type Connection = Readiness & { waitUntilReady(): Promise<unknown> };
type Backend = Readiness & { readonly connection: Connection };

/**
 * BullMQ's backend on Postgres, with a connection that is asked again where it could not be opened. BullMQ keeps
 * the first answer for ever, in the connection and in the backend (bullmq 6.7.0, `readyPromise` of
 * `PostgresConnection` and `PostgresQueueBackend`). Its worker looks for jobs each MAX_BLOCK_SECONDS.
 */
export const backendOnPostgres: typeof createPostgresBackend = (...options) => {
  const backend = createPostgresBackend(...options);
  askAgain(backend as unknown as Backend);
  Object.defineProperty(backend, 'maximumBlockTimeout', { value: MAX_BLOCK_SECONDS });
  return pausing(backend);
};

function askAgain(backend: Backend): void {
  const { connection } = backend;
  const open = connection.waitUntilReady.bind(connection);
  let ready: Promise<unknown> | undefined;
  const attempt = async (): Promise<unknown> => {
    try {
      return await afterPause(open());
    } catch (error) {
      ready = connection.readyPromise = backend.readyPromise = undefined;
      throw error;
    }
  };
  connection.waitUntilReady = () => (ready ??= attempt());
}
