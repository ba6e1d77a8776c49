/** What was started and must be stopped. */
export type Stoppable = { stop(): Promise<unknown> };

/** Keeps what was started for `stopAll`, and gives up there if the run was stopped meanwhile. */
export function keeper(parts: Stoppable[], signal?: AbortSignal) {
  return <Part extends Stoppable>(part: Part): Part => {
    parts.push(part);
    signal?.throwIfAborted();
    return part;
  };
}

/**
 * Stops all of them, last in first out, and empties the list. One that fails keeps none of the others
 * running.
 *
 * @throws the first failure, when all were asked to stop
 */
export async function stopAll(parts: Stoppable[]): Promise<void> {
  const failures: unknown[] = [];
  for (let part = parts.pop(); part; part = parts.pop()) {
    await part.stop().catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}
