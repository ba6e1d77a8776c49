import { setTimeout as delay } from 'node:timers/promises';
import type { Identity } from '../domain/idempotency.ts';
import { newId } from '../domain/ids.ts';
import type { CreatedOrder, PlaceOrder } from '../domain/order.ts';
import type { EarlierRequest } from '../store/request-dedup.ts';
import type { RetailerKey } from '../store/retailers.ts';
import type { Store } from '../store/store.ts';
import { errorFields, type Logger } from '../telemetry.ts';
import type { Caller } from './group-commit.ts';
import type { PlaceOnceOutcome } from './place-once.ts';
import type { PlaceOrderOperation } from './place-order.ts';
import type { RequestDedup } from './request-dedup.ts';

/** Whoever waits for the reply: in the end either one or the other is called back. */
export type Client = {
  readonly aborted: boolean;
  /** The connection closed, or the deadline was told, before there was an answer. */
  onAbort(listener: () => void): void;
  onAnswered(listener: () => void): void;
};

export type ClientAsks = Caller & { readonly signal: Client };

/** Places the order of a request without an idempotency key. */
export type PlaceUnkeyed = (
  request: PlaceOrder,
  key: RetailerKey,
  identity: Identity,
  caller: ClientAsks,
) => Promise<PlaceOnceOutcome>;

/**
 * Places orders of requests without a key. One that says the same as another whose client never heard of its order, in this
 * process or elsewhere, gets that order; one that says the same as another that is at work elsewhere waits for how that ends.
 * Two that were both answered are two orders.
 *
 * @param dedup keeps what becomes of the requests of this process
 */
export function createPlaceUnkeyed(
  placeOrder: PlaceOrderOperation,
  dedup: RequestDedup,
  store: Pick<Store, 'findEarlierRequest' | 'findMade' | 'resolveUnknown' | 'adoptUndelivered' | 'forgetUndelivered'>,
  bounds: { readonly pollMs: number; readonly silentMs: number; readonly keptMs: number },
  logger: Logger,
): PlaceUnkeyed {
  return async function placeUnkeyed(request, key, identity, caller) {
    const client = caller.signal;
    const { fingerprint } = identity;
    if (!(await dedup.enter(fingerprint, client))) return { kind: 'unavailable' };
    let asked: Caller = caller;
    /** What a repeat of this request is to get, where its client does not hear of it. */
    let orderId: string | null = null;
    let isOurs = Promise.resolve(true);
    let ended: Promise<void> | null = null;
    function end(isHeard: boolean): Promise<void> {
      if (!ended && (isHeard || orderId === null)) {
        dedup.answered(fingerprint);
        ended = Promise.resolve();
      }
      ended ??= dedup.abandoned(fingerprint, orderId as string, isOurs);
      return ended;
    }
    client.onAbort(() => void end(false));
    client.onAnswered(() => void end(true));

    while (!client.aborted) {
      orderId = newId();
      const outcome = await placeOrder(request, key, identity, asked, orderId);
      if (outcome.kind === 'created') return outcome;
      if (outcome.kind === 'outcome_unknown') {
        // Before it is told, since the repeat may come at once; where that takes too long, the deadline tells it.
        await Promise.race([end(false), new Promise<void>((resolve) => client.onAbort(resolve))]);
        return outcome;
      }
      orderId = null;
      if (outcome.kind !== 'repeated') return outcome;
      try {
        const earlier = await earlierOrder(fingerprint, client, (id, adopted) => {
          orderId = id;
          isOurs = adopted;
        });
        if (earlier) return { kind: 'replayed', order: earlier };
        // The wait for an equal request was none for a commit.
        asked = { ...caller, sinceMs: performance.now() };
      } catch (error) {
        logger.warn({ err: errorFields(error) }, 'what became of an equal request could not be found out');
        await end(false);
        break;
      }
    }
    return { kind: 'unavailable' };
  };

  /**
   * The order of an equal request that was left, now this one's to tell; null where there is none and nothing stands in the
   * way any more. An equal request at work in another process is waited for.
   *
   * @param adopting told of the order that this request answers for, if it turns out to be the one that took it on
   */
  async function earlierOrder(
    fingerprint: string,
    client: Client,
    adopting: (orderId: string | null, adopted: Promise<boolean>) => void,
  ): Promise<CreatedOrder | null> {
    while (!client.aborted) {
      const found = await store.findEarlierRequest(fingerprint);
      if (!found || found.ageMs > bounds.keptMs) return null;
      const orderId = orderOf(found);
      if (orderId === null) {
        if (found.isOurs) return null;
        await delay(bounds.pollMs);
        continue;
      }
      const made = await resolve(orderId);
      if (!made) {
        await store.forgetUndelivered(fingerprint, orderId);
        return null;
      }
      // Whose client left meanwhile answers for nothing any more.
      if (client.aborted) return null;
      const adopted = store.adoptUndelivered(fingerprint, orderId, found.processId);
      // Where that is not known, the order is remembered rather than lost.
      adopting(
        orderId,
        adopted.catch(() => true),
      );
      if (await adopted) return made;
      adopting(null, Promise.resolve(true));
    }
    return null;
  }

  /** The order that nobody heard of. Whether it was told by a process that has died since is not known; it is taken as not. */
  function orderOf(found: EarlierRequest): string | null {
    const isLeftByTheDead = !found.isOurs && !found.isAlive && found.ageMs > bounds.silentMs;
    return found.abandoned[0] ?? (isLeftByTheDead ? found.orderId : null);
  }

  async function resolve(orderId: string): Promise<CreatedOrder | null> {
    const made = await store.findMade(orderId);
    if (made) return made;
    await store.resolveUnknown([{ id: orderId }]);
    return store.findMade(orderId);
  }
}
