import { below } from '../limits.ts';
import { batched, limitConcurrency } from '../postgres/batched-reads.ts';

/** Orders, or drivers, that one statement reads for live pages; 200 changes are two statements. */
const MAX_LIVE_READS_PER_STATEMENT = 128;
/** Most such statements in flight, of each kind. With MAX_KEY_READS they are below DB_CONNECTIONS. */
const MAX_LIVE_STATEMENTS = 2;
/** Most orders, or drivers, read for their live pages at once: as many as fill those statements. */
export const MAX_LIVE_READS = MAX_LIVE_READS_PER_STATEMENT * MAX_LIVE_STATEMENTS;
/** First pause before a failed read for a live page is tried again; it doubles with each failure. */
export const LIVE_READ_RETRY_MS = 500;
/** Longest pause before a failed read for a live page is tried again. Above LIVE_READ_RETRY_MS. */
const LIVE_READ_RETRY_MAX_MS = 10_000;

below({ LIVE_READ_RETRY_MS }, { LIVE_READ_RETRY_MAX_MS });

type Deferred = { readonly promise: Promise<void>; readonly resolve: () => void };
type Entry = { reading: boolean; wanted: Deferred | null; failures: number; retry: NodeJS.Timeout | null };

/**
 * Reads the newest state of keys reported as changed. Two reads of one key never overlap, so results are
 * applied in the order in which they were true. Changes that come during a read share one more; keys that are
 * read at the same time share statements, MAX_LIVE_STATEMENTS at once. A failed read is retried until it
 * succeeds or nobody watches.
 *
 * @param source.read one statement; a key that is missing from its result is applied as null
 * @param source.failed called for each read that failed, and for each value that could not be applied
 */
export function createLatestReader<Value>(source: {
  readonly read: (keys: readonly string[]) => Promise<ReadonlyMap<string, Value>>;
  readonly apply: (key: string, value: Value | null) => void;
  readonly failed: (error: unknown) => void;
}) {
  const { apply, failed } = source;
  const read = batched(
    source.read,
    (key: string) => key,
    MAX_LIVE_READS_PER_STATEMENT,
    limitConcurrency(MAX_LIVE_STATEMENTS),
  );
  const entries = new Map<string, Entry>();
  const queue = new Set<string>();
  let reads = 0;

  function pump(): void {
    for (const key of queue) {
      if (reads >= MAX_LIVE_READS) return;
      queue.delete(key);
      const entry = entries.get(key);
      if (entry) void run(key, entry);
    }
  }

  async function run(key: string, entry: Entry): Promise<void> {
    const served = entry.wanted;
    entry.wanted = null;
    entry.reading = true;
    reads += 1;
    try {
      const value = await read(key);
      entry.failures = 0;
      if (entries.get(key) === entry) applyGuarded(key, value);
    } catch (error) {
      failed(error);
      if (entries.get(key) === entry) retryLater(key, entry);
    }
    reads -= 1;
    entry.reading = false;
    served?.resolve();
    if (entries.get(key) === entry && !entry.retry) {
      if (entry.wanted) queue.add(key);
      else entries.delete(key);
    }
    pump();
  }

  /** A value that cannot be applied would fail again, so it is reported and not retried. */
  function applyGuarded(key: string, value: Value | null): void {
    try {
      apply(key, value);
    } catch (error) {
      failed(error);
    }
  }

  function retryLater(key: string, entry: Entry): void {
    const waitMs = Math.min(LIVE_READ_RETRY_MS * 2 ** entry.failures, LIVE_READ_RETRY_MAX_MS);
    entry.failures += 1;
    entry.wanted ??= deferred();
    entry.retry = setTimeout(() => {
      entry.retry = null;
      queue.add(key);
      pump();
    }, waitMs);
    entry.retry.unref();
  }

  /** Nobody watches `key` any more: a read under way is not applied, and a failed one not retried. */
  function forget(key: string): void {
    const entry = entries.get(key);
    if (!entry) return;
    if (entry.retry) clearTimeout(entry.retry);
    entries.delete(key);
    queue.delete(key);
    entry.wanted?.resolve();
  }

  return {
    /**
     * Requests a read of `key` that begins after this call. Resolves when its first try is over, whatever its
     * result. Only for keys that somebody watches, since their number bounds the memory.
     */
    request(key: string): Promise<void> {
      let entry = entries.get(key);
      if (!entry) {
        entry = { reading: false, wanted: null, failures: 0, retry: null };
        entries.set(key, entry);
      }
      entry.wanted ??= deferred();
      const { promise } = entry.wanted;
      if (!entry.reading && !entry.retry) {
        queue.add(key);
        // One change is often told twice in a row, by its order and by its driver.
        queueMicrotask(pump);
      }
      return promise;
    },
    /** Whether a read was requested whose result has not been applied yet. */
    isPending: (key: string) => entries.has(key),
    forget,
    close: () => [...entries.keys()].forEach(forget),
  };
}

function deferred(): Deferred {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
