import { createHash } from 'node:crypto';
import type { PositionReport } from '../dispatch/positions.ts';
import { isThere, type WaitPlace } from '../domain/idle-wait.ts';
import type { Stop } from '../domain/route.ts';
import { shownRoute } from '../domain/shown-route.ts';
import { distanceMeters, type Point } from '../geo/point.ts';
import { isJsonObject, type JsonObject } from '../http/json.ts';
import type { Validated } from '../http/validate.ts';
import type { DriverOrder, DriverState } from '../store/drivers/drivers.ts';
import { type DutyWish, validateDuty, validateLocation } from './input.ts';

/**
 * Distance from the store in meters at which a driver sees the customer's name, unit, phone, items and notes
 * before the pickup: outside of a dead zone in the store, with the error of a phone between houses.
 */
const CUSTOMER_SHOWN_METERS = 300;

/** When a driver came to the page that says hello. */
export type Entry = {
  /** By the page's own clock, which may be wrong: no other page has the same. */
  readonly sinceMs: number;
  /** The same by the service's clock, as far as it can be known: at the latest now. */
  readonly cameMs: number;
  /** Which of the page's connections since this is; the driver comes with the first one. */
  readonly connection: number;
};

/** A message of a driver's phone, as read. */
export type DriverMessage =
  | { readonly type: 'hello'; readonly token: string; readonly entry: Entry | null }
  | { readonly type: 'position'; readonly location: PositionReport }
  | { readonly type: 'duty'; readonly wish: DutyWish }
  | { readonly type: 'ping' }
  | { readonly type: 'malformed'; readonly message: string };

/** Reads one message; anything outside the protocol comes back as `malformed` with what is wrong. */
export function readDriverMessage(text: string, nowMs: number): DriverMessage {
  const message = parseObject(text);
  if (!message) return malformed('a message is a JSON object');
  switch (message.type) {
    case 'hello':
      return readHello(message, nowMs);
    case 'duty':
      return readOr(validateDuty(message, nowMs), (wish) => ({ type: 'duty', wish }));
    case 'position':
      return readOr(validateLocation(message), (location) => ({ type: 'position', location }));
    case 'ping':
      return { type: 'ping' };
    default:
      return malformed('type must be hello, position, duty or ping');
  }
}

/**
 * An app that does not say when its driver came has no entry. Any time is taken, so that no phone's clock keeps its
 * driver out; one that is a day fast counts as now, at each hello anew.
 */
