import type { Knowledge } from './knowledge.ts';
import {
  type At,
  type DriverRow,
  isQualified,
  metersBetween,
  type OrderRow,
  type Picture,
  type TierRow,
} from './picture.ts';
import type { Call } from './statements.ts';

/** A position counts for so long. */
const FRESH_MS = 90_000;
/** By so much a process's choice may be older than its statement. */
const SLACK_MS = 300;
/** What rounding may add to a distance. */
const SLACK_METERS = 5;
/** No vehicle is faster, in meters a minute. */
const FASTEST = 1_200;

/** An order and the driver whom a process is about to give it. */
export type Gift = { readonly driverId: string; readonly order: GivenOrder };
export type GivenOrder = Pick<
  OrderRow,
  | 'id'
  | 'tier'
  | 'size'
  | 'pickup'
  | 'door'
  | 'createdMs'
  | 'readyMs'
  | 'deliverAfterMs'
  | 'dispatchFromMs'
  | 'excluded'
  | 'expiresMs'
  | 'isStoreActive'
> & { readonly status: string };

/** What a process chose by, at the moment when it sent the statement. */
export type Choice = {
  readonly positions: readonly (At & { readonly atMs: number })[];
};

type Extras = {
  readonly size: string;
  readonly readyAt: Date | null;
  readonly deliverAfter: Date | null;
};

type NewOrderArgument = {
  readonly id: string;
  readonly tier: { readonly id: string };
  readonly pickup: At;
  readonly dropoff: { readonly point: At } | null;
  readonly driver: { readonly driverId: string } | null;
  readonly request: { readonly retailerId: string; readonly extras: Extras | null };
};

/** The gifts that a statement makes, by what it was called with and what the tables say before it. */
export function giftsOf({ name, args, sentMs }: Call, picture: Picture): Gift[] {
  if (name === 'assignWaiting') {
    const [orderId, driver] = args as [string, { readonly driverId: string }];
    const order = picture.orders.find(({ id }) => id === orderId);
    return order ? [{ driverId: driver.driverId, order }] : [];
  }
  if (name !== 'insertOrders') return [];
  return (args[0] as readonly NewOrderArgument[]).flatMap(({ id, tier, pickup, dropoff, driver, request }) => {
    if (!driver) return [];
    const order: GivenOrder = {
      id,
      tier: tier.id,
      size: request.extras?.size ?? 'small',
      pickup,
      door: dropoff?.point ?? null,
      createdMs: sentMs,
      readyMs: request.extras?.readyAt?.getTime() ?? null,
      deliverAfterMs: request.extras?.deliverAfter?.getTime() ?? null,
      dispatchFromMs: null,
      excluded: [],
      expiresMs: Number.POSITIVE_INFINITY,
      isStoreActive: true,
      status: 'pending_dispatch',
    };
    return [{ driverId: driver.driverId, order }];
  });
}

/** The drivers whom a statement names, before anything is known of the tables. */
export function namedDrivers({ name, args }: Call): string[] {
  if (name === 'assignWaiting') return [(args[1] as { readonly driverId: string }).driverId];
  if (name !== 'insertOrders') return [];
  return (args[0] as readonly NewOrderArgument[]).flatMap(({ driver }) => driver?.driverId ?? []);
}

/**
 * What is wrong with a gift that a statement made; null where nothing is.
 *
 * @param picture the tables just before it
 * @param nowMs when it was committed
 */
export function wrongGift(
  { driverId, order }: Gift,
  picture: Picture,
  choice: Choice,
  parts: {
    readonly call: Call;
    readonly nowMs: number;
    readonly tiers: ReadonlyMap<string, TierRow>;
    readonly knowledge: Knowledge;
  },
): string | null {
  const { call, nowMs, tiers, knowledge } = parts;
  const driver = picture.drivers.find(({ id }) => id === driverId);
  const tier = tiers.get(order.tier);
  if (!driver || !tier) return 'unknown driver or tier';
  const carried = picture.orders.filter((each) => each.driverId === driverId);
  if (order.status !== 'pending_dispatch') return `ended: the order is ${order.status}`;
  if (order.expiresMs <= nowMs) return 'ended: its time is up';
  if (!order.isStoreActive) return 'held: its store is suspended';
  if (!driver.onDuty) return 'off_duty: the driver is off duty';
  if (driver.untilMs !== null && driver.untilMs <= nowMs) return 'off_duty: the shift is over';
  if (carried.length >= driver.capacity) return `no_room: ${carried.length} of ${driver.capacity} are carried`;
  if (order.excluded.includes(driverId)) return 'given_back: the driver gave it back';
  const facts = knowledge.factsOf(call.process, driver);
  if (!facts.some((each) => isQualified(each, order))) {
    return `unqualified: ${driver.vehicle}, ${driver.tiers} for ${order.size}, ${order.tier}`;
  }
  const fresh = choice.positions.filter(({ atMs }) => call.sentMs - atMs <= FRESH_MS + SLACK_MS);
  if (fresh.length === 0) return `silent: ${ageOf(choice, call)}`;
  const isFar = outOfReach(order, tier, fresh, carried, call.sentMs);
  if (isFar) return isFar;
  const beyond = facts.map((each) => beyondEnd(order, each, fresh, carried, call.sentMs));
  return beyond.includes(null) ? null : (beyond[0] ?? null);
}

const ageOf = ({ positions }: Choice, { sentMs }: Call): string =>
  positions.length === 0
    ? 'no position is known'
    : `last heard of ${positions.map(({ atMs }) => (sentMs - atMs) / 1_000)} s ago`;

/** A driver with orders on the list counts where they go, too. */
function outOfReach(
  { pickup, createdMs, dispatchFromMs }: GivenOrder,
  { radius, growth, most }: TierRow,
  positions: readonly At[],
  carried: readonly OrderRow[],
  nowMs: number,
): string | null {
  const waitedMinutes = Math.max(0, nowMs - (dispatchFromMs ?? createdMs)) / 60_000;
  const reach = Math.min(most, radius + growth * waitedMinutes) + SLACK_METERS;
  const stops = carried.flatMap((each) => [each.pickup, ...(each.door ? [each.door] : [])]);
  const meters = Math.min(...[...positions, ...stops].map((place) => metersBetween(place, pickup)));
  return meters <= reach ? null : `out_of_reach: ${Math.round(meters)} m away, and ${Math.round(reach)} m are allowed`;
}

/** The way at the greatest speed ends after the shift, for a parcel that leaves when it is ready. */
function beyondEnd(
  { pickup, door, readyMs, deliverAfterMs }: GivenOrder,
  { untilMs }: Pick<DriverRow, 'untilMs'>,
  positions: readonly At[],
  carried: readonly OrderRow[],
  nowMs: number,
): string | null {
  if (untilMs === null) return null;
  const toPickup = carried.length > 0 ? 0 : Math.min(...positions.map((place) => metersBetween(place, pickup)));
  const driveMs = (meters: number) => (meters / FASTEST) * 60_000;
  const leaveMs = Math.max(nowMs - SLACK_MS + driveMs(toPickup), readyMs ?? 0);
  const doorMs = leaveMs + (door ? driveMs(metersBetween(pickup, door)) : 0);
  const overMs = Math.max(doorMs, deliverAfterMs ?? 0) - untilMs;
  return overMs <= 0 ? null : `beyond_end: the trip ends ${Math.round(overMs / 1_000)} s after the shift`;
}
