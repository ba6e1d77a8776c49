import { setTimeout as delay } from 'node:timers/promises';
import { LOSS_REPORT_MS } from '../limits.ts';
import type { Store } from '../store/store.ts';
import { atMostEvery, errorFields, type Logger } from '../telemetry.ts';

/** The requests without a key that are at work in this process, by what they say. Each one enters and ends once. */
export type RequestDedup = {
  /**
   * Resolves when what became of equal requests before is known to the tables; false where the client was gone first, and
   * then the request has not entered. To be asked no sooner than the transport can have told that their connections were
   * closed, for which `AdmissionControl` waits.
   */
  enter(
    fingerprint: string,
    client: { readonly aborted: boolean; onAbort(listener: () => void): void },
  ): Promise<boolean>;
  /** Ended with an answer, or without an order: equal requests elsewhere need not wait any more. */
  answered(fingerprint: string): void;
  /**
   * Ended without its client having heard of this order. Resolves when that is remembered, or can't be.
   *
   * @param isOurs whether it is this request's to tell; false where another one took it on
   */
  abandoned(fingerprint: string, orderId: string, isOurs?: Promise<boolean>): Promise<void>;
  /** Writes what is still to be written. */
  close(): Promise<void>;
};

/**
 * Answered ones are written together and a little later, so that a request costs no statement of its own; one that was
 * left is written at once, and until it is no equal request of this process begins.
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
  const atWork = new Map<string, number>();
  const writing = new Map<string, Promise<void>>();
  let toRelease = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let releasing = Promise.resolve();
  let isClosed = false;
  const report = atMostEvery(LOSS_REPORT_MS, (error: Error) =>
    logger.warn({ err: errorFields(error) }, 'what became of requests without a key could not be written yet'),
  );

  function leave(fingerprint: string): boolean {
    const left = (atWork.get(fingerprint) ?? 1) - 1;
    if (left > 0) atWork.set(fingerprint, left);
    else atWork.delete(fingerprint);
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
    const fingerprints = [...toRelease].filter((fingerprint) => !atWork.has(fingerprint));
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

  async function remember(fingerprint: string, orderId: string): Promise<void> {
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
      atWork.set(fingerprint, (atWork.get(fingerprint) ?? 0) + 1);
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
        logger.warn({ order: orderId }, 'too many requests were left at once; this one is not remembered');
        return Promise.resolve();
      }
      const remembered = isOurs.then((ours) => (ours ? remember(fingerprint, orderId) : undefined));
      hold(fingerprint, remembered);
      return remembered;
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await releasing.then(release);
      await Promise.all(writing.values());
    },
  };
}
