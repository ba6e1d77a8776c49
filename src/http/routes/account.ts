import type { RetailerKey } from '../../store/accounts/retailers.ts';
import type { Store } from '../../store/store.ts';
import { json } from '../../transport/reply.ts';
import type { Route } from '../../transport/route.ts';
import { type Authenticator, unauthorized } from '../credentials.ts';
import { asAvailable } from '../outcomes.ts';
import { countRead, type StoreRates } from '../store-rate.ts';
import { getAccount } from './store-operations.ts';

/** What an installation allows every store; a rate of 0 is none. */
export type AccountSettings = {
  readonly mode: 'sandbox' | 'live';
  readonly unpaidOrdersAllowed: number;
  readonly storeRate: number;
  readonly readRate: number;
};

/** `GET /account`: the state of the key's store, its card and its rates. */
export function accountRoute(parts: {
  readonly stores: Pick<Authenticator<RetailerKey>, 'authenticate'>;
  readonly reads: StoreRates;
  readonly store: Pick<Store, 'findAccount'>;
  readonly settings: AccountSettings;
}): Route<RetailerKey> {
  const { stores, reads, store, settings } = parts;
  return {
    method: 'get',
    pattern: '/account',
    operation: getAccount,
    authenticate: stores.authenticate,
    async handle({ principal: key, alwaysReplyWith }) {
      await countRead(reads, key, alwaysReplyWith);
      const found = await asAvailable(store.findAccount(key.retailerId, settings.unpaidOrdersAllowed));
      if (!found) throw unauthorized();
      const account = {
        retailer_id: key.retailerId,
        name: found.name,
        status: found.status,
        mode: settings.mode,
        card: found.card,
        unpaid_orders: found.unpaidOrders,
        unpaid_orders_allowed: settings.unpaidOrdersAllowed,
        payment_required: found.paymentRequired,
        rate: {
          orders_per_second: boundOf(key.ordersPerSecond ?? settings.storeRate),
          reads_per_second: boundOf(settings.readRate),
        },
      };
      return json(200, { success: true, account });
    },
  };
}

/** Null where there is no bound. */
function boundOf(rate: number): number | null {
  return rate === 0 ? null : rate;
}
