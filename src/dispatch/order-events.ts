import type { PaymentStatus } from '../domain/order.ts';
import type { DriverPosition } from '../store/drivers/drivers.ts';

/** Events of orders and drivers, as this process sees them. A subscriber handles those it needs. */
export type OrderSubscriber = {
  /** An order has another status or driver. `driverId` is the driver who has or had it, null for none. */
  orderChanged?(orderId: string, driverId: string | null): void;
  /** A detail of an order changed: its payment, its text or the point of its dropoff. */
  detailsChanged?(orderId: string): void;
  /** The result of an order's charge is in the database. */
  paymentRecorded?(orderId: string, status: PaymentStatus): void;
  /** The outcome of a write to an order is unknown. */
  outcomeUnknown?(orderId: string): void;
  /** What a driver does is not known: a write had no answer, or could not be read. */
  driverUnknown?(driverId: string): void;
  /** A driver's duty or order may have changed. */
  driverChanged?(driverId: string): void;
  /** A read shows that a driver no longer carries an order that they held in memory. */
  driverFreed?(driverId: string): void;
  /** This process gave a driver an order. Each order is told of by one process alone. */
  orderGiven?(driverId: string): void;
  /** This process took an order from its driver, who did not ask for it. */
  orderTaken?(driverId: string): void;
  /** A driver has another token: what was opened with the one before ends. */
  tokenChanged?(driverId: string): void;
  /** A driver moved; `orderId` is the order they carry. */
  driverMoved?(position: DriverPosition, orderId: string | null): void;
  /** A driver's phone reported a position to this process. */
  positionReported?(position: DriverPosition): void;
  /** What holds a store back may be otherwise than this process believes. */
  storeChanged?(retailerId: string): void;
  /** Notices may have been missed: what is shown has to be read again. */
  everythingChanged?(): void;
};

/**
 * Calls the subscribers of an event synchronously, in the order in which they subscribed. A subscriber must
 * not throw. `app/api.ts` lists the subscribers, and the change feed subscribes when it starts.
 */
export class OrderEvents implements Required<OrderSubscriber> {
  readonly #subscribers: OrderSubscriber[] = [];

  subscribe(subscriber: OrderSubscriber): void {
    this.#subscribers.push(subscriber);
  }

  orderChanged(orderId: string, driverId: string | null): void {
    for (const each of this.#subscribers) each.orderChanged?.(orderId, driverId);
  }

  detailsChanged(orderId: string): void {
    for (const each of this.#subscribers) each.detailsChanged?.(orderId);
  }

  paymentRecorded(orderId: string, status: PaymentStatus): void {
    for (const each of this.#subscribers) each.paymentRecorded?.(orderId, status);
  }

  outcomeUnknown(orderId: string): void {
    for (const each of this.#subscribers) each.outcomeUnknown?.(orderId);
  }

  driverUnknown(driverId: string): void {
    for (const each of this.#subscribers) each.driverUnknown?.(driverId);
  }

  driverChanged(driverId: string): void {
    for (const each of this.#subscribers) each.driverChanged?.(driverId);
  }

  driverFreed(driverId: string): void {
    for (const each of this.#subscribers) each.driverFreed?.(driverId);
  }

  orderGiven(driverId: string): void {
    for (const each of this.#subscribers) each.orderGiven?.(driverId);
  }

  orderTaken(driverId: string): void {
    for (const each of this.#subscribers) each.orderTaken?.(driverId);
  }

  tokenChanged(driverId: string): void {
    for (const each of this.#subscribers) each.tokenChanged?.(driverId);
  }

  driverMoved(position: DriverPosition, orderId: string | null): void {
    for (const each of this.#subscribers) each.driverMoved?.(position, orderId);
  }

  positionReported(position: DriverPosition): void {
    for (const each of this.#subscribers) each.positionReported?.(position);
  }

  storeChanged(retailerId: string): void {
    for (const each of this.#subscribers) each.storeChanged?.(retailerId);
  }

  everythingChanged(): void {
    for (const each of this.#subscribers) each.everythingChanged?.();
  }
}
