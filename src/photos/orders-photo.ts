import type { Authenticator } from '../http/credentials.ts';
import { orderIdOf } from '../http/input.ts';
import { photoReply } from '../http/photo-reply.ts';
import { getPhoto } from '../http/routes/order-operations.ts';
import { countRead, type StoreRates } from '../http/store-rate.ts';
import type { RetailerKey } from '../store/accounts/retailers.ts';
import type { Route } from '../transport/route.ts';

/** Time for which a store may keep a photo without asking again. It never changes, and may be erased. */
const MAX_PHOTO_AGE_SECONDS = 300;

const MISSING = 'There is no such order, or no photo of it.';
/** A shared cache must not keep it; the caller may. */
const HEADERS = { 'Cache-Control': `private, max-age=${MAX_PHOTO_AGE_SECONDS}`, 'Referrer-Policy': 'no-referrer' };

/** The photos of handovers, by order and store. */
export type StorePhotos = { findOf(orderId: string, retailerId: string): Promise<Buffer | null> };

/** `GET /orders/{id}/photo`: the photo of the handover for as long as it is kept. */
export function ordersPhoto(parts: {
  readonly stores: Pick<Authenticator<RetailerKey>, 'authenticate'>;
  readonly reads: StoreRates;
  readonly photos: StorePhotos;
}): Route<RetailerKey> {
  const { stores, reads, photos } = parts;
  return {
    method: 'get',
    pattern: '/orders/:id/photo',
    operation: getPhoto,
    authenticate: stores.authenticate,
    async handle({ head, principal: key, alwaysReplyWith }) {
      const orderId = orderIdOf(head);
      await countRead(reads, key, alwaysReplyWith);
      return photoReply(photos.findOf(orderId, key.retailerId), MISSING, HEADERS);
    },
  };
}
