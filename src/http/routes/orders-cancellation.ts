import { cancellationOf } from '../../domain/cancellation.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { RetailerKey } from '../../store/accounts/retailers.ts';
import type { Store } from '../../store/store.ts';
import { json } from '../../transport/reply.ts';
import type { Route } from '../../transport/route.ts';
import type { Authenticator } from '../credentials.ts';
import { orderIdOf } from '../input.ts';
import { asAvailable } from '../outcomes.ts';
import { countRead, type StoreRates } from '../store-rate.ts';
import { previewCancellation } from './order-operations.ts';

/** `GET /orders/{id}/cancellation`: what `POST /orders/{id}/cancel` would cost and give back now. */
export function ordersCancellation(parts: {
  readonly stores: Pick<Authenticator<RetailerKey>, 'authenticate'>;
  readonly reads: StoreRates;
  readonly store: Pick<Store, 'findCancellable'>;
}): Route<RetailerKey> {
  const { stores, reads, store } = parts;
  return {
    method: 'get',
    pattern: '/orders/:id/cancellation',
    operation: previewCancellation,
    authenticate: stores.authenticate,
    async handle({ head, principal: key, alwaysReplyWith }) {
      const orderId = orderIdOf(head);
      await countRead(reads, key, alwaysReplyWith);
      const order = await asAvailable(store.findCancellable(orderId, key.retailerId));
      if (!order) throw new ServiceError('not_found', 'There is no such order.');
      const { cancellable, reason, refundCents, keptCents } = cancellationOf(order);
      const cancellation = {
        cancellable,
        reason_if_not: reason,
        refund_cents: refundCents,
        fee_kept_cents: keptCents,
        payment_status: order.paymentStatus,
      };
      return json(200, { success: true, cancellation });
    },
  };
}
