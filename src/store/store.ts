import * as account from './account.ts';
import type { Db } from './db.ts';
import * as deliveryStats from './delivery-stats.ts';
import * as demand from './demand.ts';
import * as driverDay from './driver-day.ts';
import * as driverWaits from './driver-waits.ts';
import * as drivers from './drivers.ts';
import * as dropoffs from './dropoffs.ts';
import * as events from './events.ts';
import * as failedJobs from './failed-jobs.ts';
import * as holds from './holds.ts';
import * as importedStores from './imported-stores.ts';
import * as keys from './keys.ts';
import * as latePickups from './late-pickups.ts';
import * as lifecycle from './lifecycle.ts';
import * as messages from './messages.ts';
import * as operator from './operator.ts';
import * as operatorDeliveries from './operator-deliveries.ts';
import * as operatorLists from './operator-lists.ts';
import * as operatorOrders from './operator-orders.ts';
import * as operatorPayouts from './operator-payouts.ts';
import * as optOuts from './opt-outs.ts';
import * as orderFacts from './order-facts.ts';
import * as orders from './orders.ts';
import * as ordersCreate from './orders-create.ts';
import * as ordersList from './orders-list.ts';
import * as ordersOfStores from './orders-of-stores.ts';
import * as organizations from './organizations.ts';
import * as outbox from './outbox.ts';
import * as payments from './payments.ts';
import * as payouts from './payouts.ts';
import * as phones from './phones.ts';
import * as placedOrders from './placed-orders.ts';
import * as plans from './plans.ts';
import * as pushes from './pushes.ts';
import * as refunds from './refunds.ts';
import * as refusedCredentials from './refused-credentials.ts';
import * as requestDedup from './request-dedup.ts';
import * as reset from './reset.ts';
import * as retailers from './retailers.ts';
import * as retries from './retries.ts';
import * as scenarios from './scenarios.ts';
import * as secrets from './secrets.ts';
import * as shortIds from './short-ids.ts';
import * as stripeCallbacks from './stripe-callbacks.ts';
import * as textStatuses from './text-statuses.ts';
import * as texts from './texts.ts';
import * as tiers from './tiers.ts';
import * as tracked from './tracked.ts';
import * as trips from './trips.ts';
import * as upkeep from './upkeep.ts';
import * as waiting from './waiting.ts';
import * as webhookDeliveries from './webhook-deliveries.ts';
import * as webhookEndpoints from './webhook-endpoints.ts';
import * as webhookHistory from './webhook-history.ts';
import * as webhookParked from './webhook-parked.ts';
import * as webhooks from './webhooks.ts';

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
