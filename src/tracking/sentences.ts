import type { Arrival } from '../domain/arrival.ts';
import type { OrderStatus } from '../domain/order.ts';
import type { TrackedOrder } from '../domain/tracked.ts';

/** The driver's first name, or what stands for it. */
const someone = (order: TrackedOrder): string => order.driverFirstName || 'Your driver';

/** Where the order is, in one sentence. For an order that will not arrive it begins with "Not delivered". */
export function headline(order: TrackedOrder): string {
  switch (order.status) {
    case 'pending_dispatch':
      return order.wasReleased ? 'Finding another driver for your order' : 'Finding a driver for your order';
    case 'driver_assigned':
      return `${someone(order)} is on the way to the store`;
    case 'picked_up':
      return `${someone(order)} is on the way with your order`;
    case 'delivered':
      return 'Your order was delivered';
    case 'cancelled':
      return 'Not delivered: the order was cancelled';
    case 'expired':
      return 'Not delivered: no driver was found';
    case 'undeliverable':
      return 'Not delivered: the handover was not possible';
    case 'returned':
      return 'Not delivered: the order went back to the store';
  }
}

/** What the headline means, or what to do now, in one or two short sentences. */
export function detail(order: TrackedOrder): string {
  switch (order.status) {
    case 'pending_dispatch':
      return order.wasReleased
        ? `The first one cannot come. We are looking for another near ${order.storeName}.`
        : `We are looking for a driver near ${order.storeName}.`;
    case 'driver_assigned':
      return `${someone(order)} will pick up your order at ${order.storeName}.`;
    case 'picked_up':
      return `It was picked up at ${order.storeName} and is coming to you.`;
    case 'delivered':
      return order.driverFirstName
        ? `${order.driverFirstName} brought it from ${order.storeName}.`
        : `It was brought from ${order.storeName}.`;
    case 'cancelled':
      return `Please ask ${order.storeName} if you did not expect this.`;
    case 'expired':
      return `No driver could take it in time. Please ask ${order.storeName} what happens next.`;
    case 'undeliverable':
      return `It is being brought back. Please ask ${order.storeName} what happens next.`;
    case 'returned':
      return `Please ask ${order.storeName} what happens next.`;
  }
}

/** When the order arrives, in words; empty where no estimate exists. */
export function arrivalText(arrival: Arrival | null): string {
  if (!arrival) return '';
  const { earliest_minutes: earliest, latest_minutes: latest } = arrival;
  if (latest <= ANY_MINUTE) return 'Arriving any minute now';
  const unit = latest > IN_HOURS ? { minutes: 60, name: 'hours' } : { minutes: 1, name: 'min' };
  const from = Math.floor(earliest / unit.minutes);
  const to = Math.ceil(latest / unit.minutes);
  return from === 0 ? `Arriving within ${to} ${unit.name}` : `Arriving in ${from} to ${to} ${unit.name}`;
}
const ANY_MINUTE = 3;
const IN_HOURS = 120;

/** The colour of the headline: under way, a good end, a bad one. */
export function tone(status: OrderStatus): 'moving' | 'good' | 'bad' {
  if (status === 'delivered') return 'good';
  return status === 'pending_dispatch' || status === 'driver_assigned' || status === 'picked_up' ? 'moving' : 'bad';
}
