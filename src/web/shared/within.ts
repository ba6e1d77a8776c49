/**
 * Does what a signal can end, and ends it when its time is over or another signal says so. Older phones can neither
 * limit a request's time nor join two signals, so that is done by hand.
 *
 * @throws what the work throws, also where it was ended
 */
export async function within<Value>(
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<Value>,
  orBy?: AbortSignal,
): Promise<Value> {
  const abort = new AbortController();
  const giveUp = () => abort.abort();
  const timer = setTimeout(giveUp, timeoutMs);
  if (orBy?.aborted) giveUp();
  orBy?.addEventListener('abort', giveUp, { once: true });
  try {
    return await work(abort.signal);
  } finally {
    clearTimeout(timer);
    orBy?.removeEventListener('abort', giveUp);
  }
}
