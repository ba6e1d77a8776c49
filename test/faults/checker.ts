import { canBecome, type OrderStatus } from '../../src/domain/order.ts';
import type { Payment, Refund } from '../../src/sandbox/stripe-objects.ts';
import { wrongDriverHistories } from './driver-histories.ts';
import { groupBy } from './group-by.ts';
import type { Heard, Wanted } from './history.ts';

export type OrderRow = {
  readonly id: string;
  readonly retailerId: string;
  readonly key: string | null;
  readonly status: OrderStatus | 'void';
  readonly driverId: string | null;
  readonly feeCents: number;
  readonly paymentStatus: string;
  readonly smsStatus: string;
  readonly trackingToken: string;
  /** Null for a tombstone. */
  readonly customer: string | null;
  /** The slot of its driver; 0 by default. */
  readonly slot?: number;
};
export type EventRow = {
  readonly orderId: string;
  readonly sequence: number;
  readonly type: string;
  readonly driverId: string | null;
  /** By the database's clock. */
  readonly atMs: number;
};
export type PayoutRow = {
  readonly orderId: string;
  readonly driverId: string;
  readonly status: string;
  readonly reasons: readonly string[];
};
export type Text = { readonly body: string };

/** Everything recorded outside the service, and the final content of its tables. */
export type Records = {
  readonly wanted: readonly Wanted[];
  readonly heard: readonly Heard[];
  readonly orders: readonly OrderRow[];
  readonly events: readonly EventRow[];
  readonly payouts: readonly PayoutRow[];
  readonly payments: readonly Payment[];
  readonly refunds: readonly Refund[];
  readonly texts: readonly Text[];
  /** By driver, how many orders they carry at a time; 1 where it is missing. */
  readonly capacities?: ReadonlyMap<string, number>;
};

/** The status after an event; other events do not change it. */
const LEADS_TO: Readonly<Record<string, OrderStatus>> = {
  driver_assigned: 'driver_assigned',
  picked_up: 'picked_up',
  delivered: 'delivered',
  cancelled: 'cancelled',
  expired: 'expired',
  undeliverable: 'undeliverable',
  returned: 'returned',
  released: 'pending_dispatch',
};
const ACTIVE: ReadonlySet<string> = new Set(['driver_assigned', 'picked_up', 'undeliverable']);

/**
 * Findings against the promises; empty where every promise was kept. Call it when nothing is running any
 * more. Each finding names its promise first.
 */
export function findBroken(records: Records): string[] {
  return [
    ...lostOrders(records),
    ...foreignAnswers(records),
    ...keysThatMadeTwo(records),
    ...failedThatHappened(records),
    ...repeatsThatMadeTwo(records),
    ...illegalSteps(records),
    ...sharedDrivers(records),
    ...wrongDriverHistories(records),
    ...wrongCharges(records),
    ...wrongPayouts(records),
    ...wrongTexts(records),
  ];
}

function lostOrders({ heard, orders }: Records): string[] {
  const byId = new Map(orders.map((order) => [order.id, order]));
  return heard.flatMap(({ op, outcome, orderId }) => {
    if (outcome !== 'ok') return [];
    const order = byId.get(orderId ?? '');
    if (!order) return [`lost: operation ${op} was acknowledged as order ${orderId}, which is not there`];
    return order.status === 'void' ? [`lost: the acknowledged order ${orderId} is void`] : [];
  });
}

/** Every client was told of its own order only. */
function foreignAnswers({ wanted, heard, orders }: Records): string[] {
  const byId = new Map(orders.map((order) => [order.id, order]));
  const byOp = new Map(wanted.map((one) => [one.op, one]));
  return heard.flatMap(({ op, outcome, orderId }) => {
    const order = byId.get(orderId ?? '');
    const asked = byOp.get(op);
    if (outcome !== 'ok' || !order || order.status === 'void' || !asked) return [];
    const isOwn = order.retailerId === asked.retailerId && order.key === asked.key;
    if (isOwn && (order.customer === null || order.customer === asked.customer)) return [];
    return [`key: operation ${op} was answered with order ${orderId}, which another one made`];
  });
}

function keysThatMadeTwo({ wanted, heard, orders }: Records): string[] {
  const made = groupBy(
    orders.filter(({ key, status }) => key !== null && status !== 'void'),
    ({ retailerId, key }) => `${retailerId} ${key}`,
  );
  const twice = [...made].filter(([, some]) => some.length > 1);
  const slots = new Map(wanted.map(({ op, retailerId, key }) => [op, key === null ? null : `${retailerId} ${key}`]));
  const told = groupBy(
    heard.filter(({ op, outcome }) => outcome === 'ok' && slots.get(op) != null),
    ({ op }) => slots.get(op) as string,
  );
  return [
    ...twice.map(([slot, some]) => `key: ${slot} made ${some.length} orders`),
    ...[...told].flatMap(([slot, answers]) => {
      const ids = new Set(answers.map(({ orderId }) => orderId));
      return ids.size > 1 ? [`key: answers for ${slot} name ${ids.size} orders`] : [];
    }),
  ];
}

