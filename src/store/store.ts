import * as account from './accounts/account.ts';
import * as importedStores from './accounts/imported-stores.ts';
import * as keys from './accounts/keys.ts';
import * as ordersOfStores from './accounts/orders-of-stores.ts';
import * as organizations from './accounts/organizations.ts';
import * as refusedCredentials from './accounts/refused-credentials.ts';
import * as retailers from './accounts/retailers.ts';
import * as secrets from './accounts/secrets.ts';
import type { Db } from './db.ts';
import * as driverDay from './drivers/driver-day.ts';
import * as drivers from './drivers/drivers.ts';
import * as latePickups from './drivers/late-pickups.ts';
import * as phones from './drivers/phones.ts';
import * as pushes from './drivers/pushes.ts';
import * as trips from './drivers/trips.ts';
import * as events from './events/events.ts';
import * as webhookDeliveries from './events/webhook-deliveries.ts';
import * as webhookEndpoints from './events/webhook-endpoints.ts';
import * as webhookHistory from './events/webhook-history.ts';
import * as webhookParked from './events/webhook-parked.ts';
import * as webhooks from './events/webhooks.ts';
import * as deliveryStats from './operator/delivery-stats.ts';
import * as failedJobs from './operator/failed-jobs.ts';
import * as operator from './operator/operator.ts';
import * as operatorDeliveries from './operator/operator-deliveries.ts';
import * as operatorLists from './operator/operator-lists.ts';
import * as operatorOrders from './operator/operator-orders.ts';
import * as reset from './operator/reset.ts';
import * as shortIds from './operator/short-ids.ts';
import * as dropoffs from './orders/dropoffs.ts';
import * as lifecycle from './orders/lifecycle.ts';
import * as orderFacts from './orders/order-facts.ts';
import * as orders from './orders/orders.ts';
import * as ordersCreate from './orders/orders-create.ts';
import * as ordersList from './orders/orders-list.ts';
import * as placedOrders from './orders/placed-orders.ts';
import * as requestDedup from './orders/request-dedup.ts';
import * as scenarios from './orders/scenarios.ts';
import * as tracked from './orders/tracked.ts';
import * as waiting from './orders/waiting.ts';
import * as outbox from './outbox.ts';
import * as holds from './payments/holds.ts';
import * as operatorPayouts from './payments/operator-payouts.ts';
import * as payments from './payments/payments.ts';
import * as payouts from './payments/payouts.ts';
import * as refunds from './payments/refunds.ts';
import * as retries from './payments/retries.ts';
import * as stripeCallbacks from './payments/stripe-callbacks.ts';
import * as demand from './planning/demand.ts';
import * as driverWaits from './planning/driver-waits.ts';
import * as plans from './planning/plans.ts';
import * as messages from './texts/messages.ts';
import * as optOuts from './texts/opt-outs.ts';
import * as textStatuses from './texts/text-statuses.ts';
import * as texts from './texts/texts.ts';
import * as tiers from './tiers.ts';
import * as upkeep from './upkeep.ts';

type Statement = (db: Db, ...args: never[]) => unknown;

/**
 * A family of statements without their first parameter, and without its bounds. The mapped type keeps each member's
 * declaration, so an editor leads from `store.cancelOrder` to the SQL.
 */
type Bound<Family> = {
  readonly [Name in keyof Family as Family[Name] extends Statement ? Name : never]: Family[Name] extends (
    db: Db,
    ...args: infer Args
  ) => infer Result
    ? (...args: Args) => Result
    : never;
};

/**
 * Every statement of the service. An operation takes those it uses:
 * `Pick<Store, 'cancelOrder' | 'findOrderState'>`.
 */
export interface Store
  extends Bound<typeof account>,
    Bound<typeof deliveryStats>,
    Bound<typeof demand>,
    Bound<typeof driverDay>,
    Bound<typeof driverWaits>,
    Bound<typeof drivers>,
    Bound<typeof dropoffs>,
    Bound<typeof events>,
    Bound<typeof failedJobs>,
    Bound<typeof holds>,
    Bound<typeof importedStores>,
    Bound<typeof keys>,
    Bound<typeof latePickups>,
    Bound<typeof lifecycle>,
    Bound<typeof messages>,
    Bound<typeof operator>,
    Bound<typeof operatorDeliveries>,
    Bound<typeof operatorLists>,
    Bound<typeof operatorOrders>,
    Bound<typeof operatorPayouts>,
    Bound<typeof orderFacts>,
    Bound<typeof optOuts>,
    Bound<typeof orders>,
    Bound<typeof ordersCreate>,
    Bound<typeof ordersList>,
    Bound<typeof ordersOfStores>,
    Bound<typeof organizations>,
    Bound<typeof outbox>,
    Bound<typeof payments>,
    Bound<typeof payouts>,
    Bound<typeof phones>,
    Bound<typeof placedOrders>,
    Bound<typeof plans>,
    Bound<typeof pushes>,
    Bound<typeof refunds>,
    Bound<typeof refusedCredentials>,
    Bound<typeof requestDedup>,
    Bound<typeof reset>,
    Bound<typeof retailers>,
    Bound<typeof retries>,
    Bound<typeof scenarios>,
    Bound<typeof secrets>,
    Bound<typeof shortIds>,
    Bound<typeof stripeCallbacks>,
    Bound<typeof textStatuses>,
    Bound<typeof texts>,
    Bound<typeof tiers>,
    Bound<typeof tracked>,
    Bound<typeof trips>,
    Bound<typeof upkeep>,
    Bound<typeof waiting>,
    Bound<typeof webhookDeliveries>,
    Bound<typeof webhookEndpoints>,
    Bound<typeof webhookHistory>,
    Bound<typeof webhookParked>,
    Bound<typeof webhooks> {}

const FAMILIES = [
  account,
  deliveryStats,
  demand,
  driverDay,
  driverWaits,
  drivers,
  dropoffs,
  events,
  failedJobs,
  holds,
  importedStores,
  keys,
  latePickups,
  lifecycle,
  messages,
  operator,
  operatorDeliveries,
  operatorLists,
  operatorOrders,
  operatorPayouts,
  orderFacts,
  optOuts,
  orders,
  ordersCreate,
  ordersList,
  ordersOfStores,
  organizations,
  outbox,
  payments,
  payouts,
  phones,
  placedOrders,
  plans,
  pushes,
  refunds,
  refusedCredentials,
  requestDedup,
  reset,
  retailers,
  retries,
  scenarios,
  secrets,
  shortIds,
  stripeCallbacks,
  textStatuses,
  texts,
  tiers,
  tracked,
  trips,
  upkeep,
  waiting,
  webhookDeliveries,
  webhookEndpoints,
  webhookHistory,
  webhookParked,
  webhooks,
];

/** Binds every statement to the connections of this process. */
export function openStore(db: Db): Store {
  const members = FAMILIES.flatMap((family): [string, unknown][] => Object.entries(family));
  const statements = members.filter((member): member is [string, Statement] => typeof member[1] === 'function');
  const bound = statements.map(([name, statement]) => [name, statement.bind(null, db)]);
  return Object.fromEntries(bound) as Store;
}
