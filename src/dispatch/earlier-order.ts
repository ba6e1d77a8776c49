import type { EarlierOrder } from '../domain/order.ts';
import { batched, limitConcurrency } from '../postgres/batched-reads.ts';
import type { Store } from '../store/store.ts';
import type { Client, RequestDedup } from './request-dedup.ts';
import { MAX_LOST_REPLIES_PER_STATEMENT } from './request-dedup.ts';

/**
 * Statements in flight that resolve orders of lost replies. The second goes beside one that waits for a
 * commit.
 */
const MAX_LOST_REPLY_RESOLVES = 2;

export type EarlierOrderStore = Pick<Store, 'findLostReplies' | 'findPlacedByIds' | 'resolveUnknown'>;

/**
 * The order of an equal request whose reply was lost, which this request now answers for; null if there is
 * none left, or if the client has disconnected. If this reply is lost too, that is recorded.
 */
export type FindEarlierOrder = (fingerprint: string, client: Client) => Promise<EarlierOrder | null>;

type Taker = {
  readonly client: Client;
  readonly resolve: (order: EarlierOrder | null) => void;
  readonly reject: (error: unknown) => void;
};

/**
 * Hands out the orders of requests without a key whose replies were lost, at any process. Equal requests that
 * come while orders are handed out share the next turn, so that hundreds of them need a few statements and do
 * not contend for one row.
 */
export function createEarlierOrder(
  store: EarlierOrderStore,
  dedup: Pick<RequestDedup, 'take' | 'forget'>,
): FindEarlierOrder {
  /** Those that wait for the next turn, by fingerprint. Its size is bounded by the requests in flight. */
  const waiting = new Map<string, Taker[]>();
  const resolveUnknown = batched(
    store.resolveUnknown,
    ({ id }: { readonly id: string }) => id,
    MAX_LOST_REPLIES_PER_STATEMENT,
    limitConcurrency(MAX_LOST_REPLY_RESOLVES),
  );

  return function earlierOrder(fingerprint, client) {
    return new Promise((resolve, reject) => {
      const taker = { client, resolve, reject };
      const queue = waiting.get(fingerprint);
      if (queue) queue.push(taker);
      else void takeTurns(fingerprint, taker);
    });
  };

  async function takeTurns(fingerprint: string, first: Taker): Promise<void> {
    for (let takers = [first]; takers.length > 0; takers = waiting.get(fingerprint) ?? []) {
      waiting.set(fingerprint, []);
      try {
        await handOut(fingerprint, takers);
      } catch (error) {
        for (const { reject } of takers) reject(error);
      }
      for (const { resolve } of takers) resolve(null);
    }
    waiting.delete(fingerprint);
  }

  /** Gives as many orders as there are to `takers`; the others are left unanswered. */
  async function handOut(fingerprint: string, takers: readonly Taker[]): Promise<void> {
    const ids = await store.findLostReplies(fingerprint, takers.length);
    const orders = await resolveAll(ids);
    // A request whose client has disconnected must not take an order.
    const present = takers.filter(({ client }) => !client.aborted);
    await Promise.all(
      ids.map(async (orderId) => {
        const order = orders.get(orderId);
        if (!order) return dedup.forget({ fingerprint, orderId });
        const taker = present.shift();
        if (taker) await give(fingerprint, order, taker);
      }),
    );
  }

  async function give(fingerprint: string, order: EarlierOrder, { client, resolve, reject }: Taker): Promise<void> {
    try {
      if (await dedup.take({ fingerprint, orderId: order.id }, client)) resolve(order);
    } catch (error) {
      reject(error);
    }
  }

  /** The orders that exist, by id. The others never will. */
  async function resolveAll(ids: readonly string[]): Promise<ReadonlyMap<string, EarlierOrder>> {
    const there = await store.findPlacedByIds(ids);
    const unknown = ids.filter((id) => !there.has(id));
    if (unknown.length === 0) return there;
    await Promise.all(unknown.map((id) => resolveUnknown({ id })));
    return new Map([...there, ...(await store.findPlacedByIds(unknown))]);
  }
}
