/**
 * Resolves or rejects as `work` does, or rejects once `ms` milliseconds have passed. `work` itself is not
 * cancelled, and what becomes of it afterwards is ignored.
 *
 * The rejection goes through the event loop once more, so that a process that was blocked reads the replies
 * that arrived meanwhile first.
 *
 * @param late makes the error of the rejection
 */
export async function withTimeout<Value>(work: Promise<Value>, ms: number, late: () => Error): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => setImmediate(() => reject(late())), ms);
  });
  try {
    return await Promise.race([work, expired]);
  } finally {
    clearTimeout(timer);
  }
}