/** A request without a key, all of whose answers said that nothing happened, left nothing behind. */
function failedThatHappened({ wanted, heard, orders }: Records): string[] {
  const outcomes = groupBy(heard, ({ op }) => String(op));
  const there = new Set(orders.filter(({ status }) => status !== 'void').map(({ customer }) => customer));
  return wanted.flatMap(({ op, key, customer }) => {
    const answers = outcomes.get(String(op)) ?? [];
    const allFailed = answers.length > 0 && answers.every(({ outcome }) => outcome === 'failed');
    return key === null && allFailed && there.has(customer)
      ? [`failed: operation ${op} was told that nothing happened, and its order is there`]
      : [];
  });
}

/** A client without a key that sends again for want of a reply gets the first order, and no other exists. */
function repeatsThatMadeTwo({ wanted, heard, orders }: Records): string[] {
  const told = new Set(heard.map(({ op, orderId }) => `${op} ${orderId}`));
  const made = groupBy(
    orders.filter(({ status }) => status !== 'void'),
    ({ customer }) => customer ?? '',
  );
  return wanted.flatMap(({ op, customer, repeats }) => {
    const unanswered = (made.get(customer) ?? []).filter(({ id }) => !told.has(`${op} ${id}`));
    return repeats && unanswered.length > 0
      ? [`repeat: operation ${op} was sent again and made ${unanswered.length} orders that nobody heard of`]
      : [];
  });
}

function illegalSteps({ orders, events }: Records): string[] {
  const byOrder = groupBy(events, ({ orderId }) => orderId);
  return orders.flatMap(({ id, status }) => {
    if (status === 'void') return [];
    const steps = (byOrder.get(id) ?? []).toSorted((a, b) => a.sequence - b.sequence);
    const gap = steps.findIndex(({ sequence }, i) => sequence !== i + 1);
    if (steps[0]?.type !== 'created' || gap >= 0) return [`steps: the events of order ${id} are not whole`];
    let at: OrderStatus = 'pending_dispatch';
    for (const { type } of steps) {
      const next = LEADS_TO[type];
      if (next === undefined) continue;
      if (!canBecome(at, next)) return [`steps: order ${id} went from ${at} to ${next}`];
      at = next;
    }
    return at === status ? [] : [`steps: the events of order ${id} lead to ${at}, its row says ${status}`];
  });
}

/** Active orders of one driver beyond their capacity, or in one slot. */
function sharedDrivers({ orders, capacities }: Records): string[] {
  const carried = groupBy(
    orders.filter(({ status, driverId }) => driverId !== null && ACTIVE.has(status)),
    ({ driverId }) => driverId as string,
  );
  const odd = orders.filter(({ status, driverId }) => ACTIVE.has(status) && driverId === null);
  return [
    ...[...carried].flatMap(([driverId, some]) =>
      some.length > (capacities?.get(driverId) ?? 1) ? [`driver: ${driverId} carries ${some.length} orders`] : [],
    ),
    ...[...carried].flatMap(([driverId, some]) =>
      new Set(some.map(({ slot }) => slot ?? 0)).size < some.length
        ? [`driver: ${driverId} carries two orders in a slot`]
        : [],
    ),
    ...odd.map(({ id, status }) => `driver: order ${id} is ${status} and has no driver`),
  ];
}

function wrongCharges({ orders, events, payments, refunds }: Records): string[] {
  const paid = groupBy(
    payments.filter(({ answer }) => answer.kind === 'paid'),
    ({ metadata }) => metadata.order_id ?? '',
  );
  const refunded = groupBy(refunds, ({ paymentIntent }) => paymentIntent);
  const assigned = new Set(events.filter(({ type }) => type === 'driver_assigned').map(({ orderId }) => orderId));
  const known = new Set(orders.map(({ id }) => id));
  const strange = [...paid.keys()].filter((id) => !known.has(id));
  const charged = new Set([...paid.values()].flat().map(({ id }) => id));
  return [
    ...strange.map((id) => `charge: for an order ${id} that is not there`),
    ...refunds.flatMap(({ paymentIntent }) =>
      charged.has(paymentIntent) ? [] : [`charge: a refund of ${paymentIntent}, which was never paid`],
    ),
    ...orders.flatMap((order) => {
      const charges = paid.get(order.id) ?? [];
      const given = charges.flatMap(({ id }) => refunded.get(id) ?? []).filter(({ status }) => status !== 'failed');
      return chargeFaults(order, charges, given, assigned.has(order.id)).map(
        (fault) => `charge: order ${order.id} ${fault}`,
      );
    }),
  ];
}

const UNPAID: ReadonlySet<string> = new Set(['not_charged', 'failed']);