function readHello(message: JsonObject, nowMs: number): DriverMessage {
  const { token, since_ms: sinceMs = null, connection = null } = message;
  if (typeof token !== 'string') return malformed('token is missing');
  if (sinceMs === null) return { type: 'hello', token, entry: null };
  if (!isWhole(sinceMs)) return malformed('since_ms is milliseconds since 1970');
  if (!isWhole(connection) || connection < 1) return malformed('connection is a whole number from 1 on');
  const cameMs = connection === 1 ? nowMs : Math.min(sinceMs, nowMs);
  return { type: 'hello', token, entry: { sinceMs, cameMs, connection } };
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function readOr<Value>(read: Validated<Value>, toMessage: (value: Value) => DriverMessage): DriverMessage {
  if ('ok' in read) return toMessage(read.ok);
  return malformed(read.fields.map((each) => `${each.field} ${each.message}`).join('; '));
}

function malformed(message: string): DriverMessage {
  return { type: 'malformed', message };
}

function parseObject(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

/**
 * A driver's duty, orders and stops as the phone is told them, over HTTP and over the socket alike. `order` is
 * that of the next stop.
 *
 * @param at the driver's last position, from which the stops are put in order
 */
export function driverStateOnWire(state: DriverState, at: Point | null, nowMs: number) {
  const { orders, vehicle } = state;
  const carried = orders.map((order) => order.carried);
  const { stops } = shownRoute({ from: at, atMs: nowMs, vehicle }, carried);
  const shown = new Map(orders.map((order) => [order.id, orderOnWire(order, seesCustomer(order, at))]));
  const [next] = stops;
  const wait = waitOf(state, at);
  return {
    driver_id: state.driverId,
    driver_name: state.name,
    on_duty: state.onDuty,
    on_duty_until: state.onDutyUntil?.toISOString() ?? null,
    capacity: state.capacity,
    order: shown.get(next?.orderIds[0] ?? '') ?? null,
    orders: [...shown.values()],
    stops: stops.map((stop) => stopOnWire(stop, orders, at)),
    version: versionOf(stops),
    wait_at: wait && { lat: wait.lat, lng: wait.lng, name: wait.name },
  };
}

/** Where the driver is asked to wait; null for one who is there. */
export function waitOf({ waitAt }: Pick<DriverState, 'waitAt'>, at: Point | null): WaitPlace | null {
  return waitAt && isThere(at, waitAt) ? null : waitAt;
}

/** A door is told with its customer. */
function stopOnWire({ kind, point, orderIds }: Stop, orders: readonly DriverOrder[], at: Point | null) {
  const isHidden =
    kind === 'dropoff' && orders.some((order) => orderIds.includes(order.id) && !seesCustomer(order, at));
  const { lat = null, lng = null } = isHidden ? {} : (point ?? {});
  const door = kind === 'dropoff' && lat !== null ? orders.find(({ id }) => orderIds.includes(id)) : undefined;
  return { kind, lat, lng, accuracy_m: door?.doorAccuracyMeters ?? null, order_ids: orderIds };
}

/** A name of the list of stops: another list has another name. */
function versionOf(stops: readonly Stop[]): string {
  const list = stops.map(({ kind, orderIds }) => [kind, ...orderIds].join()).join(';');
  return createHash('sha256').update(list).digest('base64url').slice(0, 12);
}

/**
 * Whether the driver sees the customer's name, unit and phone, what they bought and the notes for their door:
 * with the pickup, or near the store, so that the phone has them before a dead zone there. Else whoever
 * releases order after order reads who lives where.
 */
export function seesCustomer({ status, pickup }: Pick<DriverOrder, 'status' | 'pickup'>, at: Point | null): boolean {
  return status !== 'driver_assigned' || (at !== null && distanceMeters(at, pickup) <= CUSTOMER_SHOWN_METERS);
}

function orderOnWire(order: DriverOrder, isCustomerShown: boolean) {
  const { address, lat, lng, instructions } = order.pickup;
  const { line1, city, state, zip } = order.dropoff;
  const customer = isCustomerShown ? order.dropoff : NOBODY;
  return {
    id: order.id,
    status: order.status,
    sequence: order.sequence,
    delivery_tier: order.deliveryTier,
    driver_payout_cents: order.payoutCents,
    store_name: order.storeName,
    deliver_by: new Date(order.carried.deliverByMs).toISOString(),
    items: isCustomerShown ? order.items.map(({ name, quantity }) => ({ name, quantity })) : null,
    pickup: { address, lat, lng, instructions },
    dropoff: {
      name: customer.name,
      phone: customer.phone,
      line1,
      line2: customer.line2,
      city,
      state,
      zip,
      instructions: customer.instructions,
      leave_at_door: customer.leaveAtDoor,
    },
  };
}
/** A customer whom the driver is not told yet. */
const NOBODY = { name: null, phone: null, line2: null, instructions: null, leaveAtDoor: null };

export type DriverErrorCode = 'malformed' | 'hello_first' | 'already_signed_in' | 'rate_limited' | 'unavailable';

export function stateMessage(state: DriverState, at: Point | null, nowMs: number): string {
  return JSON.stringify({ type: 'state', ...driverStateOnWire(state, at, nowMs) });
}

export function errorMessage(code: DriverErrorCode, message: string): string {
  return JSON.stringify({ type: 'error', code, message });
}

export const DRIVER_PONG = JSON.stringify({ type: 'pong' });
