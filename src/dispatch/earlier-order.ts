import { setTimeout as delay } from 'node:timers/promises';
import type { CreatedOrder } from '../domain/order.ts';
import type { EarlierRequest } from '../store/request-dedup.ts';
import type { Store } from '../store/store.ts';

export type EarlierOrderStore = Pick<
  Store,
  'findEarlierRequest' | 'findPlacedById' | 'resolveUnknown' | 'adoptUndelivered' | 'forgetUndelivered'
>;

export type EarlierOrderBounds = {
  /** Pause between two reads of an equal request in progress. */
  readonly pollMs: number;
  /** Age at which a request of a process without commit connections counts as abandoned. */
  readonly silentMs: number;
  /** Time for which a lost reply is kept. */
  readonly keptMs: number;
};

/**
 * The order of an equal request whose reply was lost, which this request now answers for; null if there is
 * none and no equal request is in progress at another process any more, or if the client has disconnected.
 *
 * @param adopting called with the order that this request claims, before the claim's outcome is known
 */
export type EarlierOrder = (
  fingerprint: string,
  client: { readonly aborted: boolean },
  adopting: (orderId: string | null, adopted: Promise<boolean>) => void,
) => Promise<CreatedOrder | null>;

/** Finds the orders of requests without a key whose replies were lost, at any process. */
export function createEarlierOrder(store: EarlierOrderStore, bounds: EarlierOrderBounds): EarlierOrder {
  return async function earlierOrder(fingerprint, client, adopting) {
    while (!client.aborted) {
      const found = await store.findEarlierRequest(fingerprint);
      if (!found || found.ageMs > bounds.keptMs) return null;
      const orderId = unansweredOrder(found);
      if (orderId === null) {
        if (found.isOurs) return null;
        await delay(bounds.pollMs);
        continue;
      }
      const order = await resolve(orderId);
      if (!order) {
        await store.forgetUndelivered(fingerprint, orderId);
        return null;
      }
      // A request whose client has disconnected must not claim the order.
      if (client.aborted) return null;
      const adopted = store.adoptUndelivered(fingerprint, orderId, found.processId);
      // If the outcome of the claim is unknown, the order is kept rather than lost.
      adopting(
        orderId,
        adopted.catch(() => true),
      );
      if (await adopted) return order;
      adopting(null, Promise.resolve(true));
    }
    return null;
  };

  /** The order whose reply was lost. The reply of a process that died counts as lost, as it is not known. */
  function unansweredOrder(found: EarlierRequest): string | null {
    const isOfDeadProcess = !found.isOurs && !found.isAlive && found.ageMs > bounds.silentMs;
    return found.abandoned[0] ?? (isOfDeadProcess ? found.orderId : null);
  }

  async function resolve(orderId: string): Promise<CreatedOrder | null> {
    const order = await store.findPlacedById(orderId);
    if (order) return order;
    await store.resolveUnknown([{ id: orderId }]);
    return store.findPlacedById(orderId);
  }
}
