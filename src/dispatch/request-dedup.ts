import { setTimeout as delay } from 'node:timers/promises';
import { LOSS_REPORT_MS } from '../limits.ts';
import { batched, limitConcurrency } from '../postgres/batched-reads.ts';
import { classifyFailure } from '../postgres/failures.ts';
import type { LostReply } from '../store/orders/request-dedup.ts';
import type { Store } from '../store/store.ts';
import { atMostEvery, errorFields, type Logger } from '../telemetry.ts';

/** Most lost replies that share one statement: a load test ends with hundreds at once. */
export const MAX_LOST_REPLIES_PER_STATEMENT = 256;
/**
 * Statements in flight that write lost replies: one, because two that lock the same rows wait for each other.
 */
const MAX_LOST_REPLY_WRITES = 1;

/** The connection that waits for a reply; `onAbort` tells once if it closed, or got another reply, before. */
export type Client = { readonly aborted: boolean; onAbort(listener: () => void): void };

/** Resolves when nobody waits for the reply any more, at the latest after the deadline of the request. */
export const untilAborted = (client: Client): Promise<void> => new Promise((resolve) => client.onAbort(resolve));

export type RequestDedup = ReturnType<typeof createRequestDedup>;

/**
 * Deduplication of requests without a key. A lost reply is recorded at once, and no equal request of this process
 * starts before it is recorded. Lost replies share statements.
 *
 * @param bounds in milliseconds: the pause before another attempt, and the time for which lost replies are
 *   kept; and the most fingerprints being written
 */
export function createRequestDedup(
  store: Pick<Store, 'recordLostReplies' | 'takeLostReplies'>,
  bounds: { readonly retryMs: number; readonly keptMs: number; readonly maxWriting: number },
  logger: Logger,
) {
  const writing = new Map<string, Promise<void>>();
  let isClosed = false;
  const limit = limitConcurrency(MAX_LOST_REPLY_WRITES);
  const inBatches = <Value>(write: (replies: readonly LostReply[]) => Promise<ReadonlyMap<string, Value>>) =>
    batched(write, ({ orderId }) => orderId, MAX_LOST_REPLIES_PER_STATEMENT, limit);
  const takeOut = inBatches(store.takeLostReplies);
  const write = inBatches(async (replies) => {
    await store.recordLostReplies(replies);
    return new Map<string, never>();
  });
  const report = atMostEvery(LOSS_REPORT_MS, (error: Error) =>
    logger.warn({ err: errorFields(error) }, 'the outcomes of requests without a key could not be written yet'),
  );

  function hold(fingerprint: string, work: Promise<unknown>): void {
    const held = Promise.allSettled([writing.get(fingerprint), work]).then(() => {
      if (writing.get(fingerprint) === held) writing.delete(fingerprint);
    });
    writing.set(fingerprint, held);
  }

  async function record(reply: LostReply): Promise<void> {
    const untilMs = performance.now() + bounds.keptMs;
    for (;;) {
      try {
        await write(reply);
        return;
      } catch (error) {
        report(error as Error);
        if (isClosed || performance.now() > untilMs) return;
        await delay(bounds.retryMs);
      }
    }
  }

  /**
   * The reply with this order was lost. Resolves when that is recorded or given up.
   *
   * @param isVoid whether the order turned out not to exist; then the record is removed again
   */
  async function lost(reply: LostReply, isVoid = Promise.resolve(false)): Promise<void> {
    if (writing.size >= bounds.maxWriting) {
      logger.warn({ order: reply.orderId }, 'too many replies were lost at once; this one is not recorded');
      return;
    }
    const recorded = record(reply);
    hold(reply.fingerprint, recorded);
    await recorded;
    void isVoid.then((isToForget) => (isToForget ? forget(reply) : undefined));
  }

  /** Removes an order that does not exist. If that fails, the next equal request does it. */
  async function forget(reply: LostReply): Promise<void> {
    await takeOut(reply).catch(report);
  }

  return {
    /**
     * Resolves when the lost replies of earlier equal requests of this process are in the table. False if the
     * client disconnected before. Must not be called before the transport has had time to report closed
     * connections of earlier requests, for which `AdmissionControl` waits.
     */
    async enter(fingerprint: string, client: Client): Promise<boolean> {
      for (let before = writing.get(fingerprint); before; before = writing.get(fingerprint)) {
        await Promise.race([before, untilAborted(client)]);
        if (client.aborted) return false;
      }
      return true;
    },
    lost,
    forget,
    /**
     * Takes the order of a lost reply for a client; false if another request has taken it. If the outcome is
     * unknown, or the client's reply is lost too, the order is recorded again.
     */
    async take(reply: LostReply, client: Client): Promise<boolean> {
      const taking = takeOut(reply);
      hold(reply.fingerprint, taking);
      try {
        if ((await taking) === null) return false;
        client.onAbort(() => void lost(reply));
        return true;
      } catch (error) {
        // Recorded before the reply, as the repeated request may come at once; the deadline bounds the wait.
        if (classifyFailure(error) === 'unknown') await Promise.race([lost(reply), untilAborted(client)]);
        throw error;
      }
    },
    /** Waits until everything is written. */
    async close(): Promise<void> {
      isClosed = true;
      while (writing.size > 0) await Promise.all(writing.values());
    },
  };
}
