import { distanceMeters, type Point } from '../geo/point.ts';
import { isJsonObject, type JsonObject } from '../http/json.ts';
import { CUSTOMER_SHOWN_METERS } from '../limits.ts';
import type { DriverOrder, DriverState } from '../store/drivers.ts';
import { type DriverLocation, validateLocation } from './input.ts';

/** A message of a driver's phone, as read. */
export type DriverMessage =
  | { readonly type: 'hello'; readonly token: string }
  | { readonly type: 'position'; readonly location: DriverLocation }
  | { readonly type: 'duty'; readonly onDuty: boolean }
  | { readonly type: 'ping' }
  | { readonly type: 'malformed'; readonly message: string };

/** Reads one message; anything outside the protocol comes back as `malformed` with what is wrong. */
export function readDriverMessage(text: string): DriverMessage {
  const message = parseObject(text);
  if (!message) return malformed('a message is a JSON object');
  switch (message.type) {
    case 'hello':
      return typeof message.token === 'string'
        ? { type: 'hello', token: message.token }
        : malformed('token is missing');
    case 'duty':
      return typeof message.on_duty === 'boolean'
        ? { type: 'duty', onDuty: message.on_duty }
        : malformed('on_duty must be true or false');
    case 'position': {
      const result = validateLocation(message);
      if ('ok' in result) return { type: 'position', location: result.ok };
      return malformed(result.fields.map((each) => `${each.field} ${each.message}`).join('; '));
    }
    case 'ping':
      return { type: 'ping' };
    default:
      return malformed('type must be hello, position, duty or ping');
  }
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
 * A driver's duty and order as the phone is told them, over HTTP and over the socket alike.
 *
 * @param at the driver's last position
 */
export function driverStateOnWire({ onDuty, order }: DriverState, at: Point | null) {
  return { on_duty: onDuty, order: order && orderOnWire(order, seesCustomer(order, at)) };
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
  return {
    id: order.id,
    status: order.status,
    sequence: order.sequence,
    delivery_tier: order.deliveryTier,
    driver_payout_cents: order.payoutCents,
    store_name: order.storeName,
    items: isCustomerShown ? order.items.map(({ name, quantity }) => ({ name, quantity })) : null,
    pickup: {
      address: order.pickup.address,
      lat: order.pickup.lat,
      lng: order.pickup.lng,
      instructions: order.pickup.instructions,
    },
    dropoff: {
      name: isCustomerShown ? order.dropoff.name : null,
      phone: isCustomerShown ? order.dropoff.phone : null,
      line1: order.dropoff.line1,
      line2: isCustomerShown ? order.dropoff.line2 : null,
      city: order.dropoff.city,
      state: order.dropoff.state,
      zip: order.dropoff.zip,
      instructions: isCustomerShown ? order.dropoff.instructions : null,
      leave_at_door: isCustomerShown ? order.dropoff.leaveAtDoor : null,
    },
  };
}

export type DriverErrorCode = 'malformed' | 'hello_first' | 'already_signed_in' | 'rate_limited' | 'unavailable';

export function stateMessage(state: DriverState, at: Point | null): string {
  return JSON.stringify({ type: 'state', ...driverStateOnWire(state, at) });
}

export function errorMessage(code: DriverErrorCode, message: string): string {
  return JSON.stringify({ type: 'error', code, message });
}

export const DRIVER_PONG = JSON.stringify({ type: 'pong' });
