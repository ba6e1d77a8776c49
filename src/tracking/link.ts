import { ServiceError } from '../domain/errors.ts';
import { isTrackingToken } from '../domain/ids.ts';
import type { TrackedOrder } from '../domain/tracked.ts';
import type { Store } from '../store/store.ts';
import { isGone } from './view.ts';

/** The order behind a tracking link, or why the link leads to none. */
export type Linked = { readonly kind: 'found'; readonly order: TrackedOrder } | { readonly kind: 'not_found' | 'gone' };

/** Looks up the order behind a tracking link. @param now the database's clock in milliseconds */
export function createLinkReader(store: Pick<Store, 'findTrackedByToken'>, now: () => number) {
  return async (token: string): Promise<Linked> => {
    const order = isTrackingToken(token) ? await store.findTrackedByToken(token) : null;
    if (!order) return { kind: 'not_found' };
    return isGone(order, now()) ? { kind: 'gone' } : { kind: 'found', order };
  };
}

/** @throws {ServiceError} `gone` or `not_found` where the link leads to no order */
export function linkedOrder(linked: Linked): TrackedOrder {
  if (linked.kind === 'found') return linked.order;
  if (linked.kind === 'gone') throw new ServiceError('gone', 'This link has expired.');
  throw new ServiceError('not_found', 'This link is not known.');
}
