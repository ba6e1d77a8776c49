import { setTimeout as pause } from 'node:timers/promises';
import { createPostgresBackend } from 'bullmq';

/** Pause of a worker whose backend cannot be reached. BullMQ's own is 15 s. */
export const WORKER_RETRY_MS = 1_000;

/** What stands behind BullMQ's backend, which its types do not show. */
type Connection = { waitUntilReady(): Promise<unknown>; readyPromise?: Promise<unknown> | undefined };

/**
 * BullMQ's backend on Postgres, with a connection that is asked again where it could not be opened. BullMQ keeps
 * the first answer for ever. Its worker asks again without a pause, and then no timer, request or signal of the
 * process gets a turn (bullmq 6.7.0, `readyPromise` of `PostgresConnection`, `mainLoop` of `Worker`).
 */
export const backendOnPostgres: typeof createPostgresBackend = (...options) => {
  const backend = createPostgresBackend(...options);
  askAgain((backend as unknown as { readonly connection: Connection }).connection);
  return backend;
};

function askAgain(connection: Connection): void {
  const open = connection.waitUntilReady.bind(connection);
  let ready: Promise<unknown> | undefined;
  const attempt = async (): Promise<unknown> => {
    try {
      return await open();
    } catch (error) {
      await pause(WORKER_RETRY_MS, undefined, { ref: false });
      ready = connection.readyPromise = undefined;
      throw error;
    }
  };
  connection.waitUntilReady = () => (ready ??= attempt());
}
