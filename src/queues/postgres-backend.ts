import { setTimeout as pause } from 'node:timers/promises';
import { createPostgresBackend } from 'bullmq';

/** Pause of a worker whose backend cannot be reached. BullMQ's own is 15 s. */
export const WORKER_RETRY_MS = 1_000;

/** What stands behind BullMQ's backend, which its types do not show. */
type Readiness = { readyPromise?: Promise<unknown> | undefined };
type Connection = Readiness & { waitUntilReady(): Promise<unknown> };
type Backend = Readiness & { readonly connection: Connection; moveToActive(...job: unknown[]): Promise<unknown> };

/**
 * BullMQ's backend on Postgres, with a connection that is asked again where it could not be opened. BullMQ keeps
 * the first answer for ever, in the connection and in the backend. Its worker asks for the next job again without
 * a pause, and where it is refused at once no timer, request or signal of the process gets a turn (bullmq 6.7.0,
 * `readyPromise` of `PostgresConnection` and `PostgresQueueBackend`, `mainLoop` of `Worker`).
 */
export const backendOnPostgres: typeof createPostgresBackend = (...options) => {
  const backend = createPostgresBackend(...options);
  const inner = backend as unknown as Backend;
  askAgain(inner);
  const take = inner.moveToActive.bind(inner);
  inner.moveToActive = (...job) => afterPause(take(...job));
  return backend;
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

/** The same, with a pause before an error. */
async function afterPause<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (error) {
    await pause(WORKER_RETRY_MS, undefined, { ref: false });
    throw error;
  }
}