function chargeFaults(
  { status, feeCents, paymentStatus }: OrderRow,
  charges: readonly Payment[],
  refunds: readonly Refund[],
  wasAssigned: boolean,
): string[] {
  const endedUndelivered = status === 'cancelled' || status === 'expired';
  const givenBack = sum(refunds.map(({ amount }) => amount));
  const net = sum(charges.map(({ amount }) => amount)) - givenBack;
  // Those without a key were made by a person in Stripe's dashboard.
  const ours = refunds.filter(({ key }) => key !== null);
  const faults: [boolean, string][] = [
    [charges.length > 1, `was charged ${charges.length} times`],
    [ours.length > 1, `was refunded ${ours.length} times`],
    [charges.length > 0 && !wasAssigned, 'was charged and never had a driver'],
    [charges.some(({ amount }) => amount !== feeCents), 'was charged another amount than its fee'],
    [charges.some(({ currency }) => currency !== 'usd'), 'was charged in another currency'],
    [ours.length > 0 && !endedUndelivered, `was refunded and is ${status}`],
    [charges.length > 0 && UNPAID.has(paymentStatus), `was charged and counts as ${paymentStatus}`],
    [
      paymentStatus === 'refunded' && (refunds.length === 0 || givenBack !== feeCents),
      `counts as refunded and was refunded ${refunds.length} times`,
    ],
    [paymentStatus === 'paid' && charges.length > 0 && net <= 0, 'counts as paid and was refunded'],
    [endedUndelivered && net !== 0, `ended undelivered and holds a charge of ${net}`],
    [paymentStatus === 'paid' && charges.length !== 1, `is paid and was charged ${charges.length} times`],
    [
      wasAssigned && !endedUndelivered && paymentStatus === 'processing',
      'had a driver and its charge was never recorded',
    ],
  ];
  return faults.flatMap(([holds, fault]) => (holds ? [fault] : []));
}

/** A returned order has a payout if its driver brought it back, and none if the operator ended it. */
function wrongPayouts({ orders, payouts }: Records): string[] {
  const byOrder = new Map(payouts.map((payout) => [payout.orderId, payout]));
  const known = new Set(orders.map(({ id }) => id));
  const strange = payouts.filter(({ orderId }) => !known.has(orderId));
  const faulty = orders.flatMap(({ id, status, driverId, paymentStatus }) => {
    const payout = byOrder.get(id);
    const faults: [boolean, string][] = [
      [status === 'delivered' && !payout, 'was delivered and has no payout'],
      [payout !== undefined && status !== 'delivered' && status !== 'returned', `is ${status} and has a payout`],
      [payout !== undefined && payout.driverId !== driverId, "has another driver's payout"],
      // What a person refunds in Stripe's dashboard takes nothing from the driver.
      [
        payout?.status === 'owed' && paymentStatus !== 'paid' && paymentStatus !== 'refunded',
        `owes a payout and is ${paymentStatus}`,
      ],
      [
        paymentStatus === 'paid' && payout?.status === 'held' && payout.reasons.includes('unpaid'),
        'is paid and its payout is held as unpaid',
      ],
    ];
    return faults.flatMap(([holds, fault]) => (holds ? [`payout: order ${id} ${fault}`] : []));
  });
  return [...strange.map(({ orderId }) => `payout: for an order ${orderId} that is not there`), ...faulty];
}

/** Of orders that cannot have been delivered, those whose payout is not held. */
export function notHeld(payouts: readonly PayoutRow[], orderIds: readonly string[]): string[] {
  const byOrder = new Map(payouts.map((payout) => [payout.orderId, payout]));
  return orderIds.flatMap((id) => {
    const status = byOrder.get(id)?.status ?? 'missing';
    return status === 'held' ? [] : [`payout: of the invented delivery ${id} is ${status}`];
  });
}

function wrongTexts({ wanted, orders, texts }: Records): string[] {
  const consent = new Map(wanted.map(({ customer, smsOptIn }) => [customer, smsOptIn]));
  const counts = new Map<string, number>();
  for (const { body } of texts) {
    const token = /\/track\/([\w-]+)/.exec(body)?.[1] ?? '';
    counts.set(token, (counts.get(token) ?? 0) + 1);
  }
  const tokens = new Set(orders.map(({ trackingToken }) => trackingToken));
  const strange = [...counts.keys()].filter((token) => !tokens.has(token));
  const ended = (status: string): boolean => status === 'cancelled' || status === 'expired' || status === 'void';
  const faulty = orders.flatMap(({ id, customer, trackingToken, smsStatus, status }) => {
    const sent = counts.get(trackingToken) ?? 0;
    const agreed = consent.get(customer ?? '') ?? false;
    const faults: [boolean, string][] = [
      [sent > 1, `was texted ${sent} times`],
      [sent > 0 && !agreed, 'was texted without consent'],
      [['sent', 'delivered', 'undelivered'].includes(smsStatus) && sent === 0, 'counts as texted and was not'],
      [agreed && smsStatus === 'queued' && !ended(status), 'was never texted'],
    ];
    return faults.flatMap(([holds, fault]) => (holds ? [`text: order ${id} ${fault}`] : []));
  });
  return [...strange.map(() => 'text: with a link to no order'), ...faulty];
}

const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0);
