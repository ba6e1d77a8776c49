import { setTimeout as delay } from 'node:timers/promises';
import { LOSS_REPORT_MS } from '../limits.ts';
import type { Store } from '../store/store.ts';
import { atMostEvery, errorFields, type Logger } from '../telemetry.ts';

/**
 * The requests without a key in progress at this process, by fingerprint. Each one enters once and ends once.
 */
export type RequestDedup = {
  /**
   * Resolves when the outcomes of earlier equal requests of this process are in the tables. False if the
   * client disconnected before; then the request has not entered. Must not be called before the transport has
   * had time to report closed connections of earlier requests, for which `AdmissionControl` waits.
   */
  enter(
    fingerprint: string,
    client: { readonly aborted: boolean; onAbort(listener: () => void): void },
  ): Promise<boolean>;
  /**
   * The request ended with its reply sent, or without an order: equal requests elsewhere need not wait any
   * more.
   */
  answered(fingerprint: string): void;
  /**
   * The request ended and the reply with its order was lost. Resolves when that is recorded or given up.
   *
   * @param isOurs whether this request answers for the order; false if another one has claimed it
   */
  abandoned(fingerprint: string, orderId: string, isOurs?: Promise<boolean>): Promise<void>;
  /** Waits until everything is written. */
  close(): Promise<void>;
};

/**
 * Request deduplication. Answered requests are released in batches a little later, so that none costs a
 * statement of its own. A lost reply is recorded at once, and no equal request of this process starts before
 * it is recorded.
 *
 * @param bounds in milliseconds: the pause before a release, the pause before another attempt, and the time
 *   for which lost replies are kept; and the most fingerprints being written
 */
export function createRequestDedup(
  store: Pick<Store, 'releaseRequests' | 'recordUndelivered'>,
  bounds: {
    readonly releaseMs: number;
    readonly retryMs: number;
    readonly keptMs: number;
    readonly maxWriting: number;
  },
  logger: Logger,
): RequestDedup {
  const inProgress = new Map<string, number>();
  const writing = new Map<string, Promise<void>>();
  let toRelease = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let releasing = Promise.resolve();
  let isClosed = false;
  const report = atMostEvery(LOSS_REPORT_MS, (error: Error) =>
    logger.warn({ err: errorFields(error) }, 'the outcomes of requests without a key could not be written yet'),
  );

  function leave(fingerprint: string): boolean {
    const left = (inProgress.get(fingerprint) ?? 1) - 1;
    if (left > 0) inProgress.set(fingerprint, left);
    else inProgress.delete(fingerprint);
    return left <= 0;
  }

  function hold(fingerprint: string, work: Promise<unknown>): void {
    const held = Promise.all([writing.get(fingerprint), work]).then(() => {
      if (writing.get(fingerprint) === held) writing.delete(fingerprint);
    });
    writing.set(fingerprint, held);
  }

  function schedule(afterMs = bounds.releaseMs): void {
    timer ??= setTimeout(() => {
      timer = undefined;
      releasing = releasing.then(release);
    }, afterMs);
  }

  async function release(): Promise<void> {
    const fingerprints = [...toRelease].filter((fingerprint) => !inProgress.has(fingerprint));
    toRelease = new Set();
    if (fingerprints.length === 0) return;
    const done = store.releaseRequests(fingerprints).catch((error) => {
      report(error);
      for (const fingerprint of fingerprints) toRelease.add(fingerprint);
      if (!isClosed) schedule(bounds.retryMs);
    });
    for (const fingerprint of fingerprints) hold(fingerprint, done);
    await done;
  }

  async function record(fingerprint: string, orderId: string): Promise<void> {
    const untilMs = performance.now() + bounds.keptMs;
    for (;;) {
      try {
        return await store.recordUndelivered(fingerprint, orderId);
      } catch (error) {
        report(error as Error);
        if (isClosed || performance.now() > untilMs) return;
        await delay(bounds.retryMs);
      }
    }
  }

  return {
    async enter(fingerprint, client) {
      for (let before = writing.get(fingerprint); before; before = writing.get(fingerprint)) {
        await Promise.race([before, new Promise<void>((resolve) => client.onAbort(resolve))]);
        if (client.aborted) return false;
      }
      inProgress.set(fingerprint, (inProgress.get(fingerprint) ?? 0) + 1);
      return true;
    },
    answered(fingerprint) {
      if (!leave(fingerprint)) return;
      toRelease.add(fingerprint);
      schedule();
    },
    abandoned(fingerprint, orderId, isOurs = Promise.resolve(true)) {
      leave(fingerprint);
      if (writing.size >= bounds.maxWriting) {
        logger.warn({ order: orderId }, 'too many replies were lost at once; this one is not recorded');
        return Promise.resolve();
      }
      const recorded = isOurs.then((ours) => (ours ? record(fingerprint, orderId) : undefined));
      hold(fingerprint, recorded);
      return recorded;
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await releasing.then(release);
      await Promise.all(writing.values());
    },
  };
}
