import { setTimeout as pause } from 'node:timers/promises';
import type { IQueueBackend } from 'bullmq';

/** Pause of a worker whose backend cannot be reached or refuses. BullMQ's own is 15 s, or none. */
export const WORKER_RETRY_MS = 1_000;

/**
 * The same backend, which pauses where it is refused the next job. BullMQ's worker asks again without a pause, and
 * where it is refused at once no timer, request or signal of the process gets a turn (bullmq 6.7.0, `mainLoop` and
 * `retryIfFailed` of `Worker`).
 */
export function pausing<Backend extends Pick<IQueueBackend, 'moveToActive'>>(backend: Backend): Backend {
  const take = backend.moveToActive.bind(backend);
  backend.moveToActive = (...job) => afterPause(take(...job));
  return backend;
}

/** The same, with a pause before an error. */
export async function afterPause<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (error) {
    await pause(WORKER_RETRY_MS, undefined, { ref: false });
    throw error;
  }
}
